"""Convolutions whose window has no fixed form: each of its places is moved by an offset that the model computes."""

from __future__ import annotations

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.value import Value
from compiler.importers.compose import resize
from compiler.importers.onnx.families.convolution import Window, window_of
from compiler.importers.onnx.node import Handler, Node

_MOST_PLACES = 1 << 26  # of all windows of an image together


def _deform_conv(node: Node) -> Value:
    """The places of every window sampled, then one product with the weights for each group."""
    x, w, offset = node.x(), node.x(1), node.x(2)
    if (x.rank, w.rank, offset.rank) != (4, 4, 4):
        raise GraphError(f"a deformable convolution of rank {x.rank}; images have two axes")
    shape = window_of(node, x.shape[2:], list(w.shape[2:]))
    batch, channels, *image = x.shape
    down, across = offset.shape[2:]
    groups, apart = node.attr("group", 1), node.attr("offset_group", 1)
    taps = shape.kernel[0] * shape.kernel[1]
    if not all(isinstance(size, int) for size in (channels, *image, down, across, *w.shape[:2])):
        raise GraphError("a deformable convolution needs known channels and sizes")
    count: int = down * across  # type: ignore[assignment,operator]
    if min(groups, apart) < 1 or channels % apart or channels != w.shape[1] * groups or w.shape[0] % groups:  # type: ignore[operator]
        raise GraphError(f"{channels} channels, weights {w.shape}, {groups} groups and {apart} of offsets do not fit")
    if offset.shape[1] != 2 * apart * taps or not 0 < taps * count <= _MOST_PLACES:
        raise GraphError(f"offsets {offset.shape} for {apart} groups of a window {shape.kernel}")
    rows = batch * apart
    moved = ops.reshape(offset, (rows, taps, 2, count))
    places = [
        ops.reshape(ops.add(moved[:, :, axis], ops.constant(start, offset.dtype)), (rows, taps * count))
        for axis, start in enumerate(_starts(shape, int(down), int(across)))  # type: ignore[arg-type]
    ]
    found = resize.sampled(ops.reshape(x, (rows, channels // apart, *image)), places, "linear", "zeros", True)
    mask = node.maybe(4)
    if mask is not None:
        found = ops.mul(found, ops.reshape(mask, (rows, 1, taps * count)))
    inner = channels // groups * taps
    kernel = ops.reshape(w, (groups, w.shape[0] // groups, inner))  # type: ignore[operator]
    made = ops.matmul(kernel, ops.reshape(found, (batch, groups, inner, count)))
    made = ops.reshape(made, (batch, w.shape[0], down, across))
    bias = node.maybe(3)
    return made if bias is None else ops.add(made, ops.reshape(bias, (bias.shape[0], 1, 1)))


def _starts(window: Window, down: int, across: int) -> list[np.ndarray]:
    """For each axis: where the taps of every window lie before they are moved, (taps, windows)."""
    tap = np.indices(window.kernel).reshape(2, -1, 1)
    place = np.indices((down, across)).reshape(2, 1, -1)
    return [
        place[axis] * window.stride[axis] - window.pads[axis][0] + tap[axis] * window.dilation[axis]
        for axis in range(2)
    ]


DEFORMABLE: dict[str, Handler] = {"DeformConv": _deform_conv}
