"""What transformers are made of: rotary embedding and attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph.broadcasting import broadcast_shapes, common_dtype
from compiler.graph.dims import floordiv
from compiler.graph.dtypes import float_result
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, emit, find_graph, tensors, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import Shapes, per_element
from compiler.graph.rules import FLOATS, Attrs, check_dtype, check_same, refuse
from compiler.graph.types import TensorType, format_shape
from compiler.graph.value import Value

__all__ = ["rope", "scaled_dot_product_attention"]

MOST_HEAD = 8192
"""Elements of a head: kernels keep a block of rows of each operand on their stack."""


def _rope_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """x[..., S, D] with cos and sin of shape [S, D/2]."""
    x, cos, sin = types
    check_dtype("mo.rope", x.dtype, FLOATS)
    if x.rank < 2:
        refuse("mo.rope", f"the input needs at least two axes, not shape {format_shape(x.shape)}")
    if x.shape[-1] % 2 != 0:
        refuse("mo.rope", f"the last axis of shape {format_shape(x.shape)} must be even")
    check_same("mo.rope", (TensorType.of(x.dtype, (x.shape[-2], floordiv(x.shape[-1], 2))), cos, sin))
    return (x,)


def _attention_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """q[..., L, E], k[..., S, E], v[..., S, V] and a mask [..., L, S]; with GQA axis -3 of q is a multiple of k's."""
    op, (q, k, v, *mask) = "mo.scaled_dot_product_attention", types
    check_dtype(op, q.dtype, FLOATS)
    shapes = f"q {format_shape(q.shape)}, k {format_shape(k.shape)}, v {format_shape(v.shape)}"
    if not q.dtype == k.dtype == v.dtype:
        refuse(op, f"dtypes {q.dtype}, {k.dtype} and {v.dtype} differ")
    if not q.rank == k.rank == v.rank or q.rank < 2:
        refuse(op, f"{shapes} must have the same number of axes, at least two")
    if q.shape[-1] != k.shape[-1]:
        refuse(op, f"{shapes}: the last axes of q and k differ")
    for size in (q.shape[-1], v.shape[-1]):
        if not isinstance(size, int):
            refuse(op, f"{shapes}: the size of a head must be a number, not {size}")
        if size > MOST_HEAD:
            refuse(op, f"{shapes}: a head has at most {MOST_HEAD} elements, not {size}")
    if k.shape[:-1] != v.shape[:-1]:
        refuse(op, f"{shapes}: k and v differ before the last axis")
    if attrs["enable_gqa"]:
        if q.rank < 3 or q.shape[:-3] != k.shape[:-3] or k.shape[-3] == 0 or q.shape[-3] % k.shape[-3] != 0:
            refuse(op, f"{shapes}: with enable_gqa the heads of q must be a multiple of those of k")
    elif q.shape[:-2] != k.shape[:-2]:
        refuse(op, f"{shapes}: batch axes differ")
    for m in mask:
        if m.dtype not in ("bool", q.dtype):
            refuse(op, f"the mask must be bool or {q.dtype}, not {m.dtype}")
        if m.shape != (*q.shape[:-1], k.shape[-2]):
            refuse(op, f"the mask {format_shape(m.shape)} does not fit {shapes}")
        if attrs["is_causal"]:
            refuse(op, "a mask and is_causal exclude each other")
    return (TensorType.of(q.dtype, (*q.shape[:-1], v.shape[-1])),)


def _attention_flops(s: Shapes) -> int:
    *lead, queries, depth = s.operands[0]
    keys, values = s.operands[1][-2], s.operands[2][-1]
    pairs = queries * keys
    if s.attrs["is_causal"]:  # query i sees keys 0 to i
        first = min(queries, keys)
        pairs = first * (first + 1) // 2 + (queries - first) * keys
    return math.prod(lead) * pairs * (2 * depth + 2 * values + 5)


define("rope", _rope_rule, 3, attrs={"interleaved": "bool"}, flops=per_element(3))
define(
    "scaled_dot_product_attention", _attention_rule, (3, 4),
    attrs={"is_causal": "bool", "scale": "float?", "enable_gqa": "bool"}, flops=_attention_flops,
)  # fmt: skip


@builder
def rope(x: Operand, cos: Operand, sin: Operand, interleaved: bool = False) -> Value:
    """Rotary embedding of x[..., S, D] by tables of shape [S, D/2]; pairs are halves, or neighbours when interleaved.

    >>> ops.rope(x, ops.ones(("M", 2), "f32"), ops.zeros(("M", 2), "f32"))
    <rope_0: f32 (M, 4)>
    """
    values = tensors("rope", x, cos, sin)
    dtype = float_result(common_dtype([v.dtype for v in values], ()))
    return emit("rope", [to_dtype(v, dtype) for v in values], {"interleaved": bool(interleaved)})


@builder
def scaled_dot_product_attention(
    query: Operand,
    key: Operand,
    value: Operand,
    attn_mask: Operand | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    """softmax(query @ key.T * scale + mask) @ value; a bool mask keeps where true, the scale defaults to 1/sqrt(E).

    >>> q = ops.ones((2, 8, 5, 16), "f32")
    >>> ops.scaled_dot_product_attention(q, q, q, is_causal=True)
    <scaled_dot_product_attention_0: f32 (2, 8, 5, 16)>
    """
    op = "scaled_dot_product_attention"
    if dropout_p:
        raise GraphError(f"{op}: dropout is for training; dropout_p must be 0")
    graph = find_graph(op, (query, key, value, attn_mask))
    q, k, v = (as_tensor(op, o, graph) for o in (query, key, value))
    dtype = float_result(common_dtype([q.dtype, k.dtype, v.dtype], ()))
    q, k, v = (to_dtype(o, dtype) for o in (q, k, v))
    shapes = f"q {format_shape(q.shape)}, k {format_shape(k.shape)}, v {format_shape(v.shape)}"
    if min(q.rank, k.rank, v.rank) < 2:
        raise GraphError(f"{op}: {shapes} must have at least two axes")
    lead = 3 if enable_gqa else 2
    if min(q.rank, k.rank, v.rank) < lead:
        raise GraphError(f"{op}: {shapes}: enable_gqa needs an axis of heads")
    batch = broadcast_shapes(*(o.shape[:-lead] for o in (q, k, v)), op=op)
    q, k, v = (to_shape(o, (*batch, *o.shape[-lead:])) for o in (q, k, v))
    operands = [q, k, v]
    if attn_mask is not None:
        mask = as_tensor(op, attn_mask, graph)
        mask = mask if mask.dtype == "bool" else to_dtype(mask, dtype)
        operands.append(to_shape(mask, (*q.shape[:-1], k.shape[-2])))
    if scale is None and isinstance(q.shape[-1], int) and q.shape[-1] > 0:
        scale = 1.0 / math.sqrt(q.shape[-1])
    attrs = {
        "is_causal": bool(is_causal),
        "scale": None if scale is None else float(scale),
        "enable_gqa": bool(enable_gqa),
    }
    return emit(op, operands, attrs)
