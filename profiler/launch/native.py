"""Timing a model without Python in the loop: a few lines of LLVM IR that call it again and again and read the clock.

Each call may use another set of buffers, so that data does not sit in cache only because the last call put it there.
The only place that knows how a loaded program keeps its tables.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.backend.jit import LoadedCode, load_objects
from compiler.backend.llvm import compile_llvm
from compiler.backend.runtime import load_runtime, runtime_symbols, thread_pool
from compiler.targets import get_target

if TYPE_CHECKING:
    from compiler.execution import Program

_MEASURE = """
define void @kg_measure(ptr %pool, ptr %function, ptr %args, i64 %threads, ptr %tables, i64 %sets, i64 %first,
                        i64 %count, i64 %dims, ptr %times, ptr %trace, i64 %stride) nounwind {
entry:
  %sizes.at = getelementptr i8, ptr %args, i64 8
  %trace.at = getelementptr i8, ptr %args, i64 24
  %traced = icmp ne ptr %trace, null
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %again, label %done
again:
  %i = phi i64 [ 0, %entry ], [ %i.next, %again ]
  %number = add i64 %first, %i
  %set = urem i64 %number, %sets
  %words.at = getelementptr ptr, ptr %tables, i64 %set
  %words = load ptr, ptr %words.at, align 8
  store ptr %words, ptr %args, align 8
  %sizes = getelementptr i8, ptr %words, i64 %dims
  store ptr %sizes, ptr %sizes.at, align 8
  %offset = mul i64 %i, %stride
  %row = getelementptr i8, ptr %trace, i64 %offset
  %chosen = select i1 %traced, ptr %row, ptr null
  store ptr %chosen, ptr %trace.at, align 8
  %begin = call i64 @kg_now()
  call void @kg_run(ptr %pool, ptr %function, ptr %args, i64 %threads)
  %end = call i64 @kg_now()
  %twice = mul i64 %i, 2
  %begin.at = getelementptr i64, ptr %times, i64 %twice
  store i64 %begin, ptr %begin.at, align 8
  %end.at = getelementptr i8, ptr %begin.at, i64 8
  store i64 %end, ptr %end.at, align 8
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %again, label %done
done:
  store ptr null, ptr %trace.at, align 8
  ret void
}
declare i64 @kg_now()
declare void @kg_run(ptr, ptr, ptr, i64)
"""


@lru_cache(maxsize=1)
def _loop() -> LoadedCode:
    target = get_target("cpu")
    text = f'target datalayout = "{target.data_layout}"\ntarget triple = "{target.triple}"\n{_MEASURE}'
    image = compile_llvm(text, target, 1).object
    return load_objects([image], ["kg_measure"], imports=runtime_symbols(), keep=[load_runtime()])


class BoundProgram:
    """A program bound to one or more sets of input arrays, each with outputs of its own."""

    def __init__(self, program: Program, sets: Sequence[Sequence[np.ndarray]], threads: int | None) -> None:
        held: Any = program  # its tables are private: see this file's docstring
        self._executor: Any = held._executor
        self._keep: list[Any] = [program]
        self._tables = np.zeros(len(sets), np.int64)
        self.outputs: list[list[np.ndarray]] = []
        instance = None
        with held._lock:
            for number, arrays in enumerate(sets):
                instance, inputs = held._prepare(arrays)
                outputs = held._bind_outputs(instance)
                words = np.array(self._executor._words[:], dtype=np.int64)
                self._tables[number] = words.ctypes.data
                self._keep.append((inputs, words, instance))
                self.outputs.append(outputs)
        self.threads: int = held._threads(instance, threads)
        self.calls: int = program.calls
        self.arena_bytes: int = instance.plan.peak if instance is not None else 0
        self._pool: Any = thread_pool()
        if self.threads > self._pool.threads:
            self._pool._grow(self.threads)
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._measure = ctypes.CFUNCTYPE(
            None, pointer, pointer, pointer, number, pointer, number, number, number, number, pointer, pointer, number
        )(_loop().address("kg_measure"))

    def measure(self, count: int, first: int = 0, trace: np.ndarray | None = None) -> np.ndarray:
        """Begin and end (ns) of `count` calls, from set `first` on; `trace` [count, threads, calls, 2] is filled."""
        times = np.zeros((count, 2), np.int64)
        executor = self._executor
        stride = 0 if trace is None else trace.nbytes // max(count, 1)
        with self._pool._turn:
            self._measure(
                self._pool._address, executor._entry, executor._args_pointer, self.threads, self._tables.ctypes.data,
                len(self._tables), first, count, 8 * executor._buffers, times.ctypes.data,
                None if trace is None else trace.ctypes.data, stride,
            )  # fmt: skip
        return times

    def new_trace(self, count: int) -> np.ndarray:
        """Room for the traces of `count` calls."""
        return np.zeros((count, self.threads, self.calls, 2), np.int64)
