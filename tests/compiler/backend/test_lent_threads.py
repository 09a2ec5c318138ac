"""Jobs on threads that another runtime lends: all of it is done, by no more threads than are wanted or there."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.backend.executor import Executor, TableStep, load_kernels
from compiler.backend.llvm import compile_llvm
from compiler.frameworks.openmp import OpenMP, lender
from compiler.targets import get_target

HOST = get_target("cpu")
KERNEL = """
define void @count(i64 %tid, i64 %threads, ptr %rt, ptr %seen) {
  %at = getelementptr i64, ptr %seen, i64 %tid
  %old = atomicrmw add ptr %at, i64 %threads acq_rel, align 8
  ret void
}
"""


class Team:
    """An OpenMP runtime of Python's threads: what GNU's does, as far as a job can tell."""

    def __init__(self, size: int) -> None:
        self.size, self.regions = size, 0
        self._own = threading.local()
        region = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
        number = ctypes.CFUNCTYPE(ctypes.c_int)

        def parallel(function: int, data: int, wanted: int, flags: int) -> None:
            assert (wanted, flags) == (0, 0)  # another number would have the runtime end threads
            self.regions += 1

            def enter(tid: int) -> None:
                self._own.tid = tid
                region(function)(data)

            others = [threading.Thread(target=enter, args=(tid,)) for tid in range(1, self.size)]
            for other in others:
                other.start()
            enter(0)
            for other in others:
                other.join()

        begins = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
        self._kept = begins(parallel), number(lambda: self._own.tid), number(lambda: self.size)
        self.openmp = OpenMP(*(ctypes.cast(kept, ctypes.c_void_p).value or 0 for kept in self._kept))


@contextmanager
def counting() -> Iterator[tuple[Executor, np.ndarray]]:
    code = load_kernels([compile_llvm(KERNEL, HOST, 2).object], ["count"])
    executor = Executor([TableStep("count", (0,))] * 3, code, 1, 0)
    seen = np.zeros(16, np.int64)
    executor.bind(0, seen.ctypes.data)
    yield executor, seen


@pytest.mark.parametrize(("size", "wanted", "used"), [(1, 4, 1), (2, 4, 2), (4, 4, 4), (6, 4, 4)])
def test_as_many_threads_take_part_as_are_wanted_and_there(size: int, wanted: int, used: int) -> None:
    team = Team(size)
    with counting() as (executor, seen):
        for _ in range(5):
            executor.call(wanted, team.openmp)
    assert team.regions == 5
    assert seen.tolist() == [5 * 3 * used] * used + [0] * (16 - used)


def test_one_thread_asks_nobody() -> None:
    team = Team(4)
    with counting() as (executor, seen):
        executor.call(1, team.openmp)
    assert team.regions == 0 and seen.tolist() == [3] + [0] * 15


def test_kernels_that_wait_for_each_other_do_so_on_lent_threads() -> None:
    """A model of several kernels, its tables bound by hand: what PyTorch's tensors take."""
    with Graph("several", inputs=[TensorType("f32", (300, 400)), TensorType("f32", (400, 200))]) as graph:
        x, w = graph.inputs
        graph.output(ops.softmax(ops.relu(x @ w), axis=0).sum(axis=1))
    model = compile(graph)
    rng = np.random.default_rng(1)
    x, w = rng.standard_normal((300, 400), np.float32), rng.standard_normal((400, 200), np.float32)
    (expected,) = model.execute(x, w, threads=3)
    program = model.program
    bound = program.bind([x, w], threads=3)
    team = Team(3)
    program.entry_point.call(3, team.openmp)
    assert team.regions == 1
    np.testing.assert_array_equal(bound.outputs[0], expected)


def test_arrays_of_numpy_are_no_reason_to_borrow() -> None:
    assert lender([np.zeros(4)]) is None
