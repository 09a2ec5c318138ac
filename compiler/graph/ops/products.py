"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph.broadcasting import broadcast_shapes
from compiler.graph.dims import product
from compiler.graph.dtypes import promote
from compiler.graph.location import builder
from compiler.graph.ops.binary import add
from compiler.graph.ops.build import Operand, emit, reshaped, tensors, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.rules import NUMBERS, Attrs, check_dtype, refuse
from compiler.graph.types import TensorType, format_shape
from compiler.graph.value import Value

__all__ = ["linear", "matmul", "outer"]


def _matmul_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """[..., M, K] by [..., K, N], batch axes equal."""
    a, b = types
    if a.dtype != b.dtype:
        refuse("mo.matmul", f"operand dtypes {a.dtype} and {b.dtype} differ")
    check_dtype("mo.matmul", a.dtype, NUMBERS)
    shapes = f"shapes {format_shape(a.shape)} and {format_shape(b.shape)}"
    if a.rank < 2 or a.rank != b.rank or a.shape[:-2] != b.shape[:-2]:
        refuse("mo.matmul", f"{shapes} must be matrices with equal batch axes")
    if a.shape[-1] != b.shape[-2]:
        refuse("mo.matmul", f"{shapes} do not multiply: {a.shape[-1]} columns meet {b.shape[-2]} rows")
    return (TensorType.of(a.dtype, (*a.shape[:-1], b.shape[-1])),)


define("matmul", _matmul_rule, 2, flops=lambda s: 2 * s.elements * s.operands[0][-1])


@builder
def matmul(x1: Operand, x2: Operand) -> Value:
    """The matrix product, batch axes broadcast; a vector is a row on the left and a column on the right.

    >>> ops.matmul(x, ops.constant(np.ones((4, 8), np.float32)))
    <matmul_0: f32 (M, 8)>
    """
    a, b = tensors("matmul", x1, x2)
    shapes = f"shapes {format_shape(a.shape)} and {format_shape(b.shape)}"
    if not a.rank or not b.rank:
        raise GraphError(f"matmul: {shapes}: a scalar is not a matrix; use mul")
    row, column = a.rank == 1, b.rank == 1
    inner = b.shape[0] if column else b.shape[-2]
    if a.shape[-1] != inner:
        raise GraphError(f"matmul: {shapes} do not multiply: {a.shape[-1]} columns meet {inner} rows")
    dtype = promote(a.dtype, b.dtype)
    # A product of bools is an or of ands: counted in integers, then tested.
    counted = "i32" if dtype == "bool" else dtype
    a = to_dtype(reshaped(a, (1, *a.shape)) if row else a, counted)
    b = to_dtype(reshaped(b, (*b.shape, 1)) if column else b, counted)
    result = to_dtype(_product(a, b), dtype)
    shape = result.shape
    if row:
        shape = (*shape[:-2], shape[-1])
    if column:
        shape = shape[:-1]
    return reshaped(result, shape)


def _product(a: Value, b: Value) -> Value:
    if a.rank > 2 and b.rank == 2:  # one large product instead of a batch of small ones
        flat = reshaped(a, (product(a.shape[:-1]), a.shape[-1]))
        return reshaped(emit("matmul", (flat, b)), (*a.shape[:-1], b.shape[-1]))
    batch = broadcast_shapes(a.shape[:-2], b.shape[:-2], op="matmul")
    return emit("matmul", (to_shape(a, (*batch, *a.shape[-2:])), to_shape(b, (*batch, *b.shape[-2:]))))


@builder
def linear(x: Operand, weight: Operand, bias: Operand | None = None) -> Value:
    """x @ weight.T + bias, as torch.nn.functional.linear.

    >>> ops.linear(x, np.ones((8, 4), np.float32), np.zeros(8, np.float32))
    <add_0: f32 (M, 8)>
    """
    value, w = tensors("linear", x, weight)
    if w.rank != 2:
        raise GraphError(f"linear: the weight must have 2 axes, not shape {format_shape(w.shape)}")
    result = matmul(value, emit("transpose", (w,), {"perm": (1, 0)}))
    return result if bias is None else add(result, bias)


@builder
def outer(x1: Operand, x2: Operand) -> Value:
    """Every product of an element of one with an element of the other.

    >>> ops.outer(x[0], x[1])
    <mul_0: f32 (4, 4)>
    """
    from compiler.graph.ops.binary import mul

    a, b = tensors("outer", x1, x2)
    return mul(reshaped(a, (a.size, 1)), reshaped(b, (1, b.size)))
