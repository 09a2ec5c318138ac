"""Running a model: a program of kernel calls that every thread walks, with barriers between them and no Python.

A program is data (`Executor`): a table of steps that the runtime's `kg_steps` walks, so that nothing is compiled for
it. `host_program` writes the same thing as a function in LLVM IR, for those who want to read it or link it elsewhere,
and for kernels with more arguments than a step can carry.

Either is entered by every thread as `void entry(i64 tid, i64 nthreads, ptr args)`. `args` points at: the table of
buffer addresses, the table of sizes (i64, right behind it), the barrier state, the trace or null, the steps, their
number, and the threads' places (see `runtime_ir`) or null. A trace is an i64 array [nthreads][calls][2] of begin and
end times in nanoseconds of CLOCK_MONOTONIC, the clock of `time.perf_counter_ns()` on Linux; waiting at barriers lies
between one call's end and the next one's begin.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.backend.jit import LoadedCode, load_objects
from compiler.backend.runtime import aligned_bytes, default_threads, load_runtime, runtime_symbols, thread_pool
from compiler.backend.runtime_ir import ARGUMENT_COUNTS, BARRIER_BYTES, STEP_BYTES, TRACE_FIELDS
from compiler.errors import ExecutionError
from compiler.targets.target import Target

ENTRY = "kg_model"
ARGUMENT_WORDS = 7
TABLE_WORD, SIZES_WORD, TRACE_WORD, PLACES_WORD = 0, 1, 3, 6
"""Words of `args` that whoever starts a program by itself (see `Executor.arguments`) may set."""


@dataclass(frozen=True)
class HostCall:
    """One kernel call: which entries of the buffer and size tables it gets, and whether all threads meet after it."""

    kernel: str
    buffers: tuple[int, ...]
    dims: tuple[int, ...] = ()
    barrier: bool = True


def host_program(calls: Sequence[HostCall], target: Target, entry: str = ENTRY) -> str:
    """LLVM IR of the host program; the barrier after the last call is left out, as the caller waits for everyone."""
    from compiler.lowering.llvm_types import symbol  # loads dialects, which running a model does not need

    lines = [
        f'target datalayout = "{target.data_layout}"',
        f'target triple = "{target.triple}"',
        "",
        f"define void {symbol(entry)}(i64 %tid, i64 %nthreads, ptr %args) nounwind {{",
        "entry:",
        "  %buffers = load ptr, ptr %args, align 8",
    ]
    for name, offset in (("dims", 8), ("rt", 16), ("trace", 24), ("places", 48)):
        lines.append(f"  %{name}.at = getelementptr i8, ptr %args, i64 {offset}")
        lines.append(f"  %{name} = load ptr, ptr %{name}.at, align 8")
    lines.append(f"  %row = mul i64 %tid, {len(calls) * TRACE_FIELDS}")
    for number, call in enumerate(calls):
        arguments = [_load(lines, "buffers", slot, "ptr") for slot in call.buffers]
        arguments += [_load(lines, "dims", slot, "i64") for slot in call.dims]
        listed = "".join(f", {argument}" for argument in arguments)
        lines += (
            f"  call void @kg_place(ptr %places, i64 %tid, i64 {number + 1})",
            f"  %begin.{number} = add i64 %row, {number * TRACE_FIELDS}",
            f"  call void @kg_mark(ptr %trace, i64 %begin.{number})",
            f"  call void {symbol(call.kernel)}(i64 %tid, i64 %nthreads, ptr %rt{listed})",
            f"  %end.{number} = add i64 %row, {number * TRACE_FIELDS + 1}",
            f"  call void @kg_mark(ptr %trace, i64 %end.{number})",
            "  call void @kg_place(ptr %places, i64 %tid, i64 0)",
        )
        if call.barrier and number + 1 < len(calls):
            lines.append("  call void @kg_barrier(ptr %rt, i64 %nthreads)")
    lines += ["  ret void", "}", ""]
    signatures = {call.kernel: ["ptr"] * len(call.buffers) + ["i64"] * len(call.dims) for call in calls}
    for kernel, kinds in signatures.items():
        lines.append(f"declare void {symbol(kernel)}({', '.join(['i64', 'i64', 'ptr', *kinds])})")
    lines += ["declare void @kg_barrier(ptr, i64)", "declare void @kg_mark(ptr, i64)"]
    lines += ["declare void @kg_place(ptr, i64, i64)", ""]
    return "\n".join(lines)


def _load(lines: list[str], table: str, slot: int, kind: str) -> str:
    """`kind %name` of a table entry. Loaded at each call: values kept for the whole model would only be spilled."""
    name = f"%{table}.{slot}.{len(lines)}"
    lines += (
        f"  {name}.at = getelementptr {kind}, ptr %{table}, i64 {slot}",
        f"  {name} = load {kind}, ptr {name}.at, align 8",
    )
    return f"{kind} {name}"


def load_kernels(
    objects: Iterable[bytes], kernels: Iterable[str], *, imports: Mapping[str, int] | None = None
) -> LoadedCode:
    """Load kernels, linked to the runtime (they may call `kg_barrier`)."""
    return load_objects(objects, kernels, imports={**runtime_symbols(), **(imports or {})}, keep=[load_runtime()])


class Executor:
    """A model ready to run: tables are filled in once (`bind`, `set_dims`), then each `call` is one native call."""

    def __init__(self, calls: Sequence[HostCall], code: LoadedCode, buffers: int, dims: int, *, compiled: bool = False):
        """`compiled` runs `host_program` instead of a table of steps; `code` then still supplies the kernels."""
        self.calls = tuple(calls)
        self._words = (ctypes.c_int64 * max(buffers + dims, 1))()
        self._buffers = buffers
        self._kernels = code
        self._check(buffers, dims)
        start = ctypes.addressof(self._words)
        barrier, self._barrier_memory = aligned_bytes(BARRIER_BYTES)
        if compiled or any(len(call.buffers) + len(call.dims) > ARGUMENT_COUNTS[-1] for call in self.calls):
            self._code, entry, steps = _compiled_program(self.calls, code)
        else:
            self._code, entry, steps = (
                (code, load_runtime()),
                load_runtime().address("kg_steps"),
                _steps(self.calls, code, buffers),
            )
        self._steps = steps
        self._entry = ctypes.c_void_p(entry)
        self._args = (ctypes.c_void_p * ARGUMENT_WORDS)(
            start, start + 8 * buffers, barrier, None, steps.address, len(self.calls), None
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
        return np.array(self._words[:], np.int64)

    @property
    def buffers(self) -> int:
        """How many entries of the table are buffers."""
        return self._buffers

    def kernel_address(self, kernel: str) -> int:
        """Where a kernel's machine code begins in this process."""
        return self._kernels.address(kernel)

    def bind(self, slot: int, address: int) -> None:
        """Put a buffer's address into the table; the caller keeps the memory alive."""
        self._words[slot] = address

    def bind_all(self, addresses: Sequence[int]) -> None:
        """Fill the whole buffer table."""
        self._words[: self._buffers] = addresses

    def set_dims(self, values: Sequence[int]) -> None:
        """Fill the table of sizes."""
        self._words[self._buffers : self._buffers + len(values)] = values

    def call(self, nthreads: int = 0) -> None:
        """Run the model once, on every processor unless told otherwise; returns when all threads have finished."""
        thread_pool().run(self._entry, self._args_pointer, nthreads or self._threads)

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


@dataclass(frozen=True)
class _Steps:
    """The table `kg_steps` walks, and what keeps it alive."""

    address: int
    owners: tuple[object, ...] = ()


def _steps(calls: tuple[HostCall, ...], code: LoadedCode, buffers: int) -> _Steps:
    words_per_step = STEP_BYTES // 8
    table = np.zeros(max(len(calls), 1) * words_per_step, np.int64)
    slots = np.array([slot for call in calls for slot in _slots(call, buffers)] or [0], np.int32)
    where = slots.ctypes.data
    for number, call in enumerate(calls):
        count = len(call.buffers) + len(call.dims)
        meet = call.barrier and number + 1 < len(calls)
        table[number * words_per_step : number * words_per_step + 3] = (
            code.address(call.kernel),
            where,
            count | meet << 32,
        )
        where += count * slots.itemsize
    return _Steps(table.ctypes.data, (table, slots))


def _slots(call: HostCall, buffers: int) -> list[int]:
    """Slots in the joint table: sizes come right behind the buffers."""
    return [*call.buffers, *(buffers + slot for slot in call.dims)]


def _compiled_program(calls: tuple[HostCall, ...], code: LoadedCode) -> tuple[object, int, _Steps]:
    from compiler.backend.llvm import compile_llvm
    from compiler.targets import get_target

    target = get_target("cpu")
    # Straight-line glue: what LLVM's optimiser could do for it is not worth the time.
    image = compile_llvm(host_program(calls, target), target, 0).object
    kernels = {call.kernel: code.address(call.kernel) for call in calls}
    program = load_objects([image], [ENTRY], imports={**runtime_symbols(), **kernels}, keep=[code, load_runtime()])
    return program, program.address(ENTRY), _Steps(0)
