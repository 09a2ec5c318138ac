"""What transformers are made of: rotary embedding and attention."""

from __future__ import annotations

import math

from compiler.errors import GraphError
from compiler.graph.broadcasting import broadcast_shapes, common_dtype
from compiler.graph.dtypes import float_result
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, emit, find_graph, tensors, to_dtype, to_shape
from compiler.graph.types import format_shape
from compiler.graph.value import Value


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
