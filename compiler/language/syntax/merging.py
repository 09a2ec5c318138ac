"""Values that a loop carries or two branches merge: taken apart into run-time parts, and put together again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.graph.dims import Dim
from compiler.language.builder import Builder
from compiler.language.values import arithmetic as math
from compiler.language.values.dtypes import BOOL
from compiler.language.values.records import Position, Simd, describe

PENDING = object()  # the place of a value that a branch will give


class Unmergeable(Exception):
    """Two values that cannot be one, or one that has no run-time form; the text goes on after the variable's name."""


def parts_of(b: Builder, value: Any) -> list[Simd]:
    """The run-time values inside a value; plain whole numbers become index."""
    if isinstance(value, Simd):
        return [value]
    if isinstance(value, bool):
        return [b.constant(BOOL, 1, value)]
    if isinstance(value, (int, Dim)):
        return [math.as_index(b, value)]
    if isinstance(value, (tuple, list)):
        return [part for item in value for part in parts_of(b, item)]
    if isinstance(value, Position):
        return parts_of(b, value.index)
    raise Unmergeable(f"is {describe(value)}")


def rebuilt(value: Any, parts: Iterator[Any]) -> Any:
    """The value with its run-time values replaced, in the order `parts_of` gave them."""
    if isinstance(value, (tuple, list)):
        return type(value)(rebuilt(item, parts) for item in value)
    if isinstance(value, Position):
        return Position(rebuilt(value.index, parts), value.width, value.axis)
    return next(parts)


def fitted(b: Builder, value: Any, like: Any) -> list[Simd]:
    """The run-time parts of a value in the types of `like`, which holds run-time values only."""
    if isinstance(like, Simd):
        return [_fitted_part(b, value, like)]
    if isinstance(like, Position) and isinstance(value, Position):
        if (like.width, like.axis) != (value.width, value.axis):
            raise Unmergeable("changes its width or axis")
        return fitted(b, value.index, like.index)
    if isinstance(like, (tuple, list)) and isinstance(value, (tuple, list)):
        if len(value) != len(like):
            raise Unmergeable(f"changes its length from {len(like)} to {len(value)}")
        return [part for item, other in zip(value, like, strict=True) for part in fitted(b, item, other)]
    raise Unmergeable(f"is {describe(like)} before and {describe(value)} after")


def _fitted_part(b: Builder, value: Any, like: Simd) -> Simd:
    if weak(value, like):
        return math.literal(b, value, like.dtype, like.width)
    if not isinstance(value, Simd) or value.dtype is not like.dtype or value.width not in (1, like.width):
        raise Unmergeable(f"is {describe(like)} before and {describe(value)} after")
    return math.splat(b, value, like.width)


def weak(value: Any, like: Simd) -> bool:
    """Whether a compile-time value can take the type of a run-time one: booleans and numbers stay apart."""
    if isinstance(value, bool) or like.dtype is BOOL:
        return isinstance(value, bool) and like.dtype is BOOL
    if isinstance(value, float):
        return like.dtype.is_float or value.is_integer()
    return isinstance(value, int) or (isinstance(value, Dim) and like.dtype.is_int)


def same(left: Any, right: Any) -> bool:
    """Whether two values are known to be the same, so that nothing has to choose between them."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, Simd):
        return left.ssa is right.ssa and left.dtype is right.dtype
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, Position):
        return (left.width, left.axis) == (right.width, right.axis) and same(left.index, right.index)
    if isinstance(left, float):
        return left.hex() == right.hex()
    return isinstance(left, (int, str, Dim)) and left == right


def paired(b: Builder, left: Any, right: Any, pairs: list[tuple[Simd, Simd]]) -> Any:
    """One value for two: what is the same stays, and each PENDING in it stands for the next of `pairs`."""
    if same(left, right):
        return left
    if isinstance(left, (tuple, list)) and type(left) is type(right) and len(left) == len(right):
        return type(left)(paired(b, x, y, pairs) for x, y in zip(left, right, strict=True))
    if isinstance(left, Position) and isinstance(right, Position):
        alike = (left.width, left.axis, len(left.index)) == (right.width, right.axis, len(right.index))
        if alike:
            return Position(paired(b, left.index, right.index, pairs), left.width, left.axis)
    pairs.append(_pair(b, left, right))
    return PENDING


def completed(value: Any, results: Iterator[Simd]) -> Any:
    """What `paired` gave, with the branch's results in the marked places."""
    if value is PENDING:
        return next(results)
    if isinstance(value, (tuple, list)):
        return type(value)(completed(item, results) for item in value)
    if isinstance(value, Position):
        return Position(completed(value.index, results), value.width, value.axis)
    return value


def _pair(b: Builder, left: Any, right: Any) -> tuple[Simd, Simd]:
    if isinstance(left, Simd) and isinstance(right, Simd):
        if left.dtype is right.dtype and (left.width == right.width or 1 in (left.width, right.width)):
            return left, right
    elif isinstance(left, Simd) and weak(right, left):
        return left, math.literal(b, right, left.dtype, left.width)
    elif isinstance(right, Simd) and weak(left, right):
        return math.literal(b, left, right.dtype, right.width), right
    elif _whole(left) and _whole(right) and isinstance(left, bool) == isinstance(right, bool):
        return parts_of(b, left)[0], parts_of(b, right)[0]
    raise Unmergeable(f"is {describe(left)} on one way to this line and {describe(right)} on the other")


def _whole(value: Any) -> bool:
    return isinstance(value, (int, Dim))
