"""The rows of a row kernel: the shape they are cut from, and the phase that each of its values belongs to."""

from __future__ import annotations

from compiler.graph.dims import Dim
from compiler.passes.fusion.analysis import Node, Value, count, literal_of
from compiler.passes.fusion.paths import IDENTITY, Path, Shape, Step

ROW_ROLE = "row"  # of an op in such a kernel
FEW_ROWS = 16  # as many results as a reduction's own kernel shares among all threads, part by part,
SMALL = 4096  # unless there are no more elements than this


class Rows:
    """What a group knows of its rows: the shape they are cut from, and the phase of every value."""

    __slots__ = ("axes", "full", "kept", "reductions", "row", "shape")

    def __init__(self, core: Node) -> None:
        self.shape: Shape = core.operands[0].shape
        self.axes: tuple[int, ...] = tuple(core.attrs["axes"])
        self.kept: Shape = tuple(s for at, s in enumerate(self.shape) if at not in self.axes)
        self.full: dict[Value, int] = {}
        self.row: dict[Value, int] = {core.result: 0}
        self.reductions: dict[Node, int] = {core: 0}

    @property
    def trailing(self) -> bool:
        """Whether a row is one piece of memory: the last axes, all of them, are reduced."""
        return self.axes == tuple(range(len(self.kept), len(self.shape)))

    def path(self, value: Value) -> Path | None:
        """The path from the rows' shape to that of a full value; None when its rows would be others."""
        if value.shape == self.shape:
            return IDENTITY
        same = self.trailing and count(value.shape) == count(self.shape)
        return (Step(self.shape, value.shape),) if same else None

    def spreads(self, source: Shape, target: Shape) -> bool:
        """Whether broadcasting what has one element a row (in `source`'s shape) gives every element its row's own."""
        padded = (1,) * (len(target) - len(source)) + tuple(source)
        if not self.trailing or target == self.shape:
            return target == self.shape and padded == tuple(
                1 if at in self.axes else size for at, size in enumerate(self.shape)
            )
        rows = count(self.kept)
        return count(target) == count(self.shape) and any(
            count(target[:at]) == rows and padded == (*target[:at], *(1,) * (len(target) - at))
            for at in range(len(target) + 1)
        )


def begins_rows(node: Node) -> bool:
    """Whether a kernel is a reduction that a row kernel may do: the others share the parts of few, long rows."""
    if not node.signature.reduction or len(node.operands) != 1 or node.declares(0) != "fused":
        return False
    axes, shape = node.attrs.get("axes", ()), node.operands[0].shape
    if not axes or 0 in shape or literal_of(node.operands[0]) is not None:  # one number throughout: nothing to keep
        return False
    results, size = node.result.numel, count(shape)
    return not (_at_most(results, FEW_ROWS) and not _at_most(size, SMALL))


def _at_most(size: int | Dim, limit: int) -> bool:
    return isinstance(size, int) and size <= limit
