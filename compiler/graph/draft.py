"""A graph while it is being built: plain records of what the builders were told, without xDSL.

Whoever asks for the IR has the ops made from these records, once. A graph that the model cache knows is never asked,
so that a start from the cache does without importing xDSL, which takes longer than all of the rest of such a start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.dtypes import from_numpy
from compiler.graph.opspec import SPECS
from compiler.graph.types import Type

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from compiler.dialects.mo.ops import GraphOp


class DraftValue:
    """A value of a draft: an input (`owner` is None) or result number `index` of an op."""

    __slots__ = ("_name", "index", "owner", "ssa", "type")

    def __init__(self, type: Type, owner: DraftOp | None, index: int, name: str = "") -> None:
        self.type = type
        self.owner = owner
        self.index = index
        self.ssa: SSAValue | None = None  # what it became in the graph's own IR, once that was asked for
        self._name = name

    @property
    def node(self) -> str:
        """The node that makes it, or the name of the input."""
        return self._name if self.owner is None else self.owner.node

    @property
    def name_hint(self) -> str:
        """Its name in the IR."""
        return f"{self.node}.{self.index}" if self.owner is not None and self.index else self.node

    def rename(self, name: str) -> None:
        """Call the node that makes it so."""
        if self.owner is None:
            self._name = name
        else:
            self.owner.node = name


class DraftOp:
    """An op of a draft: its operands, its attributes as plain values, its results, the name of its node."""

    __slots__ = ("attrs", "name", "node", "operands", "results")

    def __init__(
        self, name: str, operands: Sequence[DraftValue], types: Sequence[Type], attrs: Mapping[str, Any], node: str
    ) -> None:
        self.name = name
        self.operands = tuple(operands)
        self.attrs = attrs
        self.node = node
        self.results = tuple([DraftValue(type, self, index) for index, type in enumerate(types)])

    def check(self) -> None:
        """Check it against its spec, as `check_op` does for an op of the IR."""
        spec = SPECS[self.name]
        missing = {name: None for name in spec.attrs if name not in self.attrs}
        types = spec.check([operand.type for operand in self.operands], {**self.attrs, **missing})
        declared = tuple([result.type for result in self.results])
        if types is not None and tuple(types) != declared:
            said, wanted = (", ".join(map(str, t)) for t in (declared, types))
            raise GraphError(f"{self.name}: result type must be {wanted}, not {said}")


class Draft:
    """A graph's inputs and ops in order, and its outputs once it has them."""

    def __init__(self, name: str, types: Sequence[Type], names: Sequence[str]) -> None:
        self.name = name
        self.inputs = tuple(DraftValue(t, None, index, n) for index, (t, n) in enumerate(zip(types, names)))
        self.ops: list[DraftOp] = []
        self.outputs: tuple[DraftValue, ...] | None = None

    def write(self) -> tuple[GraphOp, dict[DraftValue, SSAValue]]:
        """A new op of the mo dialect that holds all of it, and what each value became."""
        from compiler.dialects.mo.ops import OutputOp, make, make_graph
        from compiler.dialects.operations import append

        graph = make_graph(self.name, [v.type for v in self.inputs], [v.node for v in self.inputs])
        made: dict[DraftValue, SSAValue] = dict(zip(self.inputs, graph.body.args))
        body = graph.body
        for op in self.ops:
            types = tuple([result.type for result in op.results])
            one = make(op.name, tuple([made[operand] for operand in op.operands]), types, op.attrs, (op.node,))
            made.update(zip(op.results, one.results))
            append(body, one)
        if self.outputs is not None:
            append(body, OutputOp.create(operands=[made[value] for value in self.outputs]))
        return graph, made


def plain_attrs(attrs: Mapping[str, Any] | None) -> dict[str, Any]:
    """An op's attributes as what an attribute of the IR can hold; None stands for one that is absent."""
    return {name: plain(value) for name, value in attrs.items() if value is not None} if attrs else {}


def plain(value: Any) -> Any:
    """A value as an op keeps it: a number, string, dim, array that nobody writes, or a tuple of these."""
    kind = type(value)
    if kind is tuple:
        return _plain_tuple(value)
    if kind is bool or kind is str or kind is float or isinstance(value, Dim):
        return value
    if kind is int:
        if not -(2**63) <= value < 2**63:
            raise GraphError(f"the number {value} does not fit in 64 bits")
        return value
    if isinstance(value, np.ndarray):
        return frozen_array(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list):
        return _plain_tuple(tuple(value))
    if isinstance(value, (bool, int, float, str)):  # subclasses: enums and the like
        base = next(t for t in (bool, int, float, str) if isinstance(value, t))
        return plain(base(value))
    if hasattr(value, "print_parameters") or hasattr(value, "print_parameter"):  # an attribute of the IR, as it is
        return value
    raise GraphError(f"a parameter may be a number, string, dim, array or a tuple of these, not {type(value).__name__}")


def _plain_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if are_sizes(value):
        return tuple([item if isinstance(item, Dim) else item.__index__() for item in value])
    return tuple([plain(item) for item in value])


def are_sizes(items: Sequence[Any]) -> bool:
    """Whether a tuple is kept as one of sizes: whole numbers and dims only."""
    for item in items:
        if isinstance(item, (bool, np.bool_)) or not (isinstance(item, (Dim, int)) or hasattr(item, "__index__")):
            return False
    return True


def frozen_array(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that somebody may still write to: a constant never changes under the compiler."""
    from_numpy(array.dtype)
    if array.flags.writeable or not array.flags.c_contiguous or array.base is not None:
        array = np.array(array, order="C", copy=True)
        array.flags.writeable = False
    return array
