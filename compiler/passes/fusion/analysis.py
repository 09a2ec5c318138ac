"""The graph as fusion sees it: nodes with signatures, values with readers, ancestors as bit masks.

Op names are looked at here only to find constants, buffer accesses and a custom op's kernel; signatures say the rest.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from compiler.constants.file_arrays import is_large
from compiler.dialects.mo import RECOGNISED, attrs_of, nodes_of
from compiler.errors import KernelError
from compiler.graph.dims import Dim, product
from compiler.graph.dtypes import is_float
from compiler.graph.opaque import stored_type
from compiler.graph.types import BufferType, ChainType, OpaqueBufferType, OpaqueType, TensorType
from compiler.language.library import Case, Library, Signature
from compiler.passes.fusion.facts.view_method import view_method
from compiler.passes.fusion.facts.work import work_of
from compiler.passes.fusion.paths import Step, made_step
from compiler.passes.fusion.records import Buffer

_SPLAT_PROBE = 64
DEEPEST = 128  # views in a row that are looked through at once


@lru_cache(maxsize=4096)
def count(shape: tuple[int | Dim, ...]) -> int | Dim:
    """The number of elements of a shape; shapes repeat, and symbolic products are slow."""
    return product(shape)


OpaqueKind = tuple[str, tuple[tuple[str, Any], ...]]
"""An opaque type: the name of its definition in the library, and its parameters."""


class Value:
    """An SSA value of the graph and what fusion decides about it."""

    __slots__ = ("buffer", "name", "node", "opaque", "outputs", "ssa", "type", "users")

    def __init__(self, ssa: SSAValue, node: Node | None, name: str) -> None:
        self.ssa = ssa
        self.type: Any = ssa.type
        self.opaque: OpaqueKind | None = None  # of an opaque value, whose type here is that of its bytes
        self.node = node
        self.name = name
        self.users: list[Node] = []  # once for each operand that it is
        self.outputs: list[int] = []  # positions among the graph's outputs
        self.buffer: Buffer | None = None  # where it is stored, once decided

    @property
    def numel(self) -> int | Dim:
        """How many elements it has."""
        return count(self.type.shape)

    @property
    def shape(self) -> tuple[int | Dim, ...]:
        """The sizes of its axes."""
        return self.type.shape

    @property
    def declared(self) -> str:
        """How a kernel declares a value that it takes or gives whole, in words."""
        return "declared Tensor" if self.opaque is None else "declared Opaque"


class Node:
    """A graph op: its kind is elementwise, view, pointwise, kernel, literal, constant, chain, load or store."""

    __slots__ = ("after", "ancestors", "attrs", "bit", "cost", "custom", "dear", "depth", "index", "kind",
                 "literal", "memory", "name", "nodes", "note", "op", "operands", "own_work", "results", "signature",
                 "step", "view", "work")  # fmt: skip

    def __init__(self, index: int, op: Operation, operands: list[Value]) -> None:
        self.index = index
        self.op = op
        self.operands = operands
        self.nodes = nodes_of(op)
        self.name = self.nodes[0] if self.nodes else f"op{index}"
        self.results = [Value(r, self, r.name_hint or self.name) for r in op.results]
        self.memory: Value | None = None  # of a kernel that changes a buffer in place: that one, its last result
        self.after: tuple[Value, ...] = ()  # what else must have been done before
        self.ancestors = 0
        self.attrs: dict[str, Any] = {}
        self.signature: Any = None
        self.kind = ""
        self.literal: Any = None
        note: Any = op.attributes.get(RECOGNISED)
        self.note: str = "" if note is None else note.data  # what it was recognised as
        self.custom = op.name in ("mo.custom", "mo.update")  # the user's
        self.view = ""  # for a view: the method its definition is, if it is one
        self.step: Step | None = None  # for a view that can be undone: its step
        self.depth = 0  # for a view: how many there are in a row, with it
        self.bit = 1 << index  # in a mask of ops
        self.own_work = 1  # operations for an element, by this op's definition
        self.work = 1  # the same of the expression tree that ends here
        self.dear = 1  # the most work of one op of that tree on floating-point numbers
        self.cost = 1  # ops in the expression tree that ends here, for deciding whether to compute it again

    @property
    def result(self) -> Value:
        """Its only or first result."""
        return self.results[0]

    def declares(self, operand: int) -> str:
        """What the signature says of an operand: "fused" or "tensor"."""
        inputs = self.signature.inputs
        return inputs[min(operand, len(inputs) - 1)] if inputs else "fused"


def _step(node: Node) -> Step | None:
    """The step of a view that can be undone; None for any other."""
    before, after = node.operands[0].shape, node.result.shape
    if node.view == "reshape":
        return made_step(before, after)
    if node.view == "permute":
        return made_step(before, after, tuple(node.attrs[node.signature.params[0]]))
    return None


class Analysis:
    """All nodes of a graph in order, its inputs, and its outputs."""

    def __init__(self, graph: Operation, library: Library, target: str = "cpu") -> None:
        self.library = library
        self.target = target
        self.nodes: list[Node] = []
        self._known: dict[tuple[str, int, int, Case], tuple[Signature | None, str, int]] = {}
        block = graph.regions[0].blocks[0]
        values: dict[int, Value] = {}  # by the id of the graph's value, which is faster than xDSL's own hash
        self.inputs: list[Value] = []
        for k, argument in enumerate(block.args):
            value = values[id(argument)] = Value(argument, None, argument.name_hint or f"x{k}")
            self._store_opaque(value)
            self.inputs.append(value)
        self.stores: dict[Value, list[Node]] = {}  # per mutable buffer, in order
        terminator = block.last_op
        for op in block.ops:
            if op is terminator:
                break
            node = Node(len(self.nodes), op, [values[id(u)] for u in op._operands])
            for result in node.results:
                self._store_opaque(result)
            self.nodes.append(node)
            if op.name == "mo.update":
                self._update(node)
            self._classify(node)
            for operand in (*node.operands, *node.after):
                operand.users.append(node)
                if operand.node is not None:
                    node.ancestors |= operand.node.ancestors | operand.node.bit
            for result in node.results:
                values[id(result.ssa)] = result
        self.outputs = [values[id(u)] for u in terminator._operands] if terminator is not None else []
        for position, value in enumerate(self.outputs):
            if not isinstance(value.type, TensorType):
                raise KernelError(f"output {position} is {value.type}; only tensors can be computed")
            value.outputs.append(position)
        for node in self.nodes:
            node.cost = 1 + sum(map(_private_cost, node.operands))
            private = [operand.node for operand in node.operands if operand.node and _private_cost(operand)]
            node.work = node.own_work + sum(above.work for above in private)
            node.dear = max([_float_work(node), *(above.dear for above in private)])

    def _store_opaque(self, value: Value) -> None:
        """Make an opaque value the bytes that hold it: only the kernels that work on it see more in them."""
        if isinstance(value.type, (OpaqueType, OpaqueBufferType)):
            value.opaque = self.library.opaque(value.type).name, value.type.params
            value.type = stored_type(value.type, self.library.layout(value.type))

    def _update(self, node: Node) -> None:
        """A kernel that changes a buffer: what the buffer then holds is its last result, in the place of the chain."""
        memory, *given = node.operands
        if not given or not isinstance(memory.type, BufferType) or not isinstance(node.results[-1].type, ChainType):
            raise KernelError(f"{node.name}: mo.update takes a buffer first and a chain last, and gives a chain last")
        *node.operands, last = given
        node.memory, node.after = memory, (last,)
        held = node.results[-1]
        held.type, held.opaque = memory.type.tensor, memory.opaque
        self.stores.setdefault(memory, []).append(node)

    def values(self) -> Iterator[Value]:
        """Every value of the graph, inputs first."""
        yield from self.inputs
        for node in self.nodes:
            yield from node.results

    def release(self) -> None:
        """Let nodes and values go of each other once fusion is done, so that they need not wait for the collector."""
        for value in self.values():
            value.node, value.users = None, []

    def _case(self, node: Node) -> Case:
        """What an overload for the node is chosen by."""
        first = node.operands[0] if node.operands else node.results[0]
        if first.opaque or not isinstance(first.type, TensorType):
            return Case("", 0, self.target)
        return Case(first.type.dtype, len(first.shape), self.target)

    def _classify(self, node: Node) -> None:
        op = node.op
        match op.name:
            case "mo.constant":
                node.attrs = attrs_of(op)
                splat = _splat(node.attrs["value"])
                node.kind, node.literal = ("constant", None) if splat is None else ("literal", splat)
                return
            case "mo.chain":
                node.kind = "chain"
                return
            case "mo.buffer_load":
                node.kind = "load"
                return
            case "mo.buffer_store":
                node.kind = "store"
                self.stores.setdefault(node.operands[0], []).append(node)
                return
        node.attrs = attrs_of(op)
        own = node.custom
        name = node.attrs["kernel"] if own else op.name
        key = (name, len(node.operands), len(node.results), self._case(node))
        if key not in self._known:
            signature = self.library.signature(*key)
            kind, definition = (signature.kind, signature.name) if signature is not None else ("", "")
            method = view_method(self.library, definition) if kind == "view" else ""
            work = work_of(self.library, definition) if kind == "elementwise" else 1
            self._known[key] = (signature, method, work)
        signature, node.view, node.own_work = self._known[key]
        if signature is None:
            raise KernelError(f"{node.name}: {_why_no_entry(self.library, *key)}")
        unknown = set(node.attrs) - {"kernel", *signature.params} if own else None
        if unknown:
            raise KernelError(f"{node.name}: {signature.name} has no parameter {', '.join(sorted(unknown))}")
        node.signature = signature
        node.kind = signature.kind
        if any(isinstance(v.type, ChainType) for v in (*node.operands, *node.results)):
            raise KernelError(f"{node.name}: {name!r} works on a chain, which no kernel can hold")
        if node.kind != "kernel" and any(v.opaque for v in (*node.operands, *node.results)):
            raise KernelError(f"{node.name}: {signature.name} is @{node.kind}; only a @kernel works on opaque values")
        if node.memory is not None and node.kind != "kernel":
            raise KernelError(
                f"{node.name}: {signature.name} is @{node.kind}; only a @kernel changes a buffer in place"
            )
        if len(node.results) != 1 and node.kind != "kernel":
            raise KernelError(f"{node.name}: {name!r} has {len(node.results)} results; only a kernel may have several")
        if node.kind == "view":
            below = node.operands[0].node
            node.literal = None if below is None else below.literal  # a view of one element everywhere holds it too
            node.depth = 1 if below is None else below.depth + 1
            node.step = _step(node) if node.depth % DEEPEST else None


def _why_no_entry(library: Library, name: str, count: int, results: int, case: Case) -> str:
    """What is wrong with a name, or with the number of operands and results it is given."""
    if library.signature(name, count, results) is not None:
        return f"no entry for {name!r} is for {case.dtype} of rank {case.rank} on {case.target}"
    other = library.signature(name, None, results)
    if other is None:
        meant = library.find(name)
        if meant is not None and meant.kind in ("elementwise", "view", "pointwise", "kernel"):
            place = f"{meant.name} at {meant.file}:{meant.line}"
            return f"{place} is registered for no op; @{meant.kind}({name!r}) registers it"
        return f"the kernel library has no entry for {name!r}"
    takes = f"{len(other.inputs)}{' or more' if other.variadic else ''} input{'s' * (len(other.inputs) != 1)}"
    beside = f" beside {results} results" if results > 1 else ""
    return (
        f"{other.name}, the kernel for {name!r}, takes {takes}{beside}; {count} {'is' if count == 1 else 'are'} given"
    )


def _splat(array: np.ndarray) -> Any:
    """The one element that an array repeats, or None."""
    if array.size == 0 or is_large(array):
        return None
    flat = array.reshape(-1)
    first = flat[:1].tobytes()
    if flat.size > 1:
        probe = flat[:_SPLAT_PROBE].tobytes()
        if probe != first * (len(probe) // len(first)):
            return None
        raw = np.ascontiguousarray(flat).view(np.uint8).reshape(flat.size, -1)
        if flat.size > _SPLAT_PROBE and not (raw == raw[0]).all():
            return None
    return flat[0]


def _float_work(node: Node) -> int:
    """The operations of an op on floating-point numbers; those on integers take what was packed apart."""
    if node.own_work == 1 or not node.operands:
        return 1
    kind = node.operands[0].type
    return node.own_work if isinstance(kind, TensorType) and is_float(kind.dtype) else 1


def _private_cost(value: Value) -> int:
    """The cost of a value that would be pulled along when its one reader is computed somewhere; 0 for others."""
    node = value.node
    if node is None or node.kind not in ("elementwise", "pointwise", "view") or len(value.users) != 1:
        return 0
    return node.cost


def literal_of(value: Value) -> Any:
    """The element that every position of a value holds (through any views), or None."""
    return None if value.node is None else value.node.literal


def below_views(value: Value) -> tuple[Value, list[Step]]:
    """The value under a chain of views that can be undone, and their steps, the last one first."""
    chain: list[Step] = []
    while value.node is not None and (step := value.node.step) is not None:
        chain.append(step)
        value = value.node.operands[0]
    return value, chain


def last_axis_below(value: Value) -> int | None:
    """Which axis of a value is the last one of what is under its views; None where that is not one of its axes."""
    below, steps = below_views(value)
    axis = len(below.shape) - 1
    for step in reversed(steps):
        if step.perm is None:
            return None
        axis = step.perm.index(axis)
    return axis if below.node is None or below.node.kind != "view" else None


def views_between(value: Value, base: Value) -> list[Node]:
    """The views from a value down to just above another."""
    found = []
    while value is not base and value.node is not None and value.node.kind == "view":
        found.append(value.node)
        value = value.node.operands[0]
    return found
