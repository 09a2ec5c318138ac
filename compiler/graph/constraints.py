"""What a graph takes for granted about its symbolic sizes, such as M >= 3 for `x[-3:]`; checked once they are bound."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from compiler.errors import ExecutionError
from compiler.graph.dims import Dim, evaluate, surely_nonnegative
from compiler.graph.graph import Graph
from compiler.graph.types import Size, TensorType
from compiler.graph.value import Op


@dataclass(frozen=True)
class Constraint:
    """`value` must be at least 0, unless `unless_empty` is 0; `message` says who needs it."""

    value: Size
    message: str
    unless_empty: Size = 1

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it holds for these sizes."""
        return evaluate(self.value, sizes) >= 0 or evaluate(self.unless_empty, sizes) == 0


def constraints_of(graph: Graph) -> tuple[Constraint, ...]:
    """Everything that must hold of the symbolic sizes of a graph, each once."""
    found: dict[tuple[Size, Size], Constraint] = {}
    harmless: set[Any] = set()  # types whose sizes cannot be negative: most ops share a few
    for op in graph.ops:
        if op.spec.demands is not None or not _all_harmless(op, harmless):
            for constraint in _of_op(op):
                if not surely_nonnegative(constraint.value):
                    found.setdefault((constraint.value, constraint.unless_empty), constraint)
    return tuple(found.values())


def _all_harmless(op: Op, known: set[Any]) -> bool:
    """Whether no size of the op's results can be negative, whatever the symbols are."""
    for result in op.results:
        kind = result.type
        if kind not in known:
            if isinstance(kind, TensorType) and not all(surely_nonnegative(size) for size in kind.shape):
                return False
            known.add(kind)
    return True


def check_sizes(constraints: Iterable[Constraint], sizes: Mapping[str, int]) -> None:
    """Raise for the first constraint that these sizes break."""
    for constraint in constraints:
        if not constraint.holds(sizes):
            bound = ", ".join(f"{name} = {size}" for name, size in sorted(sizes.items()))
            raise ExecutionError(f"{constraint.message} ({bound})")


def _of_op(op: Op) -> Iterator[Constraint]:
    who = ", ".join(op.nodes)
    for result in op.results:
        if isinstance(result.type, TensorType):
            for size in result.type.shape:
                if isinstance(size, Dim):
                    yield Constraint(size, f"{who}: the size {size} would be negative")
    if op.spec.demands is not None:
        for value, message, unless_empty in op.spec.demands([operand.type for operand in op.operands], op.attrs):
            yield Constraint(value, f"{who}: {message}", unless_empty)
