"""Elementwise ops of one operand: functions, activations, casts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dtypes import DTYPES, dtype_info
from compiler.graph.value import Value
from compiler.importers.compose import functions
from compiler.importers.compose.places import extreme
from compiler.importers.onnx.node import Handler, Node, Tensor
from compiler.importers.onnx.reading import numpy_type, type_name


def _plain(build: Callable[[Value], Value]) -> Handler:
    return lambda node: build(node.x())


def _clip(node: Node) -> Value:
    x = node.x()
    low = node.maybe(1) if node.opset >= 11 else node.attr("min")
    high = node.maybe(2) if node.opset >= 11 else node.attr("max")
    x = x if low is None else ops.maximum(x, low)
    return x if high is None else ops.minimum(x, high)


def _leaky(node: Node) -> Value:
    x = node.x()
    return ops.where(ops.less(x, 0), ops.mul(x, node.attr("alpha", 0.01)), x)


def _elu(node: Node) -> Value:
    x = node.x()
    return ops.where(ops.less(x, 0), ops.mul(ops.expm1(ops.minimum(x, 0)), node.attr("alpha", 1.0)), x)


def _celu(node: Node) -> Value:
    x, alpha = node.x(), node.attr("alpha", 1.0)
    return ops.add(ops.relu(x), ops.minimum(ops.mul(ops.expm1(ops.div(x, alpha)), alpha), 0))


def _selu(node: Node) -> Value:
    x, alpha = node.x(), node.attr("alpha", 1.67326319217681884765625)
    grown = ops.where(ops.greater(x, 0), x, ops.mul(ops.expm1(ops.minimum(x, 0)), alpha))
    return ops.mul(grown, node.attr("gamma", 1.05070102214813232421875))


def _prelu(node: Node) -> Value:
    x, slope = node.x(), node.x(1)
    return ops.where(ops.less(x, 0), ops.mul(x, slope), x)


def _hard_sigmoid(node: Node) -> Value:
    line = ops.add(ops.mul(node.x(), node.attr("alpha", 0.2)), node.attr("beta", 0.5))
    return ops.clip(line, 0, 1)


def _thresholded(node: Node) -> Value:
    x = node.x()
    return ops.where(ops.greater(x, node.attr("alpha", 1.0)), x, ops.zeros_like(x))


def _shrink(node: Node) -> Value:
    x, bias, edge = node.x(), node.attr("bias", 0.0), node.attr("lambd", 0.5)
    wide = ops.cast(x, "f64") if functions.kind(x) != "f" else x
    inner = ops.where(ops.greater(wide, edge), ops.sub(wide, bias), ops.zeros_like(wide))
    return ops.cast(ops.where(ops.less(wide, -edge), ops.add(wide, bias), inner), x.dtype)


def _swish(node: Node) -> Value:
    x, alpha = node.x(), node.attr("alpha", 1.0)
    return ops.silu(x) if alpha == 1.0 else ops.mul(x, ops.sigmoid(ops.mul(x, alpha)))


def _softsign(node: Node) -> Value:
    x = node.x()
    return ops.div(x, ops.add(ops.abs(x), 1))


def _is_inf(node: Node) -> Value:
    x = node.x()
    up, down = node.attr("detect_positive", 1), node.attr("detect_negative", 1)
    if up and down:
        return ops.isinf(x)
    if not up and not down:
        return ops.zeros(x.shape, "bool")
    return ops.equal(x, extreme(x.dtype, bool(up)))


def _to(node: Node, name: str) -> Value | Tensor:
    if name not in DTYPES:
        raise GraphError(f"a cast to {name}; the dtypes are {' '.join(DTYPES)}")
    return ops.cast(node.x(), name)


def _dropout(node: Node) -> list[Value]:
    if node.opset >= 12 and node.has(2) and node.number(2):
        ratio = node.number(1) if node.has(1) else 0.5
        if ratio != 0:
            raise GraphError("dropout in training mode is random; export the model for inference")
    x = node.x()
    return [x, ops.ones(x.shape, "bool" if node.opset >= 10 else x.dtype)][: max(node.outputs, 1)]


def _eye_like(node: Node) -> Value:
    kind = node.x().type
    shape = node.tensor(0).shape
    dtype = type_name(node.need("dtype")) if node.attr("dtype") is not None else kind.dtype  # type: ignore[union-attr]
    row, column = (ops.iota(shape, axis) for axis in (0, 1))
    return ops.cast(ops.equal(ops.add(row, node.attr("k", 0)), column), dtype)


def _constant(node: Node) -> np.ndarray:
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        value = node.attr(name)
        if value is not None:
            if isinstance(value, np.ndarray):
                return value
            return np.array(value, np.float32 if "float" in name else np.int64)
    raise GraphError("a constant without a number in it")


def _constant_of_shape(node: Node) -> Value:
    fill = node.attr("value", np.zeros(1, np.float32))
    if fill.size != 1:
        raise GraphError(f"its value must be one number, not {fill.size}")
    return ops.broadcast_to(ops.constant(fill.reshape(())), tuple(node.sizes(0)))


def _bit_cast(node: Node) -> Value | Tensor:
    wanted, x = numpy_type(node.need("to")), node.tensor(0)
    if x.content is not None and x.content.dtype != object and x.content.dtype.itemsize == wanted.itemsize:
        return Tensor("", x.content.view(wanted))
    value = x.value
    name = type_name(node.need("to"))
    if value.dtype == name:
        return value
    here, there = dtype_info(value.dtype), dtype_info(name)
    if here.bits == there.bits and here.kind != "b":
        return ops.bitcast(value, name)
    if value.dtype == "bool" and there.bytes == 1:
        return ops.cast(value, name)
    raise GraphError(f"the bits of {value.dtype} cannot be read as {name} in a kernel")


_SAME_NAME = {
    "Abs": ops.abs, "Neg": ops.neg, "Ceil": ops.ceil, "Floor": ops.floor, "Sqrt": ops.sqrt, "Exp": ops.exp,
    "Log": ops.log, "Sin": ops.sin, "Cos": ops.cos, "Tanh": ops.tanh, "Erf": ops.erf, "Sigmoid": ops.sigmoid,
    "Relu": ops.relu, "Reciprocal": ops.reciprocal, "Sign": ops.sign, "Round": ops.round, "Not": ops.logical_not,
    "IsNaN": ops.isnan,
    "BitwiseNot": ops.bitwise_not, "Tan": functions.tan, "Asin": functions.asin, "Acos": functions.acos,
    "Atan": functions.atan, "Sinh": functions.sinh, "Cosh": functions.cosh, "Asinh": functions.asinh,
    "Acosh": functions.acosh, "Atanh": functions.atanh, "Softplus": functions.softplus,
    "Mish": functions.mish, "HardSwish": lambda x: ops.mul(x, functions.hard_sigmoid(x)),
}  # fmt: skip

ELEMENTS: dict[str, Handler] = {
    **{name: _plain(build) for name, build in _SAME_NAME.items()},
    "Clip": _clip, "LeakyRelu": _leaky, "Elu": _elu, "Celu": _celu, "Selu": _selu, "PRelu": _prelu,
    "HardSigmoid": _hard_sigmoid, "ThresholdedRelu": _thresholded, "Shrink": _shrink,
    "Swish": _swish,
    "Gelu": lambda node: ops.gelu(node.x(), approximate=node.attr("approximate", "none")),
    "Softsign": _softsign, "IsInf": _is_inf,
    "Cast": lambda node: _to(node, type_name(node.need("to"))),
    "CastLike": lambda node: _to(node, node.x(1).dtype),
    "Identity": lambda node: node.tensor(0),
    "Dropout": _dropout, "EyeLike": _eye_like, "Constant": _constant,
    "ConstantOfShape": _constant_of_shape, "BitCast": _bit_cast,
}  # fmt: skip
