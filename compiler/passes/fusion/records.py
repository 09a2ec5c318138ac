"""What fusion gives: buffers, fused kernels, their calls, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from compiler.graph.dims import Dim, evaluate
from compiler.graph.dtypes import dtype_info

if TYPE_CHECKING:
    import numpy as np
    from xdsl.ir import Operation, SSAValue

    from compiler.graph.types import TensorType

Edge = tuple[str, str]
"""(producer node, consumer node), as the ledger names them."""


@dataclass(frozen=True)
class FusionDecision:
    """One edge of the graph: fused or not, by which rule, why, and the bytes of traffic that saves."""

    producer: str
    consumer: str
    accepted: bool
    rule: str
    reason: str
    bytes_saved: int | Dim


@dataclass(frozen=True)
class Again:
    """What computing a value again saves and adds."""

    bytes_saved: int | Dim
    work_added: int | Dim

    @property
    def text(self) -> str:
        """For the ledger."""
        return f"computed again where it is read: {self.bytes_saved} bytes less, {self.work_added} operations more"


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory a kernel reads or writes.

    `kind` is input, output, constant, mutable (a graph's buffer argument), temporary, or workspace (scratch memory of
    one call). `index` is the position among the graph's inputs (input, mutable) or outputs (output), or among the
    workspaces of a call. `nodes` are the graph nodes whose value it holds, `array` the elements of a constant, dense.
    """

    name: str
    type: TensorType
    kind: str
    index: int = -1
    nodes: tuple[str, ...] = ()
    array: np.ndarray | None = None

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape for given sizes of the symbols."""
        return tuple([evaluate(size, sizes) for size in self.type.shape])

    def bytes(self, sizes: Mapping[str, int]) -> int:
        """How many bytes it takes then."""
        return prod(self.shape(sizes)) * dtype_info(self.type.dtype).bytes


@dataclass(frozen=True)
class FusedKernel:
    """A generated kernel. Groups of the same structure share one.

    `line_slots[i]` are the slots of source line i+1; a slot is one graph op of the kernel, `slots` holds the op names.
    `inplace` pairs (output, input) that may share memory: the input is read only where the output is written, before.
    """

    name: str
    source: str
    line_slots: tuple[tuple[int, ...], ...]
    slots: tuple[str, ...]
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    symbols: tuple[str, ...]
    inplace: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, eq=False)
class KernelCall:
    """One use of a kernel: what it reads and writes, and the graph nodes that each slot stands for here.

    `symbols` are the graph's names of the kernel's dims: the same names unless one had to be renamed in the source.
    `roles` says core, prologue, epilogue, elementwise or view for each slot. `number` is its place among the calls.
    """

    kernel: FusedKernel
    operands: tuple[Buffer, ...]
    results: tuple[Buffer, ...]
    nodes: tuple[tuple[str, ...], ...]
    symbols: tuple[str, ...]
    roles: tuple[str, ...]
    number: int
    origin: Origin = field(repr=False)

    @cached_property
    def all_nodes(self) -> tuple[str, ...]:
        """Every graph node of this call, once, in slot order."""
        return tuple(dict.fromkeys(node for nodes in self.nodes for node in nodes))

    @property
    def ops(self) -> tuple[Operation, ...]:
        """The graph op of each slot."""
        return self.origin.fused.ops[self.number]

    @property
    def values(self) -> tuple[SSAValue, ...]:
        """The graph value of each result."""
        return self.origin.fused.values[self.number]


@dataclass(frozen=True, eq=False)
class FusionResult:
    """A fused graph: kernels (each once), calls in execution order, the graph's buffers, and the ledger."""

    name: str
    kernels: tuple[FusedKernel, ...]
    calls: tuple[KernelCall, ...]
    inputs: tuple[Buffer | None, ...]  # per graph input; None for a chain
    outputs: tuple[Buffer, ...]
    constants: tuple[Buffer, ...]
    ledger: tuple[FusionDecision, ...]
    origin: Origin = field(repr=False)


@dataclass(frozen=True, eq=False)
class FusedGraph:
    """What only the graph's own stages need of a fusion: the graph and its ops, by call."""

    graph: Operation
    result: FusionResult
    ops: tuple[tuple[Operation, ...], ...]  # the graph op of each slot
    values: tuple[tuple[SSAValue, ...], ...]  # the graph value of each result
    stored: Mapping[SSAValue, Buffer]  # where each graph value is that is in memory at all


class Origin:
    """The way back from a fusion to the graph: at hand where the graph was fused, else fused again when asked for."""

    def __init__(self, find: Callable[[], FusedGraph]) -> None:
        self._find = find

    @cached_property
    def fused(self) -> FusedGraph:
        """The graph and its ops. Buffers and calls in it are its own `result`'s."""
        return self._find()
