"""The host program: what running a model takes besides the kernels' code, known before any size is.

One record that the CPU's executor, the CUDA launcher, the memory plan and the `mgp` text all read. It is built here, of
what fusion decided, what elaboration found out about each kernel, and what the graph is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from compiler.graph.constraints import Constraint, check_sizes, constraints_of
from compiler.graph.dims import Dim, substitute, symbol
from compiler.graph.graph import Graph
from compiler.graph.opaque import stored_type
from compiler.graph.types import OpaqueBufferType, OpaqueType, TensorType
from compiler.language.kernel import ElaboratedKernel, Launch, TensorMap
from compiler.passes.fusion.records import Buffer, FusedKernel, FusionResult, KernelCall
from compiler.program.opaque_arguments import Opaques

if TYPE_CHECKING:
    from compiler.language.library import Library


@dataclass(frozen=True)
class Interface:
    """What a model is given: the names and types of its arguments, and what must hold of their symbolic sizes."""

    names: tuple[str, ...] = ()
    types: tuple[Any, ...] = ()  # of the graph's inputs: tensors and buffers, as an argument is never a chain
    symbols: tuple[str, ...] = ()  # sorted
    constraints: tuple[Constraint, ...] = ()
    opaques: Opaques | None = None
    """Which of the inputs and outputs are opaque values: `types` then has the bytes that hold them."""


@dataclass(frozen=True, eq=False)
class HostCall:
    """One kernel call. All sizes are in the graph's symbols, also where the kernel has other names for them."""

    fused: KernelCall
    workspaces: tuple[Buffer, ...]
    sizes: tuple[str, ...]
    """The symbols whose sizes the kernel is given."""
    launch: Launch | None
    """The grid that a GPU kernel asks for."""
    maps: tuple[TensorMap, ...] = ()
    """What it wants to be told of its arguments for the copy engine."""

    @property
    def kernel(self) -> FusedKernel:
        """What is called."""
        return self.fused.kernel

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The kernel's arguments in their order; the sizes come behind them."""
        return (*self.fused.results, *self.fused.operands, *self.workspaces)


@dataclass(frozen=True, eq=False)
class Lifetime:
    """A temporary from the call that writes it to the last call that reads it."""

    buffer: Buffer
    first: int
    last: int
    reuses: Buffer | None  # the input of call `first` whose place it takes


@dataclass(frozen=True, eq=False)
class HostProgram:
    """Kernel calls in order, the buffers they work on, and what the sizes must be."""

    fusion: FusionResult
    records: Mapping[str, ElaboratedKernel]
    interface: Interface
    calls: tuple[HostCall, ...]

    @cached_property
    def slots(self) -> dict[Buffer, int]:
        """The number of each buffer that a call or an output needs, in order of first use."""
        found: dict[Buffer, int] = {}
        for call in self.calls:
            for buffer in call.buffers:
                found.setdefault(buffer, len(found))
        for buffer in self.fusion.outputs:
            found.setdefault(buffer, len(found))
        return found

    @cached_property
    def planned_symbols(self) -> frozenset[str]:
        """The symbols that the sizes of temporaries and workspaces depend on: others need no new plan."""
        buffers = [life.buffer for life in self.lifetimes]
        buffers += [buffer for call in self.calls for buffer in call.workspaces]
        sizes = {size for buffer in buffers for size in buffer.type.shape if isinstance(size, Dim)}
        return frozenset[str]().union(*(size.symbols for size in sizes))

    @cached_property
    def lifetimes(self) -> tuple[Lifetime, ...]:
        """When each temporary lives, and which take the place of another; the order is that of birth."""
        return _lifetimes(self.fusion.calls)

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise for sizes that the graph cannot take."""
        check_sizes(self.interface.constraints, sizes)

    def traffic(self, sizes: Mapping[str, int]) -> int:
        """Bytes of all that the kernels read and write."""
        return sum(b.bytes(sizes) for call in self.fusion.calls for b in (*call.results, *call.operands))


def interface_of(graph: Graph, library: Library) -> Interface:
    """What a graph is given; the library says how its opaque values are laid out."""
    inputs, outputs = (
        tuple(library.layout(kind) if isinstance(kind, (OpaqueType, OpaqueBufferType)) else None for kind in kinds)
        for kinds in (graph.input_types, graph.output_types)
    )
    types = tuple(k if one is None else stored_type(k, one) for k, one in zip(graph.input_types, inputs, strict=True))
    opaques = Opaques(inputs, outputs) if any(inputs) or any(outputs) else None
    return Interface(graph.input_names, types, tuple(sorted(graph.symbols)), constraints_of(graph), opaques)


def host_program(fusion: FusionResult, records: Mapping[str, ElaboratedKernel], interface: Interface) -> HostProgram:
    """The program of a fused graph, of whose kernels elaboration knows this much; one without a record asks nothing."""
    calls = tuple(_host_call(call, records.get(call.kernel.name)) for call in fusion.calls)
    return HostProgram(fusion, records, interface, calls)


def _host_call(call: KernelCall, record: ElaboratedKernel | None) -> HostCall:
    if record is None:
        return HostCall(call, (), call.symbols, None)
    names = dict(zip(call.kernel.symbols, call.symbols, strict=True))
    kinds = [TensorType.of(asked.dtype, _sizes_outside(asked.shape, call)) for asked in record.workspaces]
    workspaces = tuple(
        Buffer(f"{call.kernel.name}.{asked.name}", kind, "workspace", k)
        for k, (asked, kind) in enumerate(zip(record.workspaces, kinds, strict=True))
    )
    launch = record.launch and launch_outside(record.launch, call)
    maps = tuple(map_outside(asked, call) for asked in record.maps)
    return HostCall(call, workspaces, tuple(names[name] for name in record.symbols), launch, maps)


def launch_outside(launch: Launch, call: KernelCall) -> Launch:
    """A launch in the kernel's own names of its sizes as one in the graph's."""
    return replace(launch, blocks=_sizes_outside(launch.blocks, call))


def map_outside(asked: TensorMap, call: KernelCall) -> TensorMap:
    """A tensor map in the kernel's own names of its sizes as one in the graph's."""
    (offset,) = _sizes_outside((asked.offset,), call)
    shape, strides = _sizes_outside(asked.shape, call), _sizes_outside(asked.strides, call)
    return replace(asked, shape=shape, strides=strides, offset=offset)


def _sizes_outside(sizes: tuple[int | Dim, ...], call: KernelCall) -> tuple[int | Dim, ...]:
    """Sizes in a kernel's own names in those of the graph."""
    if call.symbols == call.kernel.symbols:
        return sizes
    names = {inner: symbol(outer) for inner, outer in zip(call.kernel.symbols, call.symbols, strict=True)}
    return tuple(substitute(size, names) for size in sizes)


def _lifetimes(calls: Sequence[KernelCall]) -> tuple[Lifetime, ...]:
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for number, call in enumerate(calls):
        for buffer in (*call.results, *call.operands):
            if buffer.kind == "temporary":
                first.setdefault(buffer, number)  # where it is read first it has no elements: nobody writes it
                last[buffer] = number
    made: list[Lifetime] = []
    for number, call in enumerate(calls):
        taken: set[Buffer] = set()
        placed: dict[Buffer, Buffer] = {}
        for output, operand in call.kernel.inplace:
            result, source = call.results[output], call.operands[operand]
            if result not in first or source not in first or source in taken or result in placed:
                continue
            if first[source] < number == first[result] == last[source]:
                taken.add(source)
                placed[result] = source
        for buffer in dict.fromkeys((*call.operands, *call.results)):
            if first.get(buffer) == number:
                made.append(Lifetime(buffer, number, last[buffer], placed.get(buffer)))
    return tuple(made)
