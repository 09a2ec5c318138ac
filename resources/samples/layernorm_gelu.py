"""Layer norm, then GELU: a normalisation whose epilogue carries a transcendental."""

from compiler import Graph, TensorType, ops

DIMS = {"M": 256}
WIDTH = 768


def build() -> Graph:
    graph = Graph(
        "layernorm_gelu",
        inputs=[TensorType("f32", ("M", WIDTH)), TensorType("f32", (WIDTH,)), TensorType("f32", (WIDTH,))],
    )
    with graph:
        x, weight, bias = graph.inputs
        graph.output(ops.gelu(ops.layer_norm(x, weight, bias, 1e-5)))
    return graph
