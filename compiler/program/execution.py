"""Running a compiled model on the CPU: buffers bound to addresses once, then one native call a run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any
from weakref import WeakSet

import numpy as np

from compiler.backend.executor import Executor, TableStep, load_kernels
from compiler.backend.runtime import default_threads
from compiler.backend.runtime_arrays import ArraysLike, arrays_like, native_take
from compiler.errors import ExecutionError
from compiler.frameworks.arrays import as_numpy, is_foreign
from compiler.frameworks.openmp import OpenMP, lender
from compiler.frameworks.tensors import TensorsLike, bind_tensors, overlapping, tensors_like
from compiler.graph.binding import as_arrays, bind, refuse_overlap
from compiler.graph.dtypes import numpy_dtype
from compiler.passes.fusion.records import Buffer
from compiler.program.host_program import HostProgram
from compiler.program.memory_plan import MemoryPlan, plan
from compiler.program.result_memory import ResultMemory, aligned_empty

_SERIAL_BYTES = 256 << 10  # below this much traffic a second thread costs more than it gives
_SMALL_BYTES = 1024  # a result of this size gains nothing from beginning on a cache line


@dataclass(frozen=True, eq=False)
class _Instance:
    """The program for one binding of the symbols: planned memory, shapes of the results, whether threads pay."""

    plan: MemoryPlan
    arena: np.ndarray
    shapes: tuple[tuple[int, ...], ...]
    traffic: int


@dataclass(frozen=True, eq=False)
class _Repeated:
    """How to run again on arrays like those of the call before; see `runtime_arrays`."""

    like: ArraysLike
    address: int
    results: tuple[Callable[[], np.ndarray], ...]  # each makes an array for one result
    alone: bool  # on the caller's thread, where the arrays are taken


@dataclass(frozen=True, eq=False)
class _Tensors:
    """How to run again on PyTorch tensors like those of the call before; see `frameworks.tensors`."""

    like: TensorsLike
    results: tuple[Callable[[], Any], ...]
    threads: int
    alone: ArraysLike | None = None  # of no arrays: a call that only runs the program, on the caller's thread
    address: int = 0


@dataclass(frozen=True, eq=False)
class Binding:
    """Arguments bound to a program, for whoever starts it by itself; see `Program.bind`. Keep it while it is used."""

    table: np.ndarray
    """Addresses of all buffers, then the sizes: what the program's first argument word points at."""
    outputs: list[np.ndarray]
    threads: int
    arena_bytes: int
    owners: tuple[Any, ...]


_loaded: WeakSet[Program] = WeakSet()


def _forget_after_fork() -> None:
    for program in list(_loaded):
        program.forget_runs()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class Program:
    """A loaded host program. One run at a time; a second caller waits."""

    def __init__(self, host: HostProgram, objects: Sequence[bytes]) -> None:
        self._host = host
        self._lock = threading.Lock()
        _loaded.add(self)
        self._instances: dict[tuple[int, ...], _Instance] = {}
        places = {name: number for number, name in enumerate(host.interface.symbols)}
        steps = [
            TableStep(
                call.kernel.name,
                tuple(host.slots[buffer] for buffer in call.buffers),
                tuple(places[name] for name in call.sizes),
            )
            for call in host.calls
        ]
        self.calls = len(steps)
        code = load_kernels(objects, {step.kernel: None for step in steps})
        self._executor = Executor(steps, code, len(host.slots), len(places))
        for buffer, slot in host.slots.items():
            if buffer.array is not None:  # it stays where it is: the program reads the graph's own array
                self._executor.bind(slot, buffer.array.ctypes.data)
        self._given = tuple(None if buffer is None else host.slots.get(buffer) for buffer in host.fusion.inputs)
        self._mutable = tuple(k for k, b in enumerate(host.fusion.inputs) if b is not None and b.kind == "mutable")
        self._repeated: _Repeated | None = None
        self._foreign = False  # whether the call before was given arrays of another framework
        self._tensors: _Tensors | None = None
        self._memory = ResultMemory()
        self._take = native_take()

    def forget_runs(self) -> None:
        """In a forked child: what other threads were running here runs no more, and will never let go."""
        self._lock = threading.Lock()
        self._executor.reset()

    def execute(self, arrays: Sequence[Any], threads: int | None = None) -> list[Any]:
        """Check the arguments, run, and return the outputs as new arrays, of the framework whose arrays were given."""
        outputs = self._execute_again(arrays) if threads is None and self._repeated is not None else None
        if outputs is not None:
            return outputs
        if self._foreign or any(map(is_foreign, arrays)):
            return self._execute_foreign(arrays, threads)
        return self._execute_first(arrays, threads)

    def again(self, arrays: Sequence[Any]) -> Sequence[Any] | None:
        """Run on tensors like those of the call before, with new ones as results; None where they are not so."""
        return self._run_tensors(arrays, None)

    def again_into(self, results: Sequence[Any], arrays: Sequence[Any]) -> bool:
        """Run on PyTorch tensors like those of the call before, into given ones; False where they are not so."""
        return self._run_tensors(arrays, results) is not None

    def execute_into(self, results: Sequence[Any], arrays: Sequence[Any]) -> None:
        """Run, and write the outputs to given arrays, of PyTorch's or NumPy's; nothing is copied that can lie there."""
        if self._run_tensors(arrays, results) is not None:
            return
        for result, made in zip(results, self._execute_foreign(arrays, None), strict=True):
            if hasattr(result, "copy_"):
                result.copy_(made)
            else:
                np.copyto(result, made)

    def _execute_foreign(self, arrays: Sequence[Any], threads: int | None) -> Any:
        """Run on arrays of other frameworks, seen as NumPy's where they lie."""
        outputs = self._run_tensors(arrays, None) if threads is None else None
        if outputs is not None:
            return outputs
        views, back = as_numpy(arrays, self._host.interface.names)
        outputs = self._execute_first(views, threads, lender(arrays))
        self._foreign = back is not None
        if back is None:
            return outputs
        self._repeated = None  # the next one will not be of NumPy's arrays either
        made = [back(array) for array in outputs]
        if threads is None:
            self._like_tensors(arrays, views, made)
        return made

    def _run_tensors(self, arrays: Sequence[Any], results: Sequence[Any] | None) -> Sequence[Any] | None:
        """Run on tensors like those before, into given ones or new ones; None where they are not so."""
        self._lock.acquire()
        try:
            again = self._tensors
            if again is None:
                return None
            outputs = [make() for make in again.results] if results is None else results
            words = self._executor.words
            if not bind_tensors(again.like, (*arrays, *outputs), words):
                return None
            if results is not None and overlapping(again.like, words):
                return None
            if again.address:
                self._take((), again.address)
            else:
                self._executor.call(again.threads, lender(arrays))
            return outputs
        finally:
            self._lock.release()

    def _like_tensors(self, arrays: Sequence[Any], views: Sequence[Any], outputs: list[Any]) -> None:
        """Remember how to run again on such tensors, unless more than a comparison is needed each time."""
        interface = self._host.interface
        sizes = bind(interface.types, as_arrays(interface.types, views, interface.names), interface.names)
        key = tuple(sizes[name] for name in interface.symbols)
        buffers = self._host.fusion.outputs
        with self._lock:
            self._tensors = None
            instance = self._instances.get(key)  # another thread may have come with other sizes
            if self._mutable or len(set(buffers)) < len(buffers) or instance is None:
                return
            written = tuple(self._host.slots[buffer] for buffer in buffers)
            like = tensors_like(arrays, outputs, (*self._given, *written))
            if like is None:
                return
            makers = tuple(map(self._tensor_maker, outputs))
            threads = self._threads(instance, None)
            alone = arrays_like((), (), *self._executor.addresses(run=True)) if threads == 1 else None
            address = alone.words.ctypes.data if alone is not None else 0
            self._tensors = _Tensors(like, makers, threads, alone, address)

    def _tensor_maker(self, like: Any) -> Callable[[], Any]:
        torch: Any = import_module("torch")
        shape, dtype = tuple(like.shape), like.dtype
        if like.nbytes <= _SMALL_BYTES:
            return partial(torch.empty, shape, dtype=dtype)
        memory, size = self._memory, np.dtype(np.uint8)
        return lambda: torch.from_numpy(memory.empty((like.nbytes,), size)).view(dtype).view(shape)

    def _execute_again(self, arrays: Sequence[Any]) -> list[np.ndarray] | None:
        """Run on arrays like those of the call before; None where they are not. A call is a matter of microseconds."""
        self._lock.acquire()  # not `with`, which takes twice as long
        try:
            again = self._repeated
            if again is None:
                return None
            outputs: list[np.ndarray] = []
            for make in again.results:
                outputs.append(make())  # a comprehension is a call of its own before Python 3.12
            if not self._take((*arrays, *outputs), again.address):
                return None
            if not again.alone:
                self._executor.call(default_threads())
            return outputs
        finally:
            self._lock.release()

    def _execute_first(
        self, arrays: Sequence[Any], threads: int | None, lent: OpenMP | None = None
    ) -> list[np.ndarray]:
        with self._lock:
            instance, inputs = self._prepare(arrays)
            outputs = self._bind_outputs(instance)
            self._executor.call(self._threads(instance, threads), lent if threads is None else None)
            if threads is None:
                self._repeated = self._repeat(instance, arrays, outputs)
        del inputs
        return outputs

    def _repeat(self, instance: _Instance, arrays: Sequence[Any], outputs: list[np.ndarray]) -> _Repeated | None:
        """How to run again on such arrays; None where more than a comparison is needed each time."""
        buffers = self._host.fusion.outputs
        if self._mutable or len(set(buffers)) < len(buffers) or not all(type(a) is np.ndarray for a in arrays):
            return None
        places = (*self._given, *(self._host.slots[buffer] for buffer in buffers))
        alone = instance.traffic < _SERIAL_BYTES
        like = arrays_like((*arrays, *outputs), places, *self._executor.addresses(run=alone))
        return like and _Repeated(
            like,
            like.words.ctypes.data,
            tuple(
                partial(self._memory.empty if array.nbytes > _SMALL_BYTES else np.empty, array.shape, array.dtype)
                for array in outputs
            ),
            alone,
        )

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

    def _prepare(self, arrays: Sequence[Any]) -> tuple[_Instance, list[np.ndarray]]:
        interface = self._host.interface
        arrays = as_arrays(interface.types, arrays, interface.names)
        sizes = bind(interface.types, arrays, interface.names)
        if len(self._mutable) > 1:
            refuse_overlap(arrays, self._mutable, interface.names)
        key = tuple(sizes[name] for name in interface.symbols)
        instance = self._instances.get(key)
        if instance is None:
            instance = self._instantiate(sizes, key)
            self._instances = {key: instance}  # one arena is kept: the sizes used last
            self._repeated = None
            self._tensors = None
            self._executor.set_dims(key)
        kept: list[np.ndarray] = []
        for buffer, slot, array in zip(self._host.fusion.inputs, self._given, arrays, strict=True):
            if buffer is None or slot is None:
                continue
            ready = self._ready(buffer, array, arrays)
            kept.append(ready)
            self._executor.bind(slot, ready.ctypes.data)
        return instance, kept

    def _ready(self, buffer: Buffer, array: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
        if buffer.kind == "mutable":
            if not array.flags.c_contiguous or not array.flags.writeable or not array.flags.aligned:
                raise ExecutionError(f"{buffer.name}: a mutable buffer must be a writeable, contiguous array")
            return array
        if any(np.may_share_memory(array, arrays[k]) for k in self._mutable):
            return array.copy()  # kernels count on inputs that nobody writes
        if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
            return array
        return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")

    def _instantiate(self, sizes: Mapping[str, int], key: tuple[int, ...]) -> _Instance:
        """The program for these sizes. Where those that temporaries depend on are as before, so is their memory: a
        model that is called with one more of something each time would else be planned each time."""
        host = self._host
        host.check(sizes)
        shapes = tuple(b.shape(sizes) for b in host.fusion.outputs)
        for known, before in self._instances.items():
            changed = {name for name, a, b in zip(host.interface.symbols, known, key, strict=True) if a != b}
            if not changed & host.planned_symbols and before.traffic >= _SERIAL_BYTES:
                return replace(before, shapes=shapes)
        memory = plan(host, sizes)
        arena = aligned_empty((memory.peak,), np.dtype(np.uint8))
        base = arena.ctypes.data
        for block in memory.blocks:
            self._executor.bind(host.slots[block.buffer], base + block.offset)
        return _Instance(memory, arena, shapes, host.traffic(sizes))

    def _bind_outputs(self, instance: _Instance) -> list[np.ndarray]:
        outputs: list[np.ndarray] = []
        made: dict[Buffer, np.ndarray] = {}
        for buffer, shape in zip(self._host.fusion.outputs, instance.shapes, strict=True):
            if buffer in made:
                outputs.append(made[buffer].copy())
                continue
            array = made[buffer] = self._memory.empty(shape, numpy_dtype(buffer.type.dtype))
            self._executor.bind(self._host.slots[buffer], array.ctypes.data)
            outputs.append(array)
        return outputs
