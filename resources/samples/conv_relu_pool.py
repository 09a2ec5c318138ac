"""A 3x3 convolution with bias, ReLU and 2x2 max pooling over a batch of small images."""

from compiler import Graph, TensorType, ops

DIMS = {"N": 8}


def build() -> Graph:
    graph = Graph(
        "conv_relu_pool",
        inputs=[TensorType("f32", ("N", 3, 32, 32)), TensorType("f32", (16, 3, 3, 3)), TensorType("f32", (16,))],
    )
    with graph:
        x, w, b = graph.inputs
        graph.output(ops.max_pool2d(ops.relu(ops.conv2d(x, w, b, padding=1)), 2))
    return graph
