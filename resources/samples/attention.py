"""Causal scaled dot-product attention over 8 heads of 64, batch and sequence symbolic."""

from compiler import Graph, TensorType, ops

DIMS = {"B": 2, "S": 128}
HEADS, FEATURES = 8, 64


def build() -> Graph:
    heads = TensorType("f32", ("B", HEADS, "S", FEATURES))
    graph = Graph("attention", inputs=[heads, heads, heads])
    with graph:
        q, k, v = graph.inputs
        graph.output(ops.scaled_dot_product_attention(q, k, v, is_causal=True))
    return graph
