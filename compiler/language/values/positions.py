"""Positions: made from what stands in brackets, moved through views, and turned into places in memory and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.values import arithmetic as math
from compiler.language.values.arguments import axis_number
from compiler.language.values.dtypes import INDEX
from compiler.language.values.records import Position, Simd, describe
from compiler.language.values.shapes import Shape, row_major


def position_of(rank: int, index: Any, width: int = 1, axis: Any = None) -> Position:
    """A position from what stands in the brackets."""
    if isinstance(index, Position):
        if len(index.index) != rank:
            raise KernelError(f"a position of {len(index.index)} indices for {rank} axes")
        return index
    if not isinstance(index, (tuple, list)):
        index = (index,)
    if len(index) != rank:
        raise KernelError(f"{len(index)} indices for {rank} axes")
    for part in index:
        if isinstance(part, Simd):
            if part.dtype is not INDEX or part.width != 1:
                raise KernelError(f"an index must be one index, not {part.type_name}; convert with index(x)")
        elif isinstance(part, bool) or not isinstance(part, (int, Dim)):
            raise KernelError(f"{describe(part)} is not an index")
    if width > 1 and not rank:
        raise KernelError(f"{width} lanes of a single element; use splat")
    place = rank - 1 if axis is None else axis_number(axis, rank) if rank else 0
    return Position(tuple(index), width, max(place, 0))


def check_inside(b: Builder, shape: Shape, at: Position) -> None:
    """Refuse elements that are known to lie outside, in code that is reached for certain.

    Behind a run-time condition they may be known and never used: at the border of a padded axis of one element, say.
    """
    for axis, (part, size) in enumerate(zip(at.index, shape, strict=True)):
        last = part + at.width - 1 if type(part) is int and axis == at.axis else part
        outside = type(part) is int and type(size) is int and size and not 0 <= part <= last < size
        if outside and not any(scope.barrier for scope in b.scopes):
            which = f"index {part}" if last == part else f"indices {part} to {last}"
            raise KernelError(f"{which} lie{'s' * (last == part)} outside axis {axis}, which has {size} elements")


def permuted(at: Position, perm: tuple[int, ...], inverse: tuple[int, ...]) -> Position:
    """The position behind a view whose axis k is axis perm[k] of what it shows."""
    return Position(tuple(at.index[k] for k in inverse), at.width, perm[at.axis] if perm else 0)


def total(b: Builder, terms: Sequence[Any]) -> Any:
    """A sum of positions with its parts ordered: sizes, then values from the outer loops inwards, then the number."""
    number, size = 0, 0
    moving: list[Simd] = []
    for term in terms:
        if type(term) is Simd:
            moving.append(term)
        elif isinstance(term, Dim):
            size = size + term
        else:
            number += term
    if isinstance(size, Dim):
        moving.append(math.dim_value(b, size))
    else:
        number += size
    if not moving:
        return number
    if len(moving) > 1:
        depths = b.depths
        moving.sort(key=lambda value: depths[id(value.ssa)])
    result: Any = moving[0]
    for term in moving[1:]:
        result = math.binary(b, "+", result, term)
    return math.binary(b, "+", result, number) if number else result


def linearize(b: Builder, index: Sequence[Any], shape: Shape) -> Any:
    """The row-major number of an index."""
    terms = [math.binary(b, "*", i, s) for i, s in zip(index, row_major(shape), strict=True)]
    return total(b, [0, *terms])


def delinearize(b: Builder, position: Any, shape: Shape) -> tuple[Any, ...]:
    """The index of a row-major number."""
    if 0 in shape:  # no element to be found: whoever asks is in code that is never reached
        return (0,) * len(shape)
    strides = row_major(shape)
    index: list[Any] = []
    for axis, size in enumerate(shape):
        if size == 1:
            index.append(0)
            continue
        value = position if strides[axis] == 1 else math.binary(b, "//", position, strides[axis])
        if any(other != 1 for other in shape[:axis]):
            value = math.binary(b, "%", value, size)
        index.append(value)
    return tuple(index)


def shifted(b: Builder, at: Position, lane: Any) -> Position:
    """The position of a single lane."""
    index = list(at.index)
    index[at.axis] = math.binary(b, "+", index[at.axis], lane)
    return Position(tuple(index), 1, at.axis)
