"""A loaded program as other native code starts it: tables, argument words, the pool, and where each thread is."""

from __future__ import annotations

import ctypes
import threading
import time

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.backend.executor import (
    ARGUMENT_WORDS,
    PLACES_WORD,
    SIZES_WORD,
    TABLE_WORD,
    Executor,
    TableStep,
    load_kernels,
)
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import load_runtime, thread_pool
from compiler.backend.runtime_ir import PLACE_BYTES
from compiler.errors import ExecutionError
from compiler.targets import get_target

HOST = get_target("cpu")
# waits until out[1] is set, telling by out[0] that it has begun
WAITING = """
define void @waiting(i64 %tid, i64 %nthreads, ptr %rt, ptr %out) {
entry:
  store atomic i64 1, ptr %out release, align 8
  %go.at = getelementptr i64, ptr %out, i64 1
  br label %again
again:
  %go = load atomic i64, ptr %go.at acquire, align 8
  %ready = icmp ne i64 %go, 0
  br i1 %ready, label %done, label %again
done:
  ret void
}
define void @nothing(i64 %tid, i64 %nthreads, ptr %rt, ptr %out) {
entry:
  ret void
}
"""


def model():
    with Graph("g", inputs=[TensorType("f32", ("M", 8))]) as graph:
        graph.output(ops.softmax(graph.inputs[0], axis=1), graph.inputs[0] + 1)
    return compile(graph)


def start(executor, words, threads=1):
    """Run a program from argument words of one's own, as native code would."""
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
        load_runtime().address("kg_run")
    )
    with thread_pool().reserved(threads) as pool:
        run(pool, executor.entry, words.ctypes.data, threads)


def test_a_bound_program_runs_from_its_table_alone():
    program = model().program
    rng = np.random.default_rng(0)
    sets = [rng.random((4, 8), dtype=np.float32) for _ in range(3)]
    bindings = [program.bind([x], 1) for x in sets]
    executor = program.entry_point
    for binding, x in zip(bindings, sets):
        words = executor.arguments
        assert words.shape == (ARGUMENT_WORDS,)
        words[TABLE_WORD] = binding.table.ctypes.data
        words[SIZES_WORD] = binding.table.ctypes.data + 8 * executor.buffers
        start(executor, words)
        np.testing.assert_array_equal(binding.outputs[1], x + 1)
        np.testing.assert_allclose(binding.outputs[0].sum(axis=1), 1, rtol=1e-6)
    assert bindings[0].threads == 1 and bindings[0].arena_bytes >= 0


def test_binding_checks_its_arguments():
    program = model().program
    with pytest.raises(ExecutionError, match="shape"):
        program.bind([np.zeros((2, 9), np.float32)])
    with pytest.raises(ExecutionError, match="threads"):
        program.bind([np.zeros((2, 8), np.float32)], 0)


def test_a_kernels_address_is_where_its_code_is():
    made = model()
    addresses = {made.program.entry_point.kernel_address(kernel.name) for kernel in made.kernels}
    assert len(addresses) == len(made.kernels) and 0 not in addresses


def test_threads_tell_the_step_they_are_in():
    code = load_kernels([compile_llvm(WAITING, HOST, 1).object], ["waiting", "nothing"])
    executor = Executor([TableStep("nothing", (0,)), TableStep("waiting", (0,))], code, 1, 0)
    out = np.zeros(2, np.int64)
    executor.bind(0, out.ctypes.data)
    places = np.zeros(2 * PLACE_BYTES // 8, np.int64)
    words = executor.arguments
    words[PLACES_WORD] = places.ctypes.data
    runner = threading.Thread(target=start, args=(executor, words, 2))
    runner.start()
    deadline = time.monotonic() + 20
    mine, others = 0, PLACE_BYTES // 8
    while (places[mine], places[others]) != (2, 2) and time.monotonic() < deadline:
        time.sleep(0.001)
    seen = int(places[mine]), int(places[others])
    out[1] = 1
    runner.join(20)
    assert seen == (2, 2) and out[0] == 1, "both are in the second step"
    assert (places[mine], places[others]) == (0, 0), "and in none when it is over"


def test_a_reserved_pool_keeps_others_waiting():
    done = threading.Event()

    def other():
        with thread_pool().reserved(1):
            done.set()

    with thread_pool().reserved(2) as address:
        assert address and thread_pool().threads >= 2
        waiter = threading.Thread(target=other)
        waiter.start()
        assert not done.wait(0.1)
    assert done.wait(20)
    waiter.join()


def test_kernel_ir_is_what_the_kernel_stage_shows():
    kernel = model().kernels[0]
    module = kernel.kernel_ir().module
    names = [op.sym_name.data for op in module.ops if op.name == "func.func"]  # type: ignore[attr-defined]
    assert kernel.name in names and all(f"@{name}" in kernel.ir("kernel") for name in names)
