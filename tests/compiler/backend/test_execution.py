"""The host's threads: kernels in order, barriers between them, traces, exits and forks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from compiler.backend import Executor, HostCall, compile_llvm, host_program, load_kernels
from compiler.backend.runtime import Pool, thread_pool
from compiler.errors import ExecutionError
from compiler.targets import get_target

HOST = get_target("cpu")
# fill: out[i] = value for this thread's share. rotate: out[i] = in[(i + 1) % n] + 1, which reads other threads' shares.
KERNELS = """
define void @fill(i64 %tid, i64 %nthreads, ptr %rt, ptr %out, i64 %n) {
entry:
  %any = icmp slt i64 %tid, %n
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %tid, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %out, i64 %i
  store i64 %i, ptr %at
  %next = add i64 %i, %nthreads
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @rotate(i64 %tid, i64 %nthreads, ptr %rt, ptr %out, ptr %in, i64 %n) {
entry:
  %any = icmp slt i64 %tid, %n
  br i1 %any, label %loop, label %done
loop:
  %i = phi i64 [ %tid, %entry ], [ %next, %loop ]
  %j = add i64 %i, 1
  %k = urem i64 %j, %n
  %from = getelementptr i64, ptr %in, i64 %k
  %v = load i64, ptr %from
  %w = add i64 %v, 1
  %at = getelementptr i64, ptr %out, i64 %i
  store i64 %w, ptr %at
  %next = add i64 %i, %nthreads
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @inside(i64 %tid, i64 %nthreads, ptr %rt, ptr %out, i64 %rounds) {
entry:
  br label %loop
loop:
  %r = phi i64 [ 0, %entry ], [ %next, %loop ]
  %old = atomicrmw add ptr %out, i64 1 acq_rel
  call void @kg_barrier(ptr %rt, i64 %nthreads)
  %seen = load atomic i64, ptr %out acquire, align 8
  %next = add i64 %r, 1
  %expected = mul i64 %next, %nthreads
  %same = icmp eq i64 %seen, %expected
  %bad = zext i1 %same to i64
  %at = getelementptr i64, ptr %out, i64 1
  %ignored = atomicrmw add ptr %at, i64 %bad acq_rel
  call void @kg_barrier(ptr %rt, i64 %nthreads)
  %more = icmp slt i64 %next, %rounds
  br i1 %more, label %loop, label %done
done:
  ret void
}
declare void @kg_barrier(ptr, i64)
"""


@pytest.fixture(scope="module")
def code():
    text = f'target datalayout = "{HOST.data_layout}"\ntarget triple = "{HOST.triple}"\n{KERNELS}'
    return load_kernels([compile_llvm(text, HOST, 2).object], ["fill", "rotate", "inside"])


def rotations(code, steps: int, compiled: bool) -> tuple[Executor, np.ndarray, np.ndarray]:
    calls = [HostCall("fill", (0,), (0,))]
    calls += [HostCall("rotate", (1, 0) if step % 2 == 0 else (0, 1), (0,)) for step in range(steps)]
    executor = Executor(calls, code, 2, 1, compiled=compiled)
    a, b = np.zeros(97, np.int64), np.zeros(97, np.int64)
    executor.bind_all([a.ctypes.data, b.ctypes.data])
    executor.set_dims([97])
    executor.arrays = a, b  # pyright: ignore[reportAttributeAccessIssue] - as long as they are bound
    return executor, a, b


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("nthreads", [1, 2, 3, 5])
def test_kernels_run_in_order_and_see_each_others_results(code, nthreads, compiled):
    executor, a, b = rotations(code, 9, compiled)
    for _ in range(20):
        a[:], b[:] = -1, -1
        executor.call(nthreads)
        np.testing.assert_array_equal(b, (np.arange(97) + 9) % 97 + 9)


@pytest.mark.parametrize("nthreads", [1, 2, 4])
def test_barriers_inside_a_kernel(code, nthreads):
    executor = Executor([HostCall("inside", (0,), (0,))], code, 1, 1)
    out = np.zeros(2, np.int64)
    executor.bind(0, out.ctypes.data)
    executor.set_dims([50])
    executor.call(nthreads)
    assert out.tolist() == [50 * nthreads, 50 * nthreads]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_trace_has_a_time_for_each_call_on_each_thread(code, compiled):
    executor, _, _ = rotations(code, 3, compiled)
    executor.call(2)
    start = time.perf_counter_ns()
    times = executor.trace(2)
    end = time.perf_counter_ns()
    assert times.shape == (2, 4, 2)
    assert (times[..., 1] >= times[..., 0]).all()
    assert (times[:, 1:, 0] >= times[:, :-1, 1]).all()
    assert times[:, 1:, 0].min(axis=0).min() >= times[:, 0, 1].max(), (
        "nobody starts the second call before all did the first"
    )
    if sys.platform == "linux":
        assert start <= times.min() and times.max() <= end, "the clock is Python's"


def test_many_arguments(code):
    """A step carries up to 61 words; beyond that the program is compiled."""
    for count in (3, 5, 6, 13, 14, 61, 62, 80):
        parameters = "".join(f", ptr %a{i}" for i in range(count - 1))
        stores = "".join(f"  store i64 {i + 1}, ptr %a{i}\n" for i in range(count - 1))
        head = f"define void @many(i64 %tid, i64 %n, ptr %rt{parameters}, i64 %d)"
        text = f"{head} {{\n{stores}  store i64 %d, ptr %a0\n  ret void\n}}\n"
        loaded = load_kernels([compile_llvm(text, HOST, 1).object], ["many"])
        executor = Executor([HostCall("many", tuple(range(count - 1)), (0,))], loaded, count - 1, 1)
        out = np.zeros(count - 1, np.int64)
        executor.bind_all([out.ctypes.data + 8 * i for i in range(count - 1)])
        executor.set_dims([77])
        executor.call(1)
        assert out.tolist() == [77, *range(2, count)]


def test_independent_kernels_need_no_barrier():
    calls = [HostCall("a", (0,), barrier=False), HostCall("b", (1,)), HostCall("c", (0, 1))]
    text = host_program(calls, HOST)
    assert text.count("call void @kg_barrier") == 1, "none after a, one after b, none at the end"


def test_slots_outside_the_tables_are_refused(code):
    with pytest.raises(ExecutionError, match="fill: its slots lie outside the tables of 1 buffers, 0 sizes"):
        Executor([HostCall("fill", (0,), (0,))], code, 1, 0)


def test_callers_take_turns(code):
    """Two Python threads use one pool; neither disturbs the other's job."""
    failures: list[str] = []

    def work() -> None:
        executor, _, b = rotations(code, 5, False)
        for _ in range(50):
            executor.call(2)
            if not np.array_equal(b, (np.arange(97) + 5) % 97 + 5):
                failures.append("wrong")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_pool_can_be_closed_while_its_workers_sleep(code):
    executor, _, _ = rotations(code, 3, False)
    pool = Pool()
    pool.run(executor._entry, executor._args_pointer, 4)
    threads = list(pool._threads)
    pool.close()
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(ExecutionError, match="shut down"):
        pool.run(executor._entry, executor._args_pointer, 4)


def test_too_many_threads_are_refused(code):
    executor, _, _ = rotations(code, 1, False)
    with pytest.raises(ExecutionError, match="at most 1024"):
        executor.call(5000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_its_own_workers(code):
    executor, _, b = rotations(code, 3, False)
    executor.call(3)
    before = thread_pool()
    child = os.fork()
    if child == 0:
        b[:] = -1
        executor.call(3)
        fine = thread_pool() is not before and np.array_equal(b, (np.arange(97) + 3) % 97 + 3)
        os._exit(0 if fine else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    executor.call(3)


@pytest.mark.parametrize("ending", ["", "sys.exit(3)", "raise SystemExit(3)", "os._exit(3)"])
def test_the_interpreter_exits_promptly_with_workers_waiting(ending):
    script = textwrap.dedent(f"""
        import os, sys
        import numpy as np
        from compiler.backend import Executor, HostCall, compile_llvm, load_kernels
        from compiler.targets import get_target
        text = "define void @k(i64 %t, i64 %n, ptr %rt, ptr %o) {{ ret void }}"
        code = load_kernels([compile_llvm(text, get_target("cpu"), 0).object], ["k"])
        executor = Executor([HostCall("k", (0,))], code, 1, 0)
        for _ in range(3):
            executor.call(4)
        {ending}
    """)
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], timeout=30, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (3 if ending else 0)
    assert time.monotonic() - start < 20
