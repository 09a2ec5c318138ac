"""Convolutions and pools, with ONNX's ways to say padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.types import Size
from compiler.graph.value import Value
from compiler.importers.compose import windows
from compiler.importers.compose.places import scatter_along
from compiler.importers.onnx.node import Handler, Node


@dataclass(frozen=True)
class Window:
    """How a window moves over the spatial axes."""

    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    pads: list[tuple[int, int]]


def window_of(node: Node, sizes: tuple[Size, ...], kernel: list[Size]) -> Window:
    """The window that a node's attributes say."""
    count = len(kernel)
    if any(isinstance(k, Dim) or k < 1 for k in kernel):
        raise GraphError(f"a window of {kernel}; it must have known sizes of at least 1")
    known: list[int] = [int(k) for k in kernel]  # type: ignore[arg-type]
    stride, dilation = list(node.attr("strides", [1] * count)), list(node.attr("dilations", [1] * count))
    auto = node.attr("auto_pad", "NOTSET")
    if auto == "NOTSET":
        flat = list(node.attr("pads", [0] * 2 * count))
        if len(flat) != 2 * count:
            raise GraphError(f"{len(flat)} pads for a window over {count} axes")
        pads = list(zip(flat[:count], flat[count:], strict=True))
    elif auto == "VALID":
        pads = [(0, 0)] * count
    elif auto in ("SAME_UPPER", "SAME_LOWER"):
        pads = windows.same_pads(sizes, known, stride, dilation, auto == "SAME_UPPER")
    else:
        raise GraphError(f"auto_pad {auto!r} is not known")
    for what, numbers, least in (("strides", stride, 1), ("dilations", dilation, 1), ("pads", sum(pads, ()), 0)):
        if len(numbers) not in (count, 2 * count) or any(n < least for n in numbers):
            raise GraphError(f"{what} of {list(numbers)} for a window over {count} axes")
    return Window(known, stride, dilation, pads)


def _conv(node: Node) -> Value:
    x, w = node.x(), node.x(1)
    shape = window_of(node, x.shape[2:], list(w.shape[2:]))
    return windows.conv(x, w, node.maybe(2), shape.stride, shape.pads, shape.dilation, node.attr("group", 1))


def _conv_integer(node: Node) -> Value:
    x, w = (ops.cast(node.x(at), "i32") for at in (0, 1))
    if node.has(2):
        x = ops.sub(x, ops.cast(node.x(2), "i32"))
    if node.has(3):
        zero = ops.cast(node.x(3), "i32")
        w = ops.sub(w, ops.reshape(zero, (zero.shape[0], 1, 1, 1)) if zero.rank and zero.shape[0] != 1 else zero)
    shape = window_of(node, x.shape[2:], list(w.shape[2:]))
    return windows.conv(x, w, None, shape.stride, shape.pads, shape.dilation, node.attr("group", 1))


def _conv_transpose(node: Node) -> Value:
    x, w = node.x(), node.x(1)
    count = x.rank - 2
    kernel = list(w.shape[2:])
    stride, dilation = list(node.attr("strides", [1] * count)), list(node.attr("dilations", [1] * count))
    extra = list(node.attr("output_padding", [0] * count))
    wanted, auto = node.attr("output_shape"), node.attr("auto_pad", "NOTSET")
    if wanted is not None or auto.startswith("SAME"):
        pads = []
        for at in range(count):
            span = dilation[at] * (int(kernel[at]) - 1) + 1  # type: ignore[arg-type]
            size: Any = x.shape[at + 2]
            target = size * stride[at] if wanted is None else wanted[-count:][at]
            total = stride[at] * (size - 1) + extra[at] + span - target
            if isinstance(total, Dim):
                raise GraphError("an output shape needs an input of known size")
            if total < 0:
                extra[at], total = extra[at] - total, 0
            half = total // 2
            pads.append((half, total - half) if auto == "SAME_UPPER" else (total - half, half))
    else:
        flat = list(node.attr("pads", [0] * 2 * count))
        pads = list(zip(flat[:count], flat[count:], strict=True))
    return windows.conv_transpose(x, w, node.maybe(2), stride, pads, dilation, node.attr("group", 1), extra)


def _pool_window(node: Node, x: Value) -> tuple[Window, list[tuple[int, int]]]:
    """The window, and the padding that makes it whole in ceil mode."""
    shape = window_of(node, x.shape[2:], list(node.need("kernel_shape")))
    grown = shape.pads
    if node.attr("ceil_mode", 0):
        grown = windows.ceil_pads(x.shape[2:], shape.kernel, shape.stride, shape.dilation, shape.pads)
    return shape, grown


def _max_pool(node: Node) -> list[Value]:
    x = node.x()
    shape, pads = _pool_window(node, x)
    arguments = (x, shape.kernel, shape.stride, pads, shape.dilation)
    best = windows.max_pool(*arguments)
    if node.outputs < 2:
        return [best]
    return [best, windows.max_pool_places(*arguments, bool(node.attr("storage_order", 0)))]


def _average_pool(node: Node) -> Value:
    x = node.x()
    shape, pads = _pool_window(node, x)
    counted = shape.pads if node.attr("count_include_pad", 0) else None
    return windows.average_pool(x, shape.kernel, shape.stride, pads, shape.dilation, counted)


def _lp_pool(node: Node) -> Value:
    x, p = node.x(), node.attr("p", 2)
    shape, pads = _pool_window(node, x)
    total = windows.sum_pool(ops.pow(ops.abs(x), float(p)), shape.kernel, shape.stride, pads, shape.dilation)
    return ops.pow(total, 1 / p)


def _max_unpool(node: Node) -> Value:
    x, places = node.x(), node.x(1)
    kernel, count = list(node.need("kernel_shape")), x.rank - 2
    stride, flat = list(node.attr("strides", [1] * count)), list(node.attr("pads", [0] * 2 * count))
    own: list[Any] = [
        (x.shape[at + 2] - 1) * stride[at] + kernel[at] - flat[at] - flat[count + at] for at in range(count)
    ]
    shape = (*x.shape[:2], *own)
    wanted = tuple(node.sizes(2)) if node.has(2) else shape
    size = int(np.prod([int(s) for s in shape]))  # type: ignore[arg-type]
    empty = ops.zeros((size,), x.dtype)
    filled = ops.reshape(scatter_along(empty, ops.ravel(places), ops.ravel(x), 0), shape)
    widths: list[Any] = [(0, w - s) for w, s in zip(wanted, shape, strict=True)]
    return ops.pad(filled, widths)


def _col2im(node: Node) -> Value:
    """Blocks added up where they came from."""
    x, image, block = node.x(), node.ints(1), node.ints(2)
    count = len(image)
    stride, dilation = list(node.attr("strides", [1] * count)), list(node.attr("dilations", [1] * count))
    flat = list(node.attr("pads", [0] * 2 * count))
    return windows.put_back(x, image, block, stride, dilation, flat)


CONVOLUTION: dict[str, Handler] = {
    "Conv": _conv, "ConvInteger": _conv_integer, "ConvTranspose": _conv_transpose, "MaxPool": _max_pool,
    "AveragePool": _average_pool, "LpPool": _lp_pool, "MaxUnpool": _max_unpool, "Col2Im": _col2im,
}  # fmt: skip
