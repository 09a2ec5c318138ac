"""A model as a device runs it, for one choice of sizes: buffers with their bytes, launches with their grids, PTX.

Plain data with no driver in it: it can be made, read and sent to another process on a machine that has no GPU.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.dims import Dim, evaluate
from compiler.graph.dtypes import dtype_info
from compiler.language.kernel import Launch
from compiler.program.memory_plan import plan

if TYPE_CHECKING:
    from compiler.language.kernel import TensorMap
    from compiler.model import Model
    from compiler.program.host_program import HostCall, HostProgram

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


@dataclass(frozen=True)
class MapSlot:
    """A tensor map to be written to `slot`: memory of slot `source`, in elements, the contiguous axis last."""

    slot: int
    source: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One launch: outputs, inputs and workspaces by slot, then the sizes of the kernel's symbols.

    `shared` are bytes of shared memory for each block; a `resident` launch has at most as many blocks as run at once,
    and one whose blocks run `together` starts when all of them can. `cluster` blocks at a time are started as one.
    """

    kernel: str
    blocks: tuple[int, int, int]
    threads: int
    slots: tuple[int, ...]
    dims: tuple[int, ...]
    shared: int = 0
    resident: bool = False
    together: bool = False
    cluster: int = 1
    maps: tuple[MapSlot, ...] = ()


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


def ptx_of(model: Model) -> tuple[bytes, ...]:
    """The PTX of every kernel that is called, as the compilation made it."""
    called = {call.kernel.name for call in model.host.calls}
    return tuple(unit.code for unit in model.device_code() if called.intersection(unit.kernels))


def program_of(model: Model, sizes: Mapping[str, int], ptx: tuple[bytes, ...] | None = None) -> DeviceProgram:
    """Lay out a compiled model for given sizes of its symbols; slots are numbered the same for all sizes."""
    host = model.host
    host.check(sizes)
    # Workspaces are not in the arena: a kernel that counts in one finds it zeroed, and leaves it so.
    memory = plan(host, sizes, workspaces=False)
    offsets = {block.buffer: block.offset for block in memory.blocks}
    slots = tuple(
        Slot(buffer.name, buffer.kind, buffer.type.dtype, buffer.shape(sizes), offsets.get(buffer, 0))
        for buffer in host.slots
    )
    steps = [_step(host, call, sizes) for call in host.calls]
    return DeviceProgram(
        host.fusion.name,
        model.target.name,
        slots,
        tuple(steps),
        tuple(None if buffer is None else host.slots.get(buffer) for buffer in host.fusion.inputs),
        tuple(host.slots[buffer] for buffer in host.fusion.outputs),
        memory.peak,
        ptx_of(model) if ptx is None else ptx,
        tuple((number, buffer.array) for buffer, number in host.slots.items() if buffer.array is not None),
    )


def varying_steps(host: HostProgram) -> tuple[int, ...]:
    """The calls whose launches are not the same for all sizes."""
    return tuple(
        number
        for number, call in enumerate(host.calls)
        if call.sizes or call.maps or (call.launch and any(isinstance(size, Dim) for size in call.launch.blocks))
    )


def steps_of(host: HostProgram, sizes: Mapping[str, int], numbers: Sequence[int]) -> dict[int, Step]:
    """Some of the launches for other sizes, by number."""
    return {number: _step(host, host.calls[number], sizes) for number in numbers}


def _step(host: HostProgram, call: HostCall, sizes: Mapping[str, int]) -> Step:
    name, launch = call.kernel.name, call.launch
    blocks, threads = _grid(launch, sizes, name)
    numbers = tuple(host.slots[buffer] for buffer in call.buffers)
    dims = tuple(sizes[symbol] for symbol in call.sizes)
    maps = tuple(_map_slot(asked, call, numbers, sizes) for asked in call.maps)
    how = launch or Launch(blocks, threads)
    return Step(name, blocks, threads, numbers, dims, how.shared, how.resident, how.together, how.cluster, maps)


def _map_slot(asked: TensorMap, call: HostCall, numbers: tuple[int, ...], sizes: Mapping[str, int]) -> MapSlot:
    first = len(numbers) - len(call.workspaces)
    shape, strides = (tuple(evaluate(size, sizes) for size in listed) for listed in (asked.shape, asked.strides))
    offset = evaluate(asked.offset, sizes)
    return MapSlot(numbers[first + asked.workspace], numbers[asked.argument], offset, shape, strides, asked.box)


def _grid(launch: Launch | None, sizes: Mapping[str, int], kernel: str) -> tuple[tuple[int, int, int], int]:
    if launch is None:
        return (DEFAULT_LAUNCH[0], 1, 1), DEFAULT_LAUNCH[1]
    asked = [evaluate(size, sizes) for size in launch.blocks]
    x, y, z, *_ = (*asked, 1, 1)
    blocks = (-(-x // launch.cluster) * launch.cluster, y, z)
    if not 1 <= launch.threads <= _THREADS:
        raise ExecutionError(f"{kernel} asks for {launch.threads} threads a block; a block has 1 to {_THREADS}")
    if any(size > most for size, most in zip(blocks, _GRID, strict=True)):
        raise ExecutionError(f"{kernel} asks for {'x'.join(map(str, asked))} blocks; a grid has at most {_GRID}")
    return blocks, launch.threads


class Packed:
    """The parameters of a launch in memory that the driver reads: values, and the address of each."""

    def __init__(self, pointers: Sequence[int], dims: Sequence[int]) -> None:
        count = len(pointers) + len(dims)
        self.values = (ctypes.c_uint64 * max(count, 1))(*pointers, *[dim % (1 << 64) for dim in dims])
        start = ctypes.addressof(self.values)
        self._addresses = (ctypes.c_void_p * max(count, 1))(*[start + 8 * k for k in range(count)])
        self.address = ctypes.addressof(self._addresses)
        """What cuLaunchKernel takes as kernelParams."""
