"""An 8-bit colour image to grey: the weighted sum of its three channels, any height and width."""

from compiler import Graph, TensorType, ops

DIMS = {"H": 480, "W": 640}
RED, GREEN, BLUE = 0.299, 0.587, 0.114  # ITU-R BT.601


def build() -> Graph:
    graph = Graph("grayscale", inputs=[TensorType("u8", (3, "H", "W"))])
    with graph:
        (image,) = graph.inputs
        colours = ops.cast(image, "f32")
        grey = colours[0] * RED + colours[1] * GREEN + colours[2] * BLUE
        graph.output(ops.cast(ops.round(grey), "u8"))
    return graph
