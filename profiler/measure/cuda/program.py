"""A model as a device runs it, for one choice of sizes: buffers with their bytes, launches with their grids, PTX.

Plain data with no driver in it: it can be made, read and sent to another process on a machine that has no GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.constraints import constraints_of
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import dtype_info, numpy_dtype
from compiler.passes.fusion.records import Buffer
from compiler.program.memory_plan import plan

if TYPE_CHECKING:
    from compiler.language.kernel import Launch
    from compiler.model import Model

DEFAULT_LAUNCH = (1024, 256)
"""Blocks and threads of a kernel that states no launch of its own: kernels split their work over the whole grid."""
_GRID = (2**31 - 1, 65535, 65535)
_THREADS = 1024


@dataclass(frozen=True)
class Slot:
    """One buffer. `kind` is input, mutable, output, constant, temporary (at `offset` of the arena) or workspace."""

    name: str
    kind: str
    dtype: str
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def bytes(self) -> int:
        """Its size."""
        return prod(self.shape) * dtype_info(self.dtype).bytes

    def empty(self) -> np.ndarray:
        """A host array that fits it."""
        return np.empty(self.shape, numpy_dtype(self.dtype))


@dataclass(frozen=True)
class Step:
    """One launch: outputs, inputs and workspaces by slot, then the sizes of the kernel's symbols."""

    kernel: str
    blocks: tuple[int, int, int]
    threads: int
    slots: tuple[int, ...]
    dims: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class DeviceProgram:
    """Everything a device needs to run a model once. `inputs` holds None for an argument that no kernel reads."""

    name: str
    target: str
    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    arena: int
    ptx: tuple[bytes, ...]
    constants: tuple[tuple[int, np.ndarray], ...]

    @property
    def call_bytes(self) -> int:
        """What a call reads and writes: its arguments, outputs and temporaries."""
        return self.arena + sum(slot.bytes for slot in self.slots if slot.kind in ("input", "mutable", "output"))

    @property
    def kernels(self) -> tuple[str, ...]:
        """The kernels it launches, each once."""
        return tuple(dict.fromkeys(step.kernel for step in self.steps))


def check_sizes(model: Model, sizes: Mapping[str, int]) -> None:
    """Raise for sizes that the graph cannot take."""
    for constraint in constraints_of(model.graph):
        if not constraint.holds(sizes):
            bound = ", ".join(f"{name} = {size}" for name, size in sorted(sizes.items()))
            raise ExecutionError(f"{constraint.message} ({bound})")


def ptx_of(model: Model) -> tuple[bytes, ...]:
    """The PTX of every kernel that is called, as the compilation made it."""
    called = {call.kernel.name for call in model.fusion.calls}
    return tuple(unit.code for unit in model.device_code() if called.intersection(unit.kernels))


def program_of(
    model: Model,
    sizes: Mapping[str, int],
    ptx: tuple[bytes, ...] | None = None,
    launches: Mapping[str, Launch] | None = None,
) -> DeviceProgram:
    """Lay out a compiled model for given sizes of its symbols; slots are numbered the same for all sizes.

    `launches` overrides the grid and block of kernels by name. A kernel that states its own launch may count on it.
    """
    check_sizes(model, sizes)
    layout = _Layout(model, sizes, launches or {})
    steps = layout.steps()
    outputs = tuple(layout.slot(buffer) for buffer in model.fusion.outputs)
    inputs = tuple(None if b is None or b not in layout.numbers else layout.numbers[b] for b in model.fusion.inputs)
    constants = tuple(
        (number, _constant_array(buffer))
        for buffer, number in layout.numbers.items()
        if isinstance(buffer, Buffer) and buffer.kind == "constant"
    )
    texts = ptx_of(model) if ptx is None else ptx
    return DeviceProgram(
        model.graph.name, model.target.name, tuple(layout.slots), steps, inputs, outputs, layout.arena, texts, constants
    )


class _Layout:
    """Slots while they are numbered."""

    def __init__(self, model: Model, sizes: Mapping[str, int], launches: Mapping[str, Launch]) -> None:
        self.model = model
        self.launches = launches
        self.sizes = sizes
        self.slots: list[Slot] = []
        self.numbers: dict[Any, int] = {}
        # Workspaces are not in the arena: a kernel that counts in one finds it zeroed, and leaves it so.
        memory = plan(model.fusion, sizes)
        self.arena = memory.peak
        self.offsets = {block.key: block.offset for block in memory.blocks}

    def slot(self, buffer: Buffer) -> int:
        if buffer not in self.numbers:
            shape = tuple(evaluate(size, self.sizes) for size in buffer.type.shape)
            self._add(buffer, Slot(buffer.name, buffer.kind, buffer.type.dtype, shape, self.offsets.get(buffer, 0)))
        return self.numbers[buffer]

    def _add(self, key: Any, slot: Slot) -> int:
        self.numbers[key] = len(self.slots)
        self.slots.append(slot)
        return self.numbers[key]

    def steps(self) -> tuple[Step, ...]:
        made: list[Step] = []
        for number, call in enumerate(self.model.fusion.calls):
            record = self.model.record(call.kernel.name)
            # Inside the kernel its symbols may have other names than in the graph.
            renamed = dict(zip(call.kernel.symbols, call.symbols, strict=True))
            local = {name: self.sizes[outer] for name, outer in renamed.items()}
            buffers = [self.slot(buffer) for buffer in (*call.results, *call.operands)]
            for k, asked in enumerate(record.workspaces):
                shape = tuple(evaluate(size, local) for size in asked.shape)
                name = f"{call.kernel.name}.{asked.name}"
                buffers.append(self._add((number, k), Slot(name, "workspace", asked.dtype, shape)))
            launch = self.launches.get(call.kernel.name, record.launch)
            blocks, threads = _grid(launch, local, call.kernel.name)
            dims = tuple(local[name] for name in record.symbols)
            made.append(Step(call.kernel.name, blocks, threads, tuple(buffers), dims))
        return tuple(made)


def _grid(launch: Launch | None, sizes: Mapping[str, int], kernel: str) -> tuple[tuple[int, int, int], int]:
    if launch is None:
        return (DEFAULT_LAUNCH[0], 1, 1), DEFAULT_LAUNCH[1]
    asked = [evaluate(size, sizes) for size in launch.blocks]
    x, y, z, *_ = (*asked, 1, 1)
    blocks = (x, y, z)
    if not 1 <= launch.threads <= _THREADS:
        raise ExecutionError(f"{kernel} asks for {launch.threads} threads a block; a block has 1 to {_THREADS}")
    if any(size > most for size, most in zip(blocks, _GRID, strict=True)):
        raise ExecutionError(f"{kernel} asks for {'x'.join(map(str, asked))} blocks; a grid has at most {_GRID}")
    return blocks, launch.threads


def _constant_array(buffer: Buffer) -> np.ndarray:
    from compiler.dialects.mo import attrs_of

    return np.ascontiguousarray(attrs_of(buffer.constant)["value"])  # pyright: ignore[reportArgumentType]


class Packed:
    """The parameters of a launch in memory that the driver reads: values, and the address of each."""

    def __init__(self, pointers: Sequence[int], dims: Sequence[int]) -> None:
        count = len(pointers) + len(dims)
        self.values = (ctypes.c_uint64 * max(count, 1))(*pointers, *[dim % (1 << 64) for dim in dims])
        start = ctypes.addressof(self.values)
        self._addresses = (ctypes.c_void_p * max(count, 1))(*[start + 8 * k for k in range(count)])
        self.address = ctypes.addressof(self._addresses)
        """What cuLaunchKernel takes as kernelParams."""
