"""In which shape a phase of a row kernel walks its rows: cut so finely that whatever it loads lies in order.

A norm over groups of channels, say, reduces rows of `channels * pixels` elements, and then loads one number for each
channel: walked as rows of `channels` by `pixels`, that number is the same for a whole stretch.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.graph.dims import product
from compiler.passes.fusion.analysis import Value, count
from compiler.passes.fusion.collapse import load_pattern
from compiler.passes.fusion.groups import Group
from compiler.passes.fusion.paths import Shape, merge_axes, merged_shape
from compiler.passes.fusion.row_space import Rows


def walk_of(rows: Rows, loads: Iterable[Value], group: Group) -> tuple[Shape, tuple[int, ...]]:
    """The shape that a phase with these loads walks, and the axes of it that make a row."""
    shape = rows.shape
    length = product([rows.shape[axis] for axis in rows.axes])
    if not rows.trailing or not isinstance(length, int) or length < 2:
        return rows.shape, rows.axes
    for value in loads:
        wanted, source = load_pattern(value, group)
        if wanted is None or wanted == rows.shape or count(wanted) != count(rows.shape):
            continue
        if source is not None:
            wanted = merged_shape(wanted, merge_axes(wanted, [source]))
        finer = _common(shape, wanted)
        if finer is None:
            return rows.shape, rows.axes
        shape = finer
    last, own = shape[-1], rows.shape[-1]
    assert isinstance(last, int) and isinstance(own, int)
    if shape == rows.shape or own % last:  # an axis of one element is not cut by leaving it out
        return rows.shape, rows.axes
    inner, axes = 1, []
    for axis in reversed(range(len(shape))):
        if inner == length:
            break
        size = shape[axis]
        assert isinstance(size, int)
        inner *= size
        axes.append(axis)
    return shape, tuple(reversed(axes))


def _common(one: Shape, other: Shape) -> Shape | None:
    """The coarsest shape of as many elements that both can be cut further to; None when there is none.

    Sizes that are not known may stand first, and must be the same in both.
    """
    ends = [_ends(shape) for shape in (one, other)]
    (first, lead), (second, also) = ends
    if lead != also or (lead and first[-1:] != second[-1:]):
        return None
    cuts = sorted({*first, *second})
    sizes: list[int] = []
    before = 1
    for cut in cuts:
        if cut % before:
            return None
        sizes.append(cut // before)
        before = cut
    return (*lead, *reversed(sizes))


def _ends(shape: Shape) -> tuple[list[int], Shape]:
    """How many elements each known axis and those behind it have, from the last on; and the axes before these."""
    found: list[int] = []
    total = 1
    for axis in reversed(range(len(shape))):
        size = shape[axis]
        if not isinstance(size, int) or size == 0:
            return found, shape[: axis + 1]
        total *= size
        if size != 1:
            found.append(total)
    return found, ()
