"""Reductions of one matrix: row sums, row maxima, column means and the total, both sizes symbolic."""

from compiler import Graph, TensorType, ops

DIMS = {"M": 512, "N": 768}


def build() -> Graph:
    graph = Graph("reduce", inputs=[TensorType("f32", ("M", "N"))])
    with graph:
        (x,) = graph.inputs
        graph.output(ops.sum(x, axis=1), ops.max(x, axis=1), ops.mean(x, axis=0), ops.sum(x))
    return graph
