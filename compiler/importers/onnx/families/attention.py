"""Attention where it is one op of the graph; its other forms are imported by ONNX's own definition of them."""

from __future__ import annotations

from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.onnx.node import Handler, Node


def _heads(x: Value, count: int | None) -> Value:
    """(batch, length, heads * width) as (batch, heads, length, width)."""
    if x.rank == 4:
        return x
    if x.rank != 3 or not count:
        raise GraphError(f"queries, keys and values have three axes and a number of heads, or four axes; not {x!r}")
    return ops.swapaxes(ops.reshape(x, (*x.shape[:2], count, x.shape[2] // count)), 1, 2)


def _attention(node: Node) -> Any:
    masked, causal = node.has(3), bool(node.attr("is_causal", 0))
    special = node.attr("softcap", 0.0) or node.outputs > 1 or any(node.has(at) for at in (4, 5, 6))
    if special or (masked and causal) or node.attr("softmax_precision") is not None or node.attributes.keys() - _PLAIN:
        return NotImplemented
    q, k, v = (node.x(at) for at in range(3))
    flat = q.rank == 3
    heads, shared = node.attr("q_num_heads"), node.attr("kv_num_heads")
    q, k, v = _heads(q, heads), _heads(k, shared), _heads(v, shared)
    mask = node.maybe(3)
    if mask is not None and mask.shape[-1] != k.shape[-2]:
        return NotImplemented
    # Without keys of earlier calls, which the other inputs would have, the first query sees the first key alone.
    grouped = q.shape[1] != k.shape[1]
    out = ops.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, scale=node.attr("scale"), enable_gqa=grouped
    )
    if not flat:
        return out
    joined = ops.swapaxes(out, 1, 2)
    return ops.reshape(joined, (*joined.shape[:2], joined.shape[2] * joined.shape[3]))


_PLAIN = {"is_causal", "scale", "q_num_heads", "kv_num_heads", "softcap", "qk_matmul_output_mode"}


ATTENTION: dict[str, Handler] = {"Attention": _attention}
