"""What fusion takes and gives: signatures, buffers, fused kernels, their calls, and the decisions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Protocol

from compiler.graph.dims import Dim, evaluate
from compiler.graph.dtypes import dtype_info

if TYPE_CHECKING:
    import numpy as np
    from xdsl.ir import Operation, SSAValue

    from compiler.graph.types import TensorType
    from compiler.language.library import Case
    from compiler.language.syntax.functions import Generator

Edge = tuple[str, str]
"""(producer node, consumer node), as the ledger names them."""


class Signature(Protocol):
    """All that fusion may know about a library entry.

    `kind` is elementwise, view, pointwise or kernel; `inputs` says "fused" or "tensor" for each operand, the last one
    standing for the rest; `output` likewise; `params` are the keyword-only parameters. `reduction` names what a kernel
    combines the elements of its operand with, over its parameter `axes`, so that others can do so too; or is empty.
    """

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[str, ...]: ...
    @property
    def variadic(self) -> bool: ...
    @property
    def output(self) -> str: ...
    @property
    def params(self) -> tuple[str, ...]: ...
    @property
    def reduction(self) -> str: ...


class KernelLibrary(Protocol):
    """The part of a kernel library that fusion uses."""

    def signature(
        self, op: str, count: int | None = None, results: int = 1, case: Case | None = None
    ) -> Signature | None:
        """The signature of the entry for an op (or a custom kernel) of `count` operands and some results in a case."""
        ...

    def names(self) -> Iterable[str]:
        """Every name the library defines."""
        ...

    def find(self, name: str) -> Generator | None:
        """The definition called `name`."""
        ...


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
