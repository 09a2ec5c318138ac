"""Two dense layers: relu(x @ w1 + b1) @ w2 + b2, any batch size.

The bias and the relu fuse into the first product's epilogue, the second bias into the other's: two kernels.
"""

from compiler import Graph, TensorType, ops

DIMS = {"M": 256}


def build() -> Graph:
    graph = Graph(
        "mlp",
        inputs=[
            TensorType("f32", ("M", 512)),
            TensorType("f32", (512, 1024)),
            TensorType("f32", (1024,)),
            TensorType("f32", (1024, 128)),
            TensorType("f32", (128,)),
        ],
    )
    with graph:
        x, w1, b1, w2, b2 = graph.inputs
        hidden = ops.relu(x @ w1 + b1)
        graph.output(hidden @ w2 + b2)
    return graph
