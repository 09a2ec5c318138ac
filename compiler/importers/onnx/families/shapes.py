"""Shapes: asking for them, and the same elements under other ones."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.broadcasting import broadcast_shapes
from compiler.graph.dims import Dim, floordiv, product
from compiler.graph.types import Size
from compiler.graph.value import Value
from compiler.importers.onnx.node import Handler, Node, axis_of


def _sizes(sizes: Any) -> np.ndarray:
    out = np.empty(len(sizes), object)
    out[:] = list(sizes)
    return out if any(isinstance(s, Dim) for s in sizes) else out.astype(np.int64)


def _shape(node: Node) -> np.ndarray:
    shape = node.tensor(0).shape
    return _sizes(shape[node.attr("start", 0) : node.attr("end", len(shape))])


def _size(node: Node) -> np.ndarray:
    total = product(list(node.tensor(0).shape))
    return np.array(total, object) if isinstance(total, Dim) else np.array(total, np.int64)


def _reshape(node: Node) -> Value:
    x = node.x()
    wanted: list[Size] = node.sizes(1) if node.has(1) else list(node.attr("shape", []))
    if not node.attr("allowzero", 0):
        if any(s == 0 and at >= x.rank for at, s in enumerate(wanted)):
            raise GraphError(f"the shape {wanted} copies an axis that {x!r} does not have")
        wanted = [x.shape[at] if s == 0 else s for at, s in enumerate(wanted)]
    if sum(1 for s in wanted if s == -1) == 1 and 0 in x.shape:
        rest = product([s for s in wanted if s != -1])
        wanted = [(0 if rest == 0 else floordiv(0, rest)) if s == -1 else s for s in wanted]
    return ops.reshape(x, wanted)


def _flatten(node: Node) -> Value:
    x, axis = node.x(), node.attr("axis", 1)
    if not -x.rank <= axis <= x.rank:
        raise GraphError(f"axis {axis} is outside a rank of {x.rank}")
    at = axis if axis >= 0 else x.rank + axis
    return ops.reshape(x, (product(x.shape[:at]), product(x.shape[at:])))


def _squeeze(node: Node) -> Value:
    axes = node.listed("axes", 1)
    return ops.squeeze(node.x(), None if axes is None else tuple(axes))


def _unsqueeze(node: Node) -> Value:
    axes = node.listed("axes", 1)
    if axes is None:
        raise GraphError("axes are missing")
    return ops.expand_dims(node.x(), tuple(axes))


def _expand(node: Node) -> Value:
    x = node.x()
    return ops.broadcast_to(x, broadcast_shapes(x.shape, tuple(node.sizes(1)), op="Expand"))


def _split(node: Node) -> list[Value]:
    x = node.x()
    axis = axis_of(node.attr("axis", 0), x.rank)
    size, given = x.shape[axis], node.listed("split", 1)
    if given is None:
        count = node.attr("num_outputs", node.outputs)
        if count < 1:
            raise GraphError("a split into no parts")
        if isinstance(size, Dim):
            return ops.split(x, count, axis)
        width = -(-size // count)
        given = [max(min(width, size - at * width), 0) for at in range(count)]
    if any(part < 0 for part in given) or (isinstance(size, int) and sum(given) != size):
        raise GraphError(f"parts of {given} do not add up to {size}")
    edges = [0, *np.cumsum(given).tolist()]
    return [ops.slice(x, [a], [b], axes=[axis]) for a, b in pairwise(edges)]


def _tile(node: Node) -> Value:
    repeats = node.sizes(1)
    if node.opset < 6:
        raise GraphError("Tile before opset 6")
    return ops.tile(node.x(), tuple(repeats))


def _depth_to_space(node: Node) -> Value:
    x, block = node.x(), node.need("blocksize")
    n, c, h, w = x.shape
    less = c // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        apart = ops.transpose(ops.reshape(x, (n, block, block, less, h, w)), (0, 3, 4, 1, 5, 2))
    else:
        apart = ops.transpose(ops.reshape(x, (n, less, block, block, h, w)), (0, 1, 4, 2, 5, 3))
    return ops.reshape(apart, (n, less, h * block, w * block))


def _space_to_depth(node: Node) -> Value:
    x, block = node.x(), node.need("blocksize")
    n, c, h, w = x.shape
    apart = ops.reshape(x, (n, c, h // block, block, w // block, block))
    if node.attr("mode", "DCR") == "CRD":
        return ops.reshape(ops.transpose(apart, (0, 1, 3, 5, 2, 4)), (n, c * block * block, h // block, w // block))
    return ops.reshape(ops.transpose(apart, (0, 3, 5, 1, 2, 4)), (n, c * block * block, h // block, w // block))


def _range(node: Node) -> Value:
    start, stop, step = (node.number(at) for at in range(3))
    dtype = node.x(1).dtype
    return ops.arange(start, stop, step, dtype)


def _trilu(node: Node) -> Value:
    k = int(node.number(1)) if node.has(1) else 0
    return (ops.triu if node.attr("upper", 1) else ops.tril)(node.x(), k)


def _center_crop_pad(node: Node) -> Value:
    x, wanted = node.x(), node.ints(1)
    axes = [axis_of(a, x.rank) for a in node.attr("axes", range(x.rank))]
    for axis, size in zip(axes, wanted, strict=True):
        have = x.shape[axis]
        if isinstance(have, Dim):
            raise GraphError(f"axis {axis} must have a known size")
        if have > size:
            start = (have - size) // 2
            x = ops.slice(x, [start], [start + size], axes=[axis])
        elif have < size:
            low = (size - have) // 2
            widths = [(0, 0)] * x.rank
            widths[axis] = (low, size - have - low)
            x = ops.pad(x, widths)
    return x


SHAPES: dict[str, Handler] = {
    "Shape": _shape, "Size": _size, "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": lambda node: ops.transpose(node.x(), node.attr("perm")),
    "Expand": _expand,
    "Concat": lambda node: ops.concat(node.values(), node.need("axis")),
    "Split": _split,
    "Tile": _tile, "DepthToSpace": _depth_to_space, "SpaceToDepth": _space_to_depth, "Range": _range,
    "Trilu": _trilu, "CenterCropPad": _center_crop_pad,
}  # fmt: skip
