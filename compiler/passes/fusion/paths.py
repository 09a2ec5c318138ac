"""Paths of invertible views: how a position in a kernel's own index space relates to a value seen through views.

A path is a tuple of steps from the kernel's space to the value's: reshapes and permutations, in a form short enough
that two paths that mean the same compare equal in all common cases. Walking it backwards turns a loadable or a sink of
the value's shape into one of the kernel's shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

from compiler.graph.dims import Dim, product

Shape = tuple[int | Dim, ...]


@dataclass(frozen=True)
class Step:
    """One view: to `after` from `before`, by `perm`, or by a row-major reshape when `perm` is None."""

    before: Shape
    after: Shape
    perm: tuple[int, ...] | None = None

    @cached_property
    def _hash(self) -> int:
        return hash((self.before, self.after, self.perm))

    def __hash__(self) -> int:
        return self._hash


made_step = lru_cache(maxsize=4096)(Step)  # layers repeat: equal steps are one, and its hash is known


Path = tuple[Step, ...]
IDENTITY: Path = ()


def extend(path: Path, step: Step) -> Path:
    """The path followed by one more view; views that undo or repeat each other collapse."""
    if step.perm is not None and step.perm == tuple(range(len(step.perm))):
        return path
    if step.perm is None and step.before == step.after:
        return path
    if path and step.perm is None and path[-1].perm is None:
        return extend(path[:-1], Step(path[-1].before, step.after))
    if path and step.perm is not None and path[-1].perm is not None:
        merged = tuple(path[-1].perm[axis] for axis in step.perm)
        return extend(path[:-1], Step(path[-1].before, step.after, merged))
    return (*path, step)


def followed(path: Path, views: list[Step]) -> Path:
    """The path followed by some views, the last one first."""
    for step in reversed(views):
        path = extend(path, step)
    return path


def is_linear(path: Path) -> bool:
    """Whether row-major order is kept: reshapes only."""
    return all(step.perm is None for step in path)


def stripped(path: Path) -> Path:
    """A path without its closing reshapes: what is left says which element of memory a position is."""
    while path and path[-1].perm is None:
        path = path[:-1]
    return path


def inverse_calls(path: Path, shape_text: Callable[[Shape], str]) -> str:
    """The method calls that bring a loadable or sink of the value's shape back to the kernel's space."""
    text = ""
    for step in reversed(path):
        if step.perm is None:
            text += f".reshape({shape_text(step.before)})"
        else:
            inverse = sorted(range(len(step.perm)), key=step.perm.__getitem__)
            text += f".permute({shape_text(tuple(inverse))})"
    return text


def broadcast_through(source: Shape, target: Shape, back: Shape) -> bool:
    """Whether broadcasting `source` to `target` and reshaping to `back` is broadcasting straight to `back`.

    True when the axes that `source` spans end both shapes alike, so that the reshape only regroups repeated axes.
    """
    spanned = len(source)
    while spanned and source[len(source) - spanned] == 1:
        spanned -= 1
    if spanned == 0:
        return True
    return spanned <= len(back) and target[-spanned:] == back[-spanned:]


def merge_axes(space: Shape, sources: list[Shape]) -> list[list[int]]:
    """Groups of neighbouring axes of `space` that can be walked as one, for loads of these broadcast shapes.

    A source has the space's size or 1 (or nothing, on the left) on each axis; two axes merge when every source treats
    both alike. Axes of size 1 merge with anything.
    """
    rank = len(space)
    repeated = [[at < rank - len(source) or source[at - rank + len(source)] != space[at] for at in range(rank)]
                for source in sources]  # fmt: skip
    groups: list[list[int]] = []
    for axis in range(rank):
        if groups:
            anchor = next((a for a in groups[-1] if space[a] != 1), None)
            if space[axis] == 1 or anchor is None or all(r[anchor] == r[axis] for r in repeated):
                groups[-1].append(axis)
                continue
        groups.append([axis])
    return groups


def merged_shape(space: Shape, groups: list[list[int]]) -> Shape:
    """The space with each group of axes as one; a rank-0 space becomes one axis of size 1."""
    return tuple(product([space[axis] for axis in group]) for group in groups) or (1,)


def merged_source(source: Shape, rank: int, groups: list[list[int]]) -> Shape:
    """A broadcast source's shape under the merged axes; leading repeated axes are dropped."""
    full = (1,) * (rank - len(source)) + tuple(source)
    merged = [product([full[axis] for axis in group]) for group in groups] or [1]
    while len(merged) > 1 and merged[0] == 1:
        merged.pop(0)
    return tuple(merged)
