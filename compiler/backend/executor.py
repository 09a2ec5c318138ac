"""Running a model: a table of kernel calls that every thread walks, with barriers between them and no Python.

The runtime's `kg_steps` walks the table, so that nothing is compiled for the host side of a model. Every thread enters
it as `void entry(i64 tid, i64 nthreads, ptr args)`. `args` points at: the table of buffer addresses, the table of sizes
(i64, right behind it), the barrier state, the trace or null, the steps, their number, and the threads' places (see
`runtime_ir`) or null. A trace is an i64 array [nthreads][calls][2] of begin and end times in nanoseconds of
CLOCK_MONOTONIC, the clock of `time.perf_counter_ns()` on Linux; waiting at barriers lies between one call's end and the
next one's begin.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backend.jit import LoadedCode, load_objects
from compiler.backend.runtime import (
    aligned_bytes,
    default_threads,
    load_runtime,
    run_on_lent,
    runtime_symbols,
    thread_pool,
)
from compiler.backend.runtime_ir import BARRIER_BYTES, STEP_BYTES, TRACE_FIELDS
from compiler.backend.runtime_steps import SPARE_SLOTS
from compiler.errors import ExecutionError
from compiler.frameworks.openmp import OpenMP

ARGUMENT_WORDS = 7
TABLE_WORD, SIZES_WORD, TRACE_WORD, PLACES_WORD = 0, 1, 3, 6
"""Words of `args` that whoever starts a program by itself (see `Executor.arguments`) may set."""


@dataclass(frozen=True)
class TableStep:
    """One kernel call: which entries of the buffer and size tables it gets, and whether all threads meet after it."""

    kernel: str
    buffers: tuple[int, ...]
    dims: tuple[int, ...] = ()
    barrier: bool = True


def load_kernels(
    objects: Iterable[bytes], kernels: Iterable[str], *, imports: Mapping[str, int] | None = None
) -> LoadedCode:
    """Load kernels, linked to the runtime (they may call `kg_barrier`)."""
    return load_objects(objects, kernels, imports={**runtime_symbols(), **(imports or {})}, keep=[load_runtime()])


class Executor:
    """A model ready to run: tables are filled in once (`bind`, `set_dims`), then each `call` is one native call."""

    def __init__(self, steps: Sequence[TableStep], code: LoadedCode, buffers: int, dims: int) -> None:
        self.calls = tuple(steps)
        self.words = (ctypes.c_int64 * max(buffers + dims, 1))()  # the table: buffers, then sizes
        self._buffers = buffers
        self._kernels = code
        self._check(buffers, dims)
        start = ctypes.addressof(self.words)
        self._barrier, self._barrier_memory = aligned_bytes(BARRIER_BYTES)
        self._steps, self._slots = _tables(self.calls, code, buffers)
        self._entry = ctypes.c_void_p(load_runtime().address("kg_steps"))
        self._args = (ctypes.c_void_p * ARGUMENT_WORDS)(
            start, start + 8 * buffers, self._barrier, None, self._steps.ctypes.data, len(self.calls), None
        )
        self._args_pointer = ctypes.c_void_p(ctypes.addressof(self._args))
        self._threads = default_threads()

    def _check(self, buffers: int, dims: int) -> None:
        for call in self.calls:
            if not all(0 <= slot < buffers for slot in call.buffers) or not all(0 <= slot < dims for slot in call.dims):
                raise ExecutionError(
                    f"{call.kernel}: its slots lie outside the tables of {buffers} buffers, {dims} sizes"
                )

    @property
    def entry(self) -> int:
        """The address of the program's entry function."""
        return self._entry.value or 0

    @property
    def arguments(self) -> np.ndarray:
        """A copy of what `args` points at (`ARGUMENT_WORDS` words), to start the program from native code."""
        return np.array([word or 0 for word in self._args], np.int64)

    @property
    def table(self) -> np.ndarray:
        """A copy of the buffer table with the sizes behind it, as it stands."""
        return np.array(self.words[:], np.int64)

    @property
    def buffers(self) -> int:
        """How many entries of the table are buffers."""
        return self._buffers

    def addresses(self, *, run: bool) -> tuple[int, int]:
        """Where the table lies, and `args` or 0 if the program is not to be run; see `runtime_arrays`."""
        return ctypes.addressof(self.words), ctypes.addressof(self._args) if run else 0

    def kernel_address(self, kernel: str) -> int:
        """Where a kernel's machine code begins in this process."""
        return self._kernels.address(kernel)

    def bind(self, slot: int, address: int) -> None:
        """Put a buffer's address into the table; the caller keeps the memory alive."""
        self.words[slot] = address

    def set_dims(self, values: Sequence[int]) -> None:
        """Fill the table of sizes."""
        self.words[self._buffers : self._buffers + len(values)] = values

    def reset(self) -> None:
        """Forget threads that were in the middle of a run and are no more."""
        ctypes.memset(self._barrier, 0, BARRIER_BYTES)
        self._args[TRACE_WORD] = None

    def call(self, nthreads: int = 0, lent: OpenMP | None = None) -> None:
        """Run the model once, on every processor unless told otherwise; returns when all threads have finished.

        Where another runtime lends its threads, at most so many of those run it.
        """
        threads = nthreads or self._threads
        if lent is None or threads == 1:
            thread_pool().run(self._entry, self._args_pointer, threads)
        else:
            run_on_lent(lent, self.entry, ctypes.addressof(self._args), threads)

    def trace(self, nthreads: int = 0) -> np.ndarray:
        """Run once and return begin and end of each call on each thread, in ns: an i64 array [threads, calls, 2]."""
        threads = nthreads or self._threads
        times = np.zeros((threads, len(self.calls), TRACE_FIELDS), np.int64)
        self._args[TRACE_WORD] = times.ctypes.data
        try:
            self.call(threads)
        finally:
            self._args[TRACE_WORD] = None
        return times


def _tables(steps: tuple[TableStep, ...], code: LoadedCode, buffers: int) -> tuple[np.ndarray, np.ndarray]:
    """The steps as `kg_steps` walks them, and the slots they point at; sizes come right behind the buffers."""
    slots = [[*step.buffers, *(buffers + slot for slot in step.dims)] for step in steps]
    listed = np.array([slot for own in slots for slot in own] + [0] * SPARE_SLOTS, np.int32)
    table = np.zeros((max(len(steps), 1), STEP_BYTES // 8), np.int64)
    where = listed.ctypes.data
    for number, (step, own) in enumerate(zip(steps, slots, strict=True)):
        meet = step.barrier and number + 1 < len(steps)  # after the last one the caller waits for everyone
        table[number, :3] = code.address(step.kernel), where, len(own) | meet << 32
        where += len(own) * listed.itemsize
    return table, listed
