"""Reductions along axes, with NumPy's `axis` and `keepdims`, and running sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.dtypes import dtype_info, float_result
from compiler.graph.location import builder
from compiler.graph.ops.binary import div, mul, sub
from compiler.graph.ops.build import Operand, described, emit, reshaped, tensors, to_dtype
from compiler.graph.ops.specs import define
from compiler.graph.ops.unary import sqrt
from compiler.graph.opspec import Demand, Demands, not_empty, per_element, per_input
from compiler.graph.rules import (
    FLOATS,
    NUMBERS,
    Attrs,
    Infer,
    check_axis,
    check_dtype,
    normalize_axes,
    normalize_axis,
    refuse,
)
from compiler.graph.types import TensorType, format_shape
from compiler.graph.value import Value

__all__ = [
    "all", "amax", "amin", "any", "argmax", "argmin", "cumsum", "log_softmax", "max", "mean", "min", "prod",
    "softmax", "std", "sum", "var",
]  # fmt: skip


def _reduction(op: str, allowed: frozenset[str], has_identity: bool) -> Infer:
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


def _arg_reduction(op: str) -> Infer:
    """The index of an extreme along one axis, i64."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, NUMBERS)
        axis = check_axis(op, attrs["axis"], x.rank)
        if x.shape[axis] == 0:
            refuse(op, f"axis {axis} of shape {format_shape(x.shape)} is empty")
        return (TensorType.of("i64", x.shape[:axis] + x.shape[axis + 1 :]),)

    return infer


def _along_axis(op: str, allowed: frozenset[str]) -> Infer:
    """An op that keeps the type and works along one axis."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        (x,) = types
        check_dtype(op, x.dtype, allowed)
        check_axis(op, attrs["axis"], x.rank)
        return (x,)

    return infer


def _something_along(attr: str) -> Demands:
    """There must be something to choose from along the axes that an attribute names."""

    def demands(types: Sequence[TensorType], attrs: Attrs) -> Iterator[Demand]:
        axes = attrs[attr]
        for axis in axes if isinstance(axes, tuple) else (axes,):
            yield from not_empty(types[0].shape, axis)

    return demands


for _short, _allowed, _has_identity in (("sum", NUMBERS, True), ("mean", FLOATS, True), ("prod", NUMBERS, True),
                                        ("max", NUMBERS, False), ("min", NUMBERS, False)):  # fmt: skip
    define(
        f"reduce_{_short}", _reduction(f"mo.reduce_{_short}", _allowed, _has_identity), attrs={"axes": "ints"},
        flops=per_input, demands=None if _has_identity else _something_along("axes"),
    )  # fmt: skip
for _short in ("argmax", "argmin"):
    define(
        _short, _arg_reduction(f"mo.{_short}"), attrs={"axis": "int"}, flops=per_input, demands=_something_along("axis")
    )
define("cumsum", _along_axis("mo.cumsum", NUMBERS), attrs={"axis": "int"})
define("softmax", _along_axis("mo.softmax", FLOATS), attrs={"axis": "int"}, flops=per_element(5))
define("log_softmax", _along_axis("mo.log_softmax", FLOATS), attrs={"axis": "int"}, flops=per_element(6))


Axis = int | tuple[int, ...] | None


def _reduce(op: str, value: Value, axis: Any, keepdims: bool) -> Value:
    axes = normalize_axes(op, axis, value.rank)
    kept = tuple(1 if at in axes else size for at, size in enumerate(value.shape))
    result = emit(f"reduce_{op}", (value,), {"axes": axes}) if axes else value
    return reshaped(result, kept) if keepdims else result


def _summed(op: str, x: Operand, dtype: str | None) -> Value:
    """The operand in the dtype sums are taken in: integers and bool in i64 unless told."""
    (value,) = tensors(op, x)
    if dtype is None:
        dtype = value.dtype if dtype_info(value.dtype).kind == "f" else "i64"
    return to_dtype(value, dtype)


@builder
def sum(x: Operand, axis: Axis = None, dtype: str | None = None, keepdims: bool = False) -> Value:
    """The sum; integers and bool are summed in i64.

    >>> ops.sum(x, axis=1)
    <reduce_sum_0: f32 (M,)>
    """
    return _reduce("sum", _summed("sum", x, dtype), axis, keepdims)


@builder
def prod(x: Operand, axis: Axis = None, dtype: str | None = None, keepdims: bool = False) -> Value:
    """The product; integers and bool are multiplied in i64.

    >>> ops.prod(x, axis=-1)
    <reduce_prod_0: f32 (M,)>
    """
    return _reduce("prod", _summed("prod", x, dtype), axis, keepdims)


@builder
def mean(x: Operand, axis: Axis = None, dtype: str | None = None, keepdims: bool = False) -> Value:
    """The mean; of integers and bool in f64.

    >>> ops.mean(x, axis=0, keepdims=True)
    <reshape_0: f32 (1, 4)>
    """
    (value,) = tensors("mean", x)
    if dtype is None:
        dtype = value.dtype if dtype_info(value.dtype).kind == "f" else "f64"
    elif dtype_info(dtype).kind != "f":
        raise GraphError(f"mean: dtype must be a float dtype, not {dtype}")
    return _reduce("mean", to_dtype(value, dtype), axis, keepdims)


def _extreme(op: str, x: Operand, axis: Axis, keepdims: bool) -> Value:
    (value,) = tensors(op, x)
    if value.dtype != "bool":
        return _reduce(op, value, axis, keepdims)
    return to_dtype(_reduce(op, to_dtype(value, "u8"), axis, keepdims), "bool")


def _truth(op: str, x: Operand, axis: Axis, keepdims: bool) -> Value:
    return _extreme("max" if op == "any" else "min", to_dtype(tensors(op, x)[0], "bool"), axis, keepdims)


class _OverAxes(Protocol):
    def __call__(self, x: Operand, axis: Axis = None, keepdims: bool = False) -> Value: ...


def _over_axes(
    build: Callable[[str, Operand, Axis, bool], Value], op: str, says: str, given: str, result: str
) -> _OverAxes:
    """As `one_operand`, for an op that reduces axes."""

    def function(x: Operand, axis: Axis = None, keepdims: bool = False) -> Value:
        return build(op, x, axis, keepdims)

    return builder(described(function, build, op, says, given, result))


max = _over_axes(_extreme, "max", "The largest; NaN wins.", "x, axis=1", "reduce_max_0: f32 (M,)")
min = _over_axes(_extreme, "min", "The smallest; NaN wins.", "x, axis=1", "reduce_min_0: f32 (M,)")
any = _over_axes(_truth, "any", "Whether any element is true (not zero).", "flags, axis=1", "cast_1: bool (M,)")
all = _over_axes(_truth, "all", "Whether all elements are true (not zero).", "flags, axis=1", "cast_1: bool (M,)")


def _arg(op: str, x: Operand, axis: int | None, keepdims: bool) -> Value:
    (value,) = tensors(op, x)
    flat = reshaped(value, (value.size,)) if axis is None else value
    if flat.dtype == "bool":
        flat = to_dtype(flat, "u8")
    at = normalize_axis(op, 0 if axis is None else axis, flat.rank)
    result = emit(op, (flat,), {"axis": at})
    if not keepdims:
        return result
    return reshaped(result, tuple(1 if axis is None or i == at else s for i, s in enumerate(value.shape)))


@builder
def argmax(x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
    """The index of the first largest along an axis (of the flat array when None), i64.

    >>> ops.argmax(x, axis=-1)
    <argmax_0: i64 (M,)>
    """
    return _arg("argmax", x, axis, keepdims)


@builder
def argmin(x: Operand, axis: int | None = None, keepdims: bool = False) -> Value:
    """The index of the first smallest along an axis (of the flat array when None), i64.

    >>> ops.argmin(x, axis=-1)
    <argmin_0: i64 (M,)>
    """
    return _arg("argmin", x, axis, keepdims)


@builder
def cumsum(x: Operand, axis: int | None = None, dtype: str | None = None) -> Value:
    """The running sum along an axis (of the flat array when None).

    >>> ops.cumsum(n, axis=1)
    <cumsum_0: i64 (2, 3)>
    """
    value = _summed("cumsum", x, dtype)
    if axis is None or value.rank == 0:
        value, axis = reshaped(value, (value.size,)), 0 if axis is None else axis
    return emit("cumsum", (value,), {"axis": normalize_axis("cumsum", axis, value.rank)})


@builder
def var(x: Operand, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """The variance.

    >>> ops.var(x, axis=1)
    <reduce_mean_1: f32 (M,)>
    """
    (value,) = tensors("var", x)
    value = to_dtype(value, value.dtype if dtype_info(value.dtype).kind == "f" else "f64")
    away = sub(value, _reduce("mean", value, axis, True))
    if ddof == 0:
        return _reduce("mean", mul(away, away), axis, keepdims)
    count: Any = 1
    for at in normalize_axes("var", axis, value.rank):
        if isinstance(value.shape[at], Dim):
            raise GraphError(f"var: ddof={ddof} over the symbolic axis {at} of {value!r}")
        count *= value.shape[at]
    return div(_reduce("sum", mul(away, away), axis, keepdims), float(count - ddof))


@builder
def std(x: Operand, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Value:
    """The standard deviation.

    >>> ops.std(x, axis=1)
    <sqrt_0: f32 (M,)>
    """
    return sqrt(var(x, axis, ddof, keepdims))


def _along(op: str, x: Operand, axis: int, dim: int | None) -> Value:
    (value,) = tensors(op, x)
    value = to_dtype(value, float_result(value.dtype))
    return emit(op, (value,), {"axis": normalize_axis(op, axis if dim is None else dim, value.rank)})


@builder
def softmax(x: Operand, axis: int = -1, *, dim: int | None = None) -> Value:
    """exp(x) over its sum along an axis (`dim` is another name for it).

    >>> ops.softmax(x, axis=-1)
    <softmax_0: f32 (M, 4)>
    """
    return _along("softmax", x, axis, dim)


@builder
def log_softmax(x: Operand, axis: int = -1, *, dim: int | None = None) -> Value:
    """The logarithm of softmax.

    >>> ops.log_softmax(x, axis=-1)
    <log_softmax_0: f32 (M, 4)>
    """
    return _along("log_softmax", x, axis, dim)


amax = max
amin = min
