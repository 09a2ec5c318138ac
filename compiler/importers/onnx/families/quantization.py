"""Numbers in few bits: scales and zero points, and products of such numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.value import Value
from compiler.importers.compose import windows
from compiler.importers.onnx.families.convolution import window_of
from compiler.importers.onnx.node import Handler, Node, axis_of
from compiler.importers.onnx.reading import type_name

_INTEGERS = ("u8", "i8", "u16", "i16", "i32")


def _spread(node: Node, part: Value, x: Value) -> Value:
    """A scale or zero point as x sees it: one number, one for each place along the axis, or one for each block."""
    if part.rank == 0 or part.shape == (1,):
        return ops.reshape(part, ())
    axis, block = axis_of(node.attr("axis", 1), x.rank), node.attr("block_size", 0)
    if part.rank == 1 and not block:
        return ops.reshape(part, (part.shape[0], *(1,) * (x.rank - axis - 1)))
    wide = ops.repeat(part, block, axis) if block > 1 else part
    return ops.slice(wide, [0], [x.shape[axis]], axes=[axis]) if wide.shape != x.shape else wide


def _dequantize(node: Node) -> Value:
    x, scale = node.x(), node.x(1)
    to = type_name(node.attr("output_dtype", 0)) if node.attr("output_dtype", 0) else scale.dtype
    wide = ops.cast(x, "i32") if x.dtype in _INTEGERS else ops.cast(x, "f32")
    if node.has(2):
        wide = ops.sub(wide, ops.cast(_spread(node, node.x(2), x), wide.dtype))
    return ops.cast(ops.mul(ops.cast(wide, scale.dtype), _spread(node, scale, x)), to)


def rounded(x: Value, zero: Value | None, dtype: str) -> Value:
    """x rounded to even, the zero point added, limited to the dtype."""
    if dtype not in _INTEGERS:
        raise GraphError(f"numbers quantised to {dtype}; {' '.join(_INTEGERS)} are known")
    total = ops.round(x)
    if zero is not None:
        total = ops.add(total, ops.cast(zero, total.dtype))
    limits = np.iinfo(numpy_dtype(dtype))
    return ops.cast(ops.clip(total, float(limits.min), float(limits.max)), dtype)


def _quantize(node: Node) -> Value:
    x, scale = node.x(), node.x(1)
    zero = _spread(node, node.x(2), x) if node.has(2) else None
    said = type_name(node.attr("output_dtype", 0)) if node.attr("output_dtype", 0) else "u8"
    dtype = node.x(2).dtype if node.has(2) else said
    wide = ops.cast(x, "f32") if x.dtype in ("f16", "bf16") else ops.cast(x, scale.dtype)
    return rounded(ops.div(wide, ops.cast(_spread(node, scale, x), wide.dtype)), zero, dtype)


def _as_row(zero: Value, x: Value, left: bool) -> Value:
    """A zero point for each row of the left operand, or each column of the right one."""
    if zero.rank == 0 or zero.shape == (1,):
        return ops.reshape(zero, ())
    return ops.expand_dims(zero, -1) if left and zero.rank == x.rank - 1 else zero


def _matmul_integer(node: Node) -> Value:
    a, b = (ops.cast(node.x(at), "i32") for at in (0, 1))
    if node.has(2):
        a = ops.sub(a, ops.cast(_as_row(node.x(2), a, True), "i32"))
    if node.has(3):
        b = ops.sub(b, ops.cast(_as_row(node.x(3), b, False), "i32"))
    return ops.matmul(a, b)


def _qlinear_matmul(node: Node) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (node.x(at) for at in range(8))
    left = ops.sub(ops.cast(a, "i32"), ops.cast(_as_row(a_zero, a, True), "i32"))
    right = ops.sub(ops.cast(b, "i32"), ops.cast(_as_row(b_zero, b, False), "i32"))
    total = ops.cast(ops.matmul(left, right), "f32")
    scale = ops.div(ops.mul(_as_row(a_scale, a, True), _as_row(b_scale, b, False)), y_scale)
    return rounded(ops.mul(total, ops.cast(scale, "f32")), y_zero, y_zero.dtype)


def _qlinear_conv(node: Node) -> Value:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (node.x(at) for at in range(8))

    def by_channel(part: Value) -> Value:
        return ops.reshape(part, (-1, *(1,) * (w.rank - 1))) if part.rank else part

    image = ops.sub(ops.cast(x, "i32"), ops.cast(x_zero, "i32"))
    weight = ops.sub(ops.cast(w, "i32"), ops.cast(by_channel(w_zero), "i32"))
    shape = window_of(node, x.shape[2:], list(w.shape[2:]))
    bias: Any = node.maybe(8)
    total = windows.conv(image, weight, bias, shape.stride, shape.pads, shape.dilation, node.attr("group", 1))
    factor = ops.div(ops.mul(x_scale, w_scale), y_scale)
    factor = ops.reshape(factor, (-1, *(1,) * (x.rank - 2))) if factor.rank else factor
    return rounded(ops.mul(ops.cast(total, "f32"), factor), y_zero, y_zero.dtype)


QUANTIZATION: dict[str, Handler] = {
    "DequantizeLinear": _dequantize, "QuantizeLinear": _quantize, "MatMulInteger": _matmul_integer,
    "QLinearMatMul": _qlinear_matmul, "QLinearConv": _qlinear_conv,
}  # fmt: skip
