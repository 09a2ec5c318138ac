"""Rules of ops along axes: reductions, argmax, cumsum, softmax and the norms."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph.infer.rules import FLOATS, NUMBERS, Attrs, Infer, check_axis, check_dtype, check_same, refuse
from compiler.graph.types import TensorType, format_shape


def reduction(op: str, allowed: frozenset[str], has_identity: bool) -> Infer:
    """Drop the axes; a reduction without an identity (max, min) needs something to reduce."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        axes = attrs["axes"]
        check_dtype(op, x.dtype, allowed)
        for axis in axes:
            check_axis(op, axis, x.rank)
            if not has_identity and x.shape[axis] == 0:
                refuse(op, f"axis {axis} of shape {format_shape(x.shape)} is empty")
        if list(axes) != sorted(set(axes)):
            refuse(op, f"axes {format_shape(axes)} must be sorted and distinct")
        return (TensorType.of(x.dtype, tuple(s for at, s in enumerate(x.shape) if at not in axes)),)

    return infer


def arg_reduction(op: str) -> Infer:
    """The index of an extreme along one axis, i64."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, NUMBERS)
        axis = check_axis(op, attrs["axis"], x.rank)
        if x.shape[axis] == 0:
            refuse(op, f"axis {axis} of shape {format_shape(x.shape)} is empty")
        return (TensorType.of("i64", x.shape[:axis] + x.shape[axis + 1 :]),)

    return infer


def along_axis(op: str, allowed: frozenset[str]) -> Infer:
    """An op that keeps the type and works along one axis."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, allowed)
        check_axis(op, attrs["axis"], x.rank)
        return (x,)

    return infer


def norm(op: str) -> Infer:
    """A norm over the last axis: every other operand is a vector of that length."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        x, *vectors = types
        check_dtype(op, x.dtype, FLOATS)
        if not x.rank:
            refuse(op, "the operand needs at least one axis")
        check_same(op, (TensorType.of(x.dtype, x.shape[-1:]), *vectors))
        return (x,)

    return infer
