"""The ops of the mo dialect: one class per OpSpec, plus mo.graph and mo.output, and the fast way to make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, OpTraits, Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from compiler.dialects import operations
from compiler.dialects.mo.attributes import decode, encode
from compiler.dialects.mo.forms import parse_graph_op, parse_op, parse_output, print_graph_op, print_op, print_output
from compiler.errors import GraphError
from compiler.graph.ops.specs import SPECS
from compiler.graph.opspec import OpSpec

UNKNOWN = UnknownLoc()
_NONE = NoneAttr()


@lru_cache(maxsize=65536)
def name_loc(name: str) -> NameLoc:
    """The location that says: this came from the graph node `name`."""
    return NameLoc(StringAttr(name), _NONE)


@lru_cache(maxsize=16384)
def nodes_loc(nodes: tuple[str, ...]) -> LocationAttr:
    """The location that says: this came from these graph nodes."""
    if not nodes:
        return UNKNOWN
    if len(nodes) == 1:
        return name_loc(nodes[0])
    return FusedLoc(ArrayAttr([name_loc(n) for n in nodes]), _NONE)


def nodes_of(op: Operation) -> tuple[str, ...]:
    """The graph nodes an op came from, first one first."""
    location = op.location
    if isinstance(location, NameLoc):
        return (location.desc.data,)
    if isinstance(location, FusedLoc):
        return _fused_nodes(location)
    return ()


@lru_cache(maxsize=16384)
def _fused_nodes(location: FusedLoc) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for inner in location.locations.data:  # type: ignore[attr-defined]
        for name in (inner.desc.data,) if isinstance(inner, NameLoc) else _inner_nodes(inner):
            found[name] = None
    return tuple(found)


def _inner_nodes(location: Attribute) -> tuple[str, ...]:
    return _fused_nodes(location) if isinstance(location, FusedLoc) else ()


def set_name(value: SSAValue, name: str | None) -> None:
    """Name a value exactly so: xDSL's own setter would cut `_3` off `add_3`."""
    value._name = name  # type: ignore[reportPrivateUsage]


RECOGNISED = "recognised"
"""The attribute of an op that stands for a pattern of others: what was recognised."""


class MoOp(Operation):
    """Base of the ops that an OpSpec describes; attributes live in `properties`, provenance in `location`."""

    spec: ClassVar[OpSpec]

    @property
    def all_attrs(self) -> dict[str, Any]:
        """Its attributes as plain values, as an op of a graph has them."""
        return attrs_of(self)

    def verify_(self) -> None:
        check_op(self)

    def print(self, printer: Printer) -> None:
        print_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> MoOp:
        return parse_op(cls, parser)

    def clone_without_regions(self, *args: Any, **kwargs: Any) -> Any:
        """A clone keeps the full names of results."""
        cloned = super().clone_without_regions(*args, **kwargs)
        if kwargs.get("clone_name_hints", True):
            for old, new in zip(self.results, cloned.results, strict=True):
                set_name(new, old._name)  # type: ignore[reportPrivateUsage]
        return cloned


class HandingOver(Operation):
    """`name %a, %b : T, T`: the last op of a block, which hands values to what is around it."""

    traits = OpTraits(lambda: (IsTerminator(),))

    def print(self, printer: Printer) -> None:
        print_output(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return parse_output(cls, parser)


class OutputOp(HandingOver):
    """`mo.output %a, %b : T, T`: what the graph gives back; the last op of a graph."""

    name = "mo.output"


class GraphOp(Operation):
    """`mo.graph @name(%x: T, ...) -> (T) { ... }`: a graph; its single block's arguments are the inputs."""

    name = "mo.graph"
    traits = OpTraits(lambda: (IsolatedFromAbove(), NoTerminator()))

    @property
    def sym_name(self) -> str:
        """The graph's name."""
        return self.properties["sym_name"].data  # type: ignore[attr-defined]

    @property
    def body(self) -> Block:
        """The block that holds the ops."""
        return self.regions[0].blocks[0]

    @property
    def output(self) -> OutputOp | None:
        """The terminator, once the graph has one."""
        last = self.body.last_op
        return last if isinstance(last, OutputOp) else None

    def verify_(self) -> None:
        if len(self.regions) != 1 or len(self.regions[0].blocks) != 1:
            raise VerifyException("mo.graph: has exactly one block")
        if not isinstance(self.properties.get("sym_name"), StringAttr):
            raise VerifyException("mo.graph: needs a name")
        for op in self.body.ops:
            if isinstance(op, OutputOp) and op.next_op is not None:
                raise VerifyException("mo.graph: mo.output must come last")

    def print(self, printer: Printer) -> None:
        print_graph_op(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> GraphOp:
        return parse_graph_op(cls, parser)

    def clone(self, *args: Any, **kwargs: Any) -> Any:
        """A clone keeps the full names of inputs."""
        cloned = super().clone(*args, **kwargs)
        if kwargs.get("clone_name_hints", True):
            for old, new in zip(self.body.args, cloned.body.args, strict=True):
                set_name(new, old._name)  # type: ignore[reportPrivateUsage]
        return cloned


def _make_class(spec: OpSpec) -> type[MoOp]:
    words = spec.short.split("_")
    traits = OpTraits(tuple) if spec.effects else OpTraits(lambda: (Pure(),))
    members = {"name": spec.name, "spec": spec, "traits": traits, "__doc__": f"`{spec.name}`", "__module__": __name__}
    return type("".join(map(str.capitalize, words)) + "Op", (MoOp,), members)


OPS: dict[str, type[MoOp]] = {name: _make_class(spec) for name, spec in SPECS.items()}


def make(
    op_name: str,
    operands: Sequence[SSAValue],
    result_types: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    nodes: Sequence[str] = (),
) -> MoOp:
    """A new detached op, fast: plain Python attrs; `nodes` is its provenance and the first one names the result."""
    op: Any = operations.make(
        OPS[op_name],
        operands if type(operands) is tuple else tuple(operands),
        result_types if type(result_types) is tuple else tuple(result_types),
        {k: encode(v) for k, v in attrs.items() if v is not None} if attrs else None,
        nodes_loc(nodes if type(nodes) is tuple else tuple(nodes)),
    )
    if nodes:
        name_results(op, nodes[0])
    return op


def name_results(op: Operation, name: str) -> None:
    """Name the first result `name` and the others `name.1`, `name.2`."""
    for index, result in enumerate(op.results):
        set_name(result, f"{name}.{index}" if index else name)


def attrs_of(op: Operation) -> dict[str, Any]:
    """An op's attributes as plain Python values; an optional one that is absent is None."""
    found = {name: decode(value) for name, value in op.properties.items()}
    spec = SPECS.get(op.name)
    return found if spec is None else spec.completed(found)


def check_op(op: MoOp) -> None:
    """Check an op against its spec; what is wrong is a VerifyException that names the op and the rule."""
    try:
        wrong = op.spec.disagreement([o.type for o in op._operands], attrs_of(op), op.result_types)  # type: ignore[reportPrivateUsage]
    except GraphError as error:
        raise VerifyException(error.message) from error
    if wrong:
        raise VerifyException(wrong)


def make_graph(name: str, input_types: Sequence[Any], input_names: Iterable[str]) -> GraphOp:
    """An empty graph op with named inputs."""
    block = Block(arg_types=input_types)
    for argument, hint in zip(block.args, input_names, strict=True):
        set_name(argument, hint)
        argument.location = name_loc(hint)
    return GraphOp.create(properties={"sym_name": StringAttr(name)}, regions=[Region(block)])


def graph_of(module: ModuleOp) -> GraphOp:
    """The single graph of a module."""
    graphs = [op for op in module.body.block.ops if isinstance(op, GraphOp)]
    if len(graphs) != 1:
        raise GraphError(f"the module must hold one mo.graph, not {len(graphs)}")
    return graphs[0]
