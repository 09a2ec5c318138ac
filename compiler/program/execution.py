"""Running a compiled model on the CPU: buffers bound to addresses once, then one native call a run."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.backend.host import Executor, HostCall, load_kernels
from compiler.backend.runtime import default_threads
from compiler.errors import ExecutionError
from compiler.graph.constraints import check_sizes, constraints_of
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import numpy_dtype
from compiler.passes.fusion.records import Buffer, FusionResult
from compiler.program.binding import bind
from compiler.program.memory_plan import MemoryPlan, plan

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.kernel import ElaboratedKernel

ALIGNMENT = 64
_SERIAL_BYTES = 256 << 10  # below this much traffic a second thread costs more than it gives


@dataclass(frozen=True, eq=False)
class _Instance:
    """The program for one binding of the symbols: planned memory, shapes of the results, whether threads pay."""

    plan: MemoryPlan
    arena: np.ndarray
    shapes: tuple[tuple[int, ...], ...]
    traffic: int


@dataclass(frozen=True, eq=False)
class Binding:
    """Arguments bound to a program, for whoever starts it by itself; see `Program.bind`. Keep it while it is used."""

    table: np.ndarray
    """Addresses of all buffers, then the sizes: what the program's first argument word points at."""
    outputs: list[np.ndarray]
    threads: int
    arena_bytes: int
    owners: tuple[Any, ...]


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An uninitialised array that begins on a cache line."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(dtype).reshape(shape)


class Program:
    """A loaded host program. One run at a time; a second caller waits."""

    def __init__(
        self, graph: Graph, fusion: FusionResult, records: Mapping[str, ElaboratedKernel], objects: Sequence[bytes],
    ) -> None:  # fmt: skip
        self._graph = graph
        self._fusion = fusion
        self._workspaces = {name: record.workspaces for name, record in records.items()}
        self._lock = threading.Lock()
        self._instances: dict[tuple[int, ...], _Instance] = {}
        self._constants: dict[int, np.ndarray] = {}
        self._slots: dict[Any, int] = {}
        self._symbols = tuple(sorted(graph.symbols))
        self._constraints = constraints_of(graph)
        calls = self._host_calls(records)
        self.calls = len(calls)
        code = load_kernels(objects, {call.kernel: None for call in calls})
        self._executor = Executor(calls, code, len(self._slots), len(self._symbols))
        for buffer, slot in self._slots.items():
            if isinstance(buffer, Buffer) and buffer.kind == "constant":
                self._constants[slot] = _constant_array(buffer)
                self._executor.bind(slot, self._constants[slot].ctypes.data)

    def _slot(self, buffer: Any) -> int:
        return self._slots.setdefault(buffer, len(self._slots))

    def _host_calls(self, records: Mapping[str, ElaboratedKernel]) -> list[HostCall]:
        dims = {name: number for number, name in enumerate(self._symbols)}
        calls: list[HostCall] = []
        for number, call in enumerate(self._fusion.calls):
            record = records[call.kernel.name]
            renamed = dict(zip(call.kernel.symbols, call.symbols, strict=True))
            buffers = [self._slot(buffer) for buffer in (*call.results, *call.operands)]
            buffers += [self._slot((number, k)) for k in range(len(record.workspaces))]
            sizes = tuple(dims[renamed[name]] for name in record.symbols)
            calls.append(HostCall(call.kernel.name, tuple(buffers), sizes))
        return calls

    def execute(self, arrays: Sequence[np.ndarray], threads: int | None = None) -> list[np.ndarray]:
        """Check the arguments, run, and return the outputs as new arrays."""
        with self._lock:
            instance, inputs = self._prepare(arrays)
            outputs = self._bind_outputs(instance)
            self._executor.call(self._threads(instance, threads))
        del inputs
        return outputs

    def trace(self, arrays: Sequence[np.ndarray], threads: int | None = None) -> tuple[list[np.ndarray], np.ndarray]:
        """Run once and also give begin and end of each kernel on each thread, in nanoseconds."""
        with self._lock:
            instance, inputs = self._prepare(arrays)
            outputs = self._bind_outputs(instance)
            times = self._executor.trace(self._threads(instance, threads))
        del inputs
        return outputs, times

    def bind(self, arrays: Sequence[np.ndarray], threads: int | None = None) -> Binding:
        """Check the arguments and bind them, with outputs of their own, without running.

        Native code that calls the program again and again (see `entry_point`) takes its table from here. Bindings of
        the same sizes share the arena for temporaries, so that only one of them may run at a time.
        """
        with self._lock:
            instance, inputs = self._prepare(arrays)
            outputs = self._bind_outputs(instance)
            table = self._executor.table
            chosen = self._threads(instance, threads)
        owners = (self, instance, inputs)
        return Binding(table, outputs, chosen, instance.plan.peak, owners)

    @property
    def entry_point(self) -> Executor:
        """The native program: its entry, its argument words, where its kernels lie."""
        return self._executor

    def _threads(self, instance: _Instance, asked: int | None) -> int:
        if asked is not None:
            if isinstance(asked, bool) or not isinstance(asked, int) or asked < 1:
                raise ExecutionError(f"threads is a number of at least 1, not {asked!r}")
            return asked
        return default_threads() if instance.traffic >= _SERIAL_BYTES else 1

    def _prepare(self, arrays: Sequence[np.ndarray]) -> tuple[_Instance, list[np.ndarray]]:
        sizes = bind(self._graph.input_types, arrays, self._graph.input_names)  # pyright: ignore[reportArgumentType]
        key = tuple(sizes[name] for name in self._symbols)
        instance = self._instances.get(key)
        if instance is None:
            instance = self._instantiate(sizes)
            self._instances = {key: instance}  # one arena is kept: the sizes used last
            self._bind_arena(instance, sizes)
            self._executor.set_dims(key)
        kept: list[np.ndarray] = []
        for buffer, array in zip(self._fusion.inputs, arrays, strict=True):
            if buffer is None or buffer not in self._slots:
                continue
            ready = self._ready(buffer, array, arrays)
            kept.append(ready)
            self._executor.bind(self._slots[buffer], ready.ctypes.data)
        return instance, kept

    def _ready(self, buffer: Buffer, array: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
        if buffer.kind == "mutable":
            if not array.flags.c_contiguous or not array.flags.writeable or not array.flags.aligned:
                raise ExecutionError(f"{buffer.name}: a mutable buffer must be a writeable, contiguous array")
            return array
        mutable = [
            other for b, other in zip(self._fusion.inputs, arrays, strict=True) if b is not None and b.kind == "mutable"
        ]
        if any(np.may_share_memory(array, other) for other in mutable):
            return array.copy()  # kernels count on inputs that nobody writes
        if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
            return array
        return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")

    def _instantiate(self, sizes: Mapping[str, int]) -> _Instance:
        check_sizes(self._constraints, sizes)
        memory = plan(self._fusion, sizes, self._workspaces)
        declared: Any = self._graph.output_types  # tensors: an output is never a chain
        shapes = tuple(tuple(evaluate(size, sizes) for size in t.shape) for t in declared)
        traffic = 0
        for call in self._fusion.calls:
            for buffer in (*call.operands, *call.results):
                count = 1
                for size in buffer.type.shape:
                    count *= evaluate(size, sizes)
                traffic += count * numpy_dtype(buffer.type.dtype).itemsize
        return _Instance(memory, aligned_empty((memory.peak,), np.dtype(np.uint8)), shapes, traffic)

    def _bind_arena(self, instance: _Instance, sizes: Mapping[str, int]) -> None:
        base = instance.arena.ctypes.data
        for block in instance.plan.blocks:
            if block.key in self._slots:
                self._executor.bind(self._slots[block.key], base + block.offset)

    def _bind_outputs(self, instance: _Instance) -> list[np.ndarray]:
        outputs: list[np.ndarray] = []
        made: dict[Buffer, np.ndarray] = {}
        for buffer, shape in zip(self._fusion.outputs, instance.shapes, strict=True):
            if buffer in made:
                outputs.append(made[buffer].copy())
                continue
            array = aligned_empty(shape, numpy_dtype(buffer.type.dtype))
            made[buffer] = array
            if buffer in self._slots:
                self._executor.bind(self._slots[buffer], array.ctypes.data)
            outputs.append(array)
        return outputs


def _constant_array(buffer: Buffer) -> np.ndarray:
    array = np.ascontiguousarray(buffer.array)
    return array if array.size else np.zeros(1, array.dtype)
