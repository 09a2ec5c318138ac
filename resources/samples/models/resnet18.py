"""ResNet-18 with generated weights: images of 224 by 224 to the scores of 1000 classes."""

import numpy as np

from compiler import Graph, TensorType, ops
from compiler.importers.weights.generated import SPREAD, GeneratedWeights

DIMS = {"N": 1}
CHANNELS, CLASSES = (64, 128, 256, 512), 1000


def build() -> Graph:
    weights = GeneratedWeights("f32", CHANNELS[-1] * CHANNELS[-1] * 9)
    with Graph("resnet18", {"images": TensorType("f32", ("N", 3, 224, 224))}) as graph:
        (images,) = graph.inputs
        x = ops.relu(convolution(weights, "conv1", images, CHANNELS[0], 7, 2))
        x = ops.max_pool2d(x, 3, stride=2, padding=1)
        for stage, channels in enumerate(CHANNELS):
            x = block(weights, f"layer{stage + 1}.0", x, channels, 1 if stage == 0 else 2)
            x = block(weights, f"layer{stage + 1}.1", x, channels, 1)
        pooled = ops.mean(x, axis=(2, 3))
        head = weights.random("fc.weight", (CLASSES, CHANNELS[-1])).value()
        graph.output(pooled @ head.T + weights.random("fc.bias", (CLASSES,)).value())
    return graph


def block(weights, name, x, channels, stride):
    """Two convolutions, and a way past them."""
    inner = ops.relu(convolution(weights, f"{name}.conv1", x, channels, 3, stride))
    inner = convolution(weights, f"{name}.conv2", inner, channels, 3, 1)
    same = stride == 1 and x.shape[1] == channels
    past = x if same else convolution(weights, f"{name}.downsample", x, channels, 1, stride)
    return ops.relu(inner + past)


def convolution(weights, name, x, channels, size, stride):
    """A convolution and a batch norm with the statistics that such weights give."""
    given = x.shape[1]
    kernel = weights.random(f"{name}.weight", (channels, given, size, size)).value()
    made = ops.conv2d(x, kernel, stride=stride, padding=size // 2)
    spread = np.float32(SPREAD * np.sqrt(given * size * size))
    shift = weights.random(f"{name}.bias", (channels,)).value()
    return made * (1 / spread) + ops.reshape(shift, (channels, 1, 1))
