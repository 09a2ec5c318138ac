"""The host's threads: kernels in order, barriers between them, traces, exits and forks."""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from compiler import Graph, TensorType, compile
from compiler.backend.executor import Executor, TableStep, load_kernels
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import Pool, aligned_bytes, runtime_symbols, thread_pool
from compiler.backend.runtime_ir import BARRIER_BYTES
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


def bind_all(executor: Executor, addresses: list[int]) -> None:
    for slot, address in enumerate(addresses):
        executor.bind(slot, address)


def rotations(code, steps: int) -> tuple[Executor, np.ndarray, np.ndarray]:
    calls = [TableStep("fill", (0,), (0,))]
    calls += [TableStep("rotate", (1, 0) if step % 2 == 0 else (0, 1), (0,)) for step in range(steps)]
    executor = Executor(calls, code, 2, 1)
    a, b = np.zeros(97, np.int64), np.zeros(97, np.int64)
    bind_all(executor, [a.ctypes.data, b.ctypes.data])
    executor.set_dims([97])
    executor.arrays = a, b  # pyright: ignore[reportAttributeAccessIssue] - as long as they are bound
    return executor, a, b


@pytest.mark.parametrize("nthreads", [1, 2, 3, 5])
def test_kernels_run_in_order_and_see_each_others_results(code, nthreads):
    executor, a, b = rotations(code, 9)
    for _ in range(20):
        a[:], b[:] = -1, -1
        executor.call(nthreads)
        np.testing.assert_array_equal(b, (np.arange(97) + 9) % 97 + 9)


@pytest.mark.parametrize("nthreads", [1, 2, 4])
def test_barriers_inside_a_kernel(code, nthreads):
    executor = Executor([TableStep("inside", (0,), (0,))], code, 1, 1)
    out = np.zeros(2, np.int64)
    executor.bind(0, out.ctypes.data)
    executor.set_dims([50])
    executor.call(nthreads)
    assert out.tolist() == [50 * nthreads, 50 * nthreads]


def test_a_trace_has_a_time_for_each_call_on_each_thread(code):
    executor, _, _ = rotations(code, 3)
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


@functools.cache
def object_with_so_many_arguments(count: int) -> bytes:
    """`many` writes each of its arguments but the last, a size; `size` has a single one and that size."""
    parameters = "".join(f", ptr %a{i}" for i in range(count - 1))
    stores = "".join(
        f"  %p{i} = getelementptr i64, ptr %a{i}, i64 %tid\n  store i64 {i + 1}, ptr %p{i}\n" for i in range(count - 1)
    )
    many = f"define void @many(i64 %tid, i64 %n, ptr %rt{parameters}, i64 %d) {{\n{stores}  ret void\n}}\n"
    last = "  %e = getelementptr i64, ptr %o, i64 %tid\n  store i64 %d, ptr %e\n  ret void\n"
    text = f"{many}define void @size(i64 %tid, i64 %n, ptr %rt, ptr %o, i64 %d) {{\n{last}}}\n"
    return compile_llvm(text, HOST, 0).object  # a thousand stores take the optimiser seconds


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 7, 13, 14, 61, 62, 80, 127, 1000])
def test_a_step_carries_any_number_of_arguments(count, nthreads):
    """Each thread writes every argument it was given; the one after the step finds its own arguments again."""
    loaded = load_kernels([object_with_so_many_arguments(count)], ["many", "size"])
    steps = [TableStep("many", tuple(range(count - 1)), (0,)), TableStep("size", (count - 1,), (0,))]
    executor = Executor([*steps, *steps], loaded, count, 1)
    out = np.zeros((count, nthreads), np.int64)
    bind_all(executor, [row.ctypes.data for row in out])
    executor.set_dims([77])
    executor.call(nthreads)
    assert out.tolist() == [[value] * nthreads for value in (*range(1, count), 77)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_kernel_of_many_tensors_runs_like_any_other(threads):
    with Graph("many", inputs=[TensorType("f32", ("M",))] * 130) as graph:
        graph.output(functools.reduce(operator.add, graph.inputs))
    model = compile(graph, cache=False)
    (call,) = model.host.calls
    assert len(call.buffers) == 131 and call.sizes == ("M",)
    arrays = [np.full(5000, k, np.float32) for k in range(130)]
    (found,) = model.execute(*arrays, threads=threads)
    np.testing.assert_array_equal(found, sum(arrays))


MEETING = """
define void @a(i64 %tid, i64 %nthreads, ptr %rt, ptr %out, ptr %flag) {
entry:
  %first = icmp eq i64 %tid, 0
  br i1 %first, label %wait, label %done
wait:
  %seen = load atomic i64, ptr %flag acquire, align 8
  %begun = icmp ne i64 %seen, 0
  br i1 %begun, label %done, label %wait
done:
  %at = getelementptr i64, ptr %out, i64 %tid
  store i64 1, ptr %at
  ret void
}
define void @b(i64 %tid, i64 %nthreads, ptr %rt, ptr %flag) {
entry:
  %second = icmp eq i64 %tid, 1
  br i1 %second, label %tell, label %done
tell:
  store atomic i64 1, ptr %flag release, align 8
  br label %done
done:
  ret void
}
define void @c(i64 %tid, i64 %nthreads, ptr %rt, ptr %out, ptr %sums) {
entry:
  %first = load i64, ptr %out
  %other = getelementptr i64, ptr %out, i64 1
  %second = load i64, ptr %other
  %sum = add i64 %first, %second
  %at = getelementptr i64, ptr %sums, i64 %tid
  store i64 %sum, ptr %at
  ret void
}
"""


@pytest.mark.parametrize("waiting", [1, 3])
def test_who_waits_long_for_the_others_leaves_the_processor_to_them(waiting):
    barrier = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(runtime_symbols()["kg_barrier"])
    shared, _owner = aligned_bytes(BARRIER_BYTES)
    used = []

    def wait():
        before = time.thread_time()
        barrier(shared, waiting + 1)
        used.append(time.thread_time() - before)

    for _ in range(3):  # the barrier is as good as new afterwards
        used.clear()
        threads = [threading.Thread(target=wait) for _ in range(waiting)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        assert not used
        wait()
        for thread in threads:
            thread.join(10)
        assert len(used) == waiting + 1
        assert sum(used) < 0.1


def test_independent_kernels_need_no_barrier():
    """Thread 0 leaves a when thread 1 is in b: they do not meet between the two, and do before c."""
    code = load_kernels([compile_llvm(MEETING, HOST, 1).object], ["a", "b", "c"])
    steps = [TableStep("a", (0, 1), barrier=False), TableStep("b", (1,)), TableStep("c", (0, 2))]
    executor = Executor(steps, code, 3, 0)
    for _ in range(20):
        out, flag, sums = np.zeros(2, np.int64), np.zeros(1, np.int64), np.zeros(2, np.int64)
        bind_all(executor, [out.ctypes.data, flag.ctypes.data, sums.ctypes.data])
        executor.call(2)
        assert sums.tolist() == [2, 2]


def test_slots_outside_the_tables_are_refused(code):
    with pytest.raises(ExecutionError, match="fill: its slots lie outside the tables of 1 buffers, 0 sizes"):
        Executor([TableStep("fill", (0,), (0,))], code, 1, 0)


def test_callers_take_turns(code):
    """Two Python threads use one pool; neither disturbs the other's job."""
    failures: list[str] = []

    def work() -> None:
        executor, _, b = rotations(code, 5)
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
    executor, _, _ = rotations(code, 3)
    pool = Pool()
    pool.run(executor._entry, executor._args_pointer, 4)
    threads = list(pool._threads)
    pool.close()
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(ExecutionError, match="shut down"):
        pool.run(executor._entry, executor._args_pointer, 4)


WHERE = """
define void @where(i64 %tid, i64 %nthreads, ptr %seen) {
  %processor = call i32 @sched_getcpu()
  %at = getelementptr i32, ptr %seen, i64 %tid
  store i32 %processor, ptr %at
  ret void
}
declare i32 @sched_getcpu()
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="nobody tells which processor a thread is on")
def test_threads_that_came_to_share_a_processor_part_again():
    """Left to themselves they take turns, for seconds, while another processor is idle."""
    usable = os.sched_getaffinity(0)
    if len(usable) < 2:
        pytest.skip("there is a single processor")
    code = load_kernels([compile_llvm(f'target triple = "{HOST.triple}"\n{WHERE}', HOST, 1).object], ["where"])
    entry, pool, seen = ctypes.c_void_p(code.address("where")), Pool(), np.zeros(2, np.int32)

    def processors(jobs):
        found = set()
        for _ in range(jobs):
            pool.run(entry, ctypes.c_void_p(seen.ctypes.data), 2)
            found.add(tuple(seen.tolist()))
        return found

    try:
        processors(1)
        one = {min(usable)}
        for thread in pool.thread_ids():
            os.sched_setaffinity(thread, one)
        assert processors(20) == {(min(usable),) * 2}, "there is nowhere to go"
        for thread in pool.thread_ids():
            os.sched_setaffinity(thread, usable)
        assert any(first != second for first, second in processors(40))
        assert all(os.sched_getaffinity(thread) == usable for thread in pool.thread_ids())
    finally:
        os.sched_setaffinity(0, usable)
        pool.close()


def test_too_many_threads_are_refused(code):
    executor, _, _ = rotations(code, 1)
    with pytest.raises(ExecutionError, match="at most 1024"):
        executor.call(5000)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_its_own_workers(code):
    executor, _, b = rotations(code, 3)
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
        from compiler.backend.executor import Executor, TableStep, load_kernels
        from compiler.backend.llvm import compile_llvm
        from compiler.targets import get_target
        text = "define void @k(i64 %t, i64 %n, ptr %rt, ptr %o) {{ ret void }}"
        code = load_kernels([compile_llvm(text, get_target("cpu"), 0).object], ["k"])
        executor = Executor([TableStep("k", (0,))], code, 1, 0)
        for _ in range(3):
            executor.call(4)
        {ending}
    """)
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", script], timeout=30, check=False, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (3 if ending else 0)
    assert time.monotonic() - start < 20
