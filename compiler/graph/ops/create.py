"""Values out of nothing: constants, ranges, and arrays filled with a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.broadcasting import Scalar, common_dtype
from compiler.graph.dims import Dim, ceildiv, floordiv
from compiler.graph.dtypes import dtype_info, from_numpy, numpy_dtype
from compiler.graph.location import builder
from compiler.graph.ops.binary import add, mul
from compiler.graph.ops.build import (
    Operand,
    constant_value,
    find_graph,
    given_array,
    is_scalar,
    scalar_value,
    tensors,
    to_shape,
)
from compiler.graph.ops.specs import define
from compiler.graph.opspec import free
from compiler.graph.rules import NUMBERS, Attrs, check_axis, check_dtype, normalize_axis
from compiler.graph.types import TensorType, as_shape, as_size
from compiler.graph.value import Value

__all__ = [
    "arange", "constant", "full", "full_like", "iota", "ones", "ones_like", "tril", "triu", "zeros", "zeros_like",
]  # fmt: skip


def _iota_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The index along an axis."""
    shape = as_shape(attrs["shape"])
    dtype_info(attrs["dtype"])
    check_dtype("mo.iota", attrs["dtype"], NUMBERS, "result")
    check_axis("mo.iota", attrs["axis"], len(shape))
    return (TensorType.of(attrs["dtype"], shape),)


def _constant_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """The type of the array."""
    value = attrs["value"]
    return (TensorType.of(from_numpy(value.dtype), tuple(value.shape)),)


define("iota", _iota_rule, 0, attrs={"shape": "dims", "axis": "int", "dtype": "dtype"}, flops=free)
define("constant", _constant_rule, 0, attrs={"value": "array"}, flops=free)


@builder
def constant(value: Any, dtype: str | None = None) -> Value:
    """A number or array as a value; without a dtype it has NumPy's.

    >>> ops.constant([1, 2, 3], dtype="f32")
    <constant_0: f32 (3,)>
    """
    graph = find_graph("constant", ())
    if isinstance(value, Value):
        raise GraphError("constant: is already a value; use cast to change its dtype")
    try:
        array = given_array(value) if dtype is None else _converted(value, dtype)
        from_numpy(array.dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise GraphError(f"constant: cannot make an array of {type(value).__name__}: {error}") from None
    return constant_value(graph, array)


def _converted(value: Any, dtype: str) -> np.ndarray:
    dtype_info(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(value, np.ndarray):
            return value.astype(numpy_dtype(dtype))
        return np.array(value, dtype=numpy_dtype(dtype))


@builder
def full(shape: Any, fill_value: Scalar, dtype: str | None = None) -> Value:
    """One number everywhere.

    >>> ops.full(("M", 4), 0.5, "f16")
    <broadcast_to_0: f16 (M, 4)>
    """
    if not is_scalar(fill_value):
        raise GraphError(f"full: fill_value must be a number, not {type(fill_value).__name__}")
    dtype = dtype or common_dtype((), (fill_value,))
    dtype_info(dtype)
    return to_shape(scalar_value("full", find_graph("full", ()), fill_value, dtype), as_shape(shape))


@builder
def zeros(shape: Any, dtype: str = "f64") -> Value:
    """Zeros.

    >>> ops.zeros((2, 3), "f32")
    <broadcast_to_0: f32 (2, 3)>
    """
    return full(shape, 0, dtype)


@builder
def ones(shape: Any, dtype: str = "f64") -> Value:
    """Ones.

    >>> ops.ones((2, 3), "i32")
    <broadcast_to_0: i32 (2, 3)>
    """
    return full(shape, 1, dtype)


@builder
def full_like(x: Operand, fill_value: Scalar, dtype: str | None = None) -> Value:
    """One number in the shape and dtype of x.

    >>> ops.full_like(x, 2)
    <broadcast_to_0: f32 (M, 4)>
    """
    (value,) = tensors("full_like", x)
    if not is_scalar(fill_value):
        raise GraphError(f"full_like: fill_value must be a number, not {type(fill_value).__name__}")
    dtype = dtype_info(value.dtype if dtype is None else dtype).name
    return to_shape(scalar_value("full_like", value.graph, fill_value, dtype), value.shape)


@builder
def zeros_like(x: Operand, dtype: str | None = None) -> Value:
    """Zeros in the shape and dtype of x.

    >>> ops.zeros_like(x)
    <broadcast_to_0: f32 (M, 4)>
    """
    return full_like(x, 0, dtype)


@builder
def ones_like(x: Operand, dtype: str | None = None) -> Value:
    """Ones in the shape and dtype of x.

    >>> ops.ones_like(x)
    <broadcast_to_0: f32 (M, 4)>
    """
    return full_like(x, 1, dtype)


@builder
def iota(shape: Any, axis: int = 0, dtype: str = "i64") -> Value:
    """The index along an axis.

    >>> ops.iota(("M", 4), axis=1)
    <iota_0: i64 (M, 4)>
    """
    sizes = as_shape(shape)
    at = normalize_axis("iota", axis, len(sizes))
    graph = find_graph("iota", ())
    attrs = {"shape": sizes, "axis": at, "dtype": dtype}
    return graph.emit("mo.iota", (), attrs)[0]


@builder
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str | None = None) -> Value:
    """start, start + step, ... up to stop, which may be a dim.

    >>> ops.arange("M")
    <iota_0: i64 (M,)>
    >>> ops.arange(2, 10, 3, dtype="f32")
    <add_0: f32 (3,)>
    """
    if stop is None:
        start, stop = 0, start
    bounds = [as_size(b) if isinstance(b, (str, Dim)) else b for b in (start, stop, step)]
    start, stop, step = (b.item() if isinstance(b, np.generic) else b for b in bounds)
    if isinstance(start, Dim) or isinstance(step, Dim) or not (is_scalar(start) and is_scalar(step)):
        raise GraphError("arange: start and step must be numbers; stop may be a dim")
    if step == 0:
        raise GraphError("arange: step must not be 0")
    if not isinstance(stop, Dim) and not is_scalar(stop):
        raise GraphError(f"arange: stop must be a number or a dim, not {type(stop).__name__}")
    numbers = [v for v in (start, stop, step) if not isinstance(v, Dim)]
    dtype = dtype or common_dtype((), numbers)
    if dtype == "bool":
        dtype = "i64"
    value = iota((_range_length(start, stop, step),), 0, dtype)
    # As NumPy does it: start + i * step, in the result's dtype.
    value = value if step == 1 else mul(value, _number(value, step))
    return value if start == 0 else add(value, _number(value, start))


def _number(like: Value, number: Scalar) -> Value:
    return scalar_value("arange", like.graph, number, like.dtype)


def _range_length(start: Any, stop: Any, step: Any) -> Any:
    if not isinstance(stop, Dim):
        return math.ceil((stop - start) / step) if _countable(start, stop, step) else 0
    if isinstance(step, float) or isinstance(start, float):
        raise GraphError("arange: up to a dim only with whole numbers")
    return ceildiv(stop - start, step) if step > 0 else floordiv(start - stop - step - 1, -step)


def _countable(start: Any, stop: Any, step: Any) -> bool:
    count = (stop - start) / step
    if not np.isfinite(count):
        raise GraphError("arange: start, stop and step must be finite")
    if count > 2**40:
        raise GraphError("arange: too many elements")
    return count > 0


@builder
def tril(x: Operand, k: int = 0) -> Value:
    """The lower triangle of the last two axes, zeros above the k-th diagonal.

    >>> ops.tril(n)
    <where_0: i32 (2, 3)>
    """
    return _triangle("tril", x, k)


@builder
def triu(x: Operand, k: int = 0) -> Value:
    """The upper triangle of the last two axes, zeros below the k-th diagonal.

    >>> ops.triu(n)
    <where_0: i32 (2, 3)>
    """
    return _triangle("triu", x, k)


def _triangle(op: str, x: Operand, k: int) -> Value:
    from compiler.graph.ops.logic import greater_equal, where

    (value,) = tensors(op, x)
    if value.rank < 2:
        raise GraphError(f"{op}: needs at least two axes")
    graph, sizes = value.graph, value.shape[-2:]
    row, column = (graph.emit("mo.iota", (), {"shape": sizes, "axis": axis, "dtype": "i64"})[0] for axis in (0, 1))
    keep = greater_equal(add(row, k), column) if op == "tril" else greater_equal(column, add(row, k))
    return where(keep, value, zeros_like(value))
