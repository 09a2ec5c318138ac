"""Views: the same elements in another shape or order of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.errors import GraphError
from compiler.graph.broadcasting import check_broadcasts_to
from compiler.graph.dims import floordiv, product
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, emit, reshaped, tensors, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import free
from compiler.graph.rules import Attrs, normalize_axes, normalize_axis, refuse, sequence
from compiler.graph.types import Shape, TensorType, as_shape, as_size, format_shape
from compiler.graph.value import Value

__all__ = [
    "broadcast_to", "expand_dims", "flatten", "moveaxis", "permute", "ravel", "reshape", "squeeze", "swapaxes",
    "transpose", "unsqueeze",
]  # fmt: skip


def _reshape_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Row-major order kept, number of elements equal (for symbols: provably equal)."""
    (x,) = types
    shape = as_shape(attrs["shape"])
    if product(x.shape) != product(shape):
        refuse("mo.reshape", f"shape {format_shape(x.shape)} does not have as many elements as {format_shape(shape)}")
    return (TensorType.of(x.dtype, shape),)


def _transpose_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """Axes permuted: result axis i is operand axis perm[i]."""
    (x,) = types
    perm = attrs["perm"]
    if sorted(perm) != list(range(x.rank)):
        refuse("mo.transpose", f"{format_shape(perm)} is not a permutation of the axes of {format_shape(x.shape)}")
    return (TensorType.of(x.dtype, tuple(x.shape[p] for p in perm)),)


def _broadcast_to_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """NumPy's broadcasting to a given shape."""
    (x,) = types
    shape = as_shape(attrs["shape"])
    check_broadcasts_to(x.shape, shape, "mo.broadcast_to")
    return (TensorType.of(x.dtype, shape),)


define("reshape", _reshape_rule, attrs={"shape": "dims"}, flops=free, view=True)
define("transpose", _transpose_rule, attrs={"perm": "ints"}, flops=free, view=True)
define("broadcast_to", _broadcast_to_rule, attrs={"shape": "dims"}, flops=free, view=True, repeats=True)


def _wanted_shape(value: Value, shape: Any) -> Shape:
    """A shape in which one -1 stands for whatever is left."""
    sizes = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    holes = [at for at, s in enumerate(sizes) if isinstance(s, int) and s == -1]
    given = [1 if at in holes else as_size(s) for at, s in enumerate(sizes)]
    if not holes:
        return tuple(given)
    known = product(given)
    if len(holes) > 1 or known == 0:
        raise GraphError(f"reshape: cannot tell what -1 is in {format_shape(sizes)}")
    given[holes[0]] = floordiv(value.size, known)
    if product(given) != value.size:
        said = f"shape {format_shape(value.shape)} does not divide into {format_shape(sizes)}"
        raise GraphError(f"reshape: {said}" + (" for every size" if value.type.symbols else ""))  # type: ignore[union-attr]
    return tuple(given)


@builder
def reshape(x: Operand, shape: Any) -> Value:
    """The same elements in row-major order under another shape; one size may be -1.

    >>> ops.reshape(x, (-1, 2))
    <reshape_0: f32 (2*M, 2)>
    """
    (value,) = tensors("reshape", x)
    return reshaped(value, _wanted_shape(value, shape))


@builder
def transpose(x: Operand, axes: Any = None) -> Value:
    """The axes permuted, reversed when none are given.

    >>> ops.transpose(x)
    <transpose_0: f32 (4, M)>
    """
    (value,) = tensors("transpose", x)
    if axes is None:
        perm = tuple(range(value.rank))[::-1]
    else:
        perm = tuple(normalize_axis("transpose", a, value.rank) for a in sequence("transpose", "axes", axes))
        if sorted(perm) != list(range(value.rank)):
            raise GraphError(f"transpose: {format_shape(tuple(axes))} does not name each axis of {value!r} once")
    return value if perm == tuple(range(value.rank)) else emit("transpose", (value,), {"perm": perm})


@builder
def permute(x: Operand, dims: Any) -> Value:
    """The axes in the given order.

    >>> ops.permute(x, (1, 0))
    <transpose_0: f32 (4, M)>
    """
    return transpose(x, sequence("permute", "dims", dims))


@builder
def swapaxes(x: Operand, axis1: int, axis2: int) -> Value:
    """Two axes exchanged.

    >>> ops.swapaxes(x, 0, 1)
    <transpose_0: f32 (4, M)>
    """
    (value,) = tensors("swapaxes", x)
    order = list(range(value.rank))
    a, b = (normalize_axis("swapaxes", axis, value.rank) for axis in (axis1, axis2))
    order[a], order[b] = order[b], order[a]
    return transpose(value, order)


@builder
def moveaxis(x: Operand, source: Any, destination: Any) -> Value:
    """Axes moved to other places, the rest in order.

    >>> ops.moveaxis(x, 0, -1)
    <transpose_0: f32 (4, M)>
    """
    (value,) = tensors("moveaxis", x)
    pairs = [s if isinstance(s, (tuple, list)) else (s,) for s in (source, destination)]
    froms, tos = ([normalize_axis("moveaxis", a, value.rank) for a in p] for p in pairs)
    if len(froms) != len(tos) or len(set(froms)) != len(froms) or len(set(tos)) != len(tos):
        raise GraphError(f"moveaxis: {source} and {destination} do not pair up")
    order = [a for a in range(value.rank) if a not in froms]
    for to, axis in sorted(zip(tos, froms, strict=True)):
        order.insert(to, axis)
    return transpose(value, order)


@builder
def broadcast_to(x: Operand, shape: Any) -> Value:
    """Broadcast to a shape.

    >>> ops.broadcast_to(x[0], ("M", 4))
    <broadcast_to_0: f32 (M, 4)>
    """
    (value,) = tensors("broadcast_to", x)
    return to_shape(value, as_shape(shape))


@builder
def squeeze(x: Operand, axis: Any = None) -> Value:
    """Axes of size 1 dropped: all of them, or those given.

    >>> ops.squeeze(x[None], axis=0)
    <reshape_1: f32 (M, 4)>
    """
    (value,) = tensors("squeeze", x)
    ones = tuple(at for at, size in enumerate(value.shape) if size == 1)
    axes = ones if axis is None else normalize_axes("squeeze", axis, value.rank)
    for at in axes:
        if at not in ones:
            raise GraphError(f"squeeze: axis {at} of shape {format_shape(value.shape)} is not 1")
    return reshaped(value, tuple(s for at, s in enumerate(value.shape) if at not in axes))


@builder
def expand_dims(x: Operand, axis: Any) -> Value:
    """Axes of size 1 put in; `axis` counts in the result.

    >>> ops.expand_dims(x, 0)
    <reshape_0: f32 (1, M, 4)>
    """
    (value,) = tensors("expand_dims", x)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    axes = normalize_axes("expand_dims", axis, value.rank + count)
    sizes = iter(value.shape)
    return reshaped(value, tuple(1 if at in axes else next(sizes) for at in range(value.rank + count)))


@builder
def unsqueeze(x: Operand, dim: int) -> Value:
    """An axis of size 1 put in.

    >>> ops.unsqueeze(x, -1)
    <reshape_0: f32 (M, 4, 1)>
    """
    return expand_dims(x, dim)


@builder
def flatten(x: Operand, start_dim: int = 0, end_dim: int = -1) -> Value:
    """Some neighbouring axes made one, as torch.flatten.

    >>> ops.flatten(x)
    <reshape_0: f32 (4*M,)>
    """
    (value,) = tensors("flatten", x)
    if not value.rank:
        return reshaped(value, (1,))
    first, last = (normalize_axis("flatten", d, value.rank) for d in (start_dim, end_dim))
    if first > last:
        raise GraphError(f"flatten: start_dim {start_dim} is after end_dim {end_dim}")
    shape = value.shape
    return reshaped(value, (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :]))


@builder
def ravel(x: Operand) -> Value:
    """All elements along one axis.

    >>> ops.ravel(n)
    <reshape_0: i32 (6,)>
    """
    (value,) = tensors("ravel", x)
    return reshaped(value, (value.size,))
