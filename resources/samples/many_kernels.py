"""Distinct matmul kernels that share library code, 64 unless told otherwise: sample:many-kernels:128 has 128."""

from compiler import Graph, TensorType, ops

DIMS = {"M": 64}
DEPTH, LEAST_WIDTH, STEP = 256, 64, 8
ACTIVATIONS = (ops.relu, ops.silu, ops.tanh, ops.sigmoid)


def build(kernels: int = 64) -> Graph:
    widths = [LEAST_WIDTH + STEP * number for number in range(kernels)]
    inputs = [TensorType("f32", ("M", DEPTH))]
    for width in widths:
        inputs += [TensorType("f32", (DEPTH, width)), TensorType("f32", (width,))]
    graph = Graph(f"many_kernels_{kernels}", inputs=inputs)
    with graph:
        x, *weights = graph.inputs
        outputs = []
        for number in range(kernels):
            matrix, bias = weights[2 * number : 2 * number + 2]
            outputs.append(ACTIVATIONS[number % len(ACTIVATIONS)](x @ matrix + bias))
        graph.output(*outputs)
    return graph
