"""Elementwise ATen ops. Operands meet in the dtype that PyTorch says the result has."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.broadcasting import common_dtype
from compiler.graph.dims import Dim
from compiler.graph.dtypes import dtype_info
from compiler.graph.value import Value
from compiler.importers.compose import functions
from compiler.importers.torch.call import Call, Handler


def operand(value: Any, dtype: str) -> Any:
    """An operand in a dtype: a tensor cast, a size as a value, a number as it is in that dtype."""
    if isinstance(value, Value):
        return ops.cast(value, dtype)
    if isinstance(value, Dim):
        return ops.cast(functions.size_value(value), dtype)
    kind = dtype_info(dtype).kind
    return float(value) if kind == "f" else bool(value) if kind == "b" else int(value)


def _unary(build: Callable[[Value], Value]) -> Handler:
    return lambda call: build(operand(call.x(), call.dtype))


def _tested(build: Callable[[Value], Value]) -> Handler:
    return lambda call: build(call.x())


def _scaled(build: Callable[[Any, Any], Value]) -> Handler:
    """add and sub, whose second operand may come with a factor."""

    def run(call: Call) -> Value:
        a, b = (operand(call.args[at], call.dtype) for at in (0, 1))
        alpha = call.kwargs.get("alpha", 1)
        b = b if alpha == 1 else ops.mul(b, operand(alpha, call.dtype)) if isinstance(b, Value) else b * alpha
        return build(a, b)

    return run


def _binary(build: Callable[[Any, Any], Value]) -> Handler:
    return lambda call: build(*(operand(call.args[at], call.dtype) for at in (0, 1)))


def _comparison(build: Callable[[Any, Any], Value]) -> Handler:
    def run(call: Call) -> Value:
        a, b = call.args[0], call.args[1]
        values = [v for v in (a, b) if isinstance(v, Value)]
        whole = [v for v in values if v.rank] or values  # a tensor without axes yields to one with
        numbers = [v for v in (a, b) if not isinstance(v, (Value, Dim))]
        dtype = common_dtype([v.dtype for v in whole], numbers)
        return build(*(operand(v, dtype) if isinstance(v, (Value, Dim)) else v for v in (a, b)))

    return run


def _div(call: Call) -> Value:
    mode = call.kwargs.get("rounding_mode")
    a, b = (operand(call.args[at], call.dtype) for at in (0, 1))
    if mode is None:
        return ops.div(a, b)
    if mode == "floor":
        return ops.floordiv(a, b)
    if functions.kind(call.x()) == "f":
        return ops.trunc(ops.div(a, b))
    return functions.truncated_quotient(a, b if isinstance(b, Value) else ops.constant(b, call.dtype))


def _where(call: Call) -> Value:
    test, *rest = call.args
    a, b = (operand(v, call.dtype) for v in rest)
    return ops.where(test, a, b)


def _masked_fill(call: Call) -> Value:
    x, mask, value = call.args
    fill = operand(value, x.dtype)
    return ops.where(mask, fill if isinstance(fill, Value) else ops.constant(fill, x.dtype), x)


def _clamp(call: Call) -> Value:
    x = operand(call.x(), call.dtype)
    low, high = call.arg(1, "min"), call.arg(2, "max")
    x = x if low is None else ops.maximum(x, operand(low, call.dtype))
    return x if high is None else ops.minimum(x, operand(high, call.dtype))


def _cast(call: Call) -> Value:
    return ops.cast(call.x(), call.dtype)


def _pow(call: Call) -> Value:
    a, b = (operand(call.args[at], call.dtype) for at in (0, 1))
    if isinstance(a, Value) and not isinstance(b, Value) and b == 2:
        return ops.mul(a, a)
    return ops.pow(a if isinstance(a, Value) else ops.constant(a, call.dtype), b)


def _elu(call: Call) -> Value:
    x, alpha = call.x(), call.arg(1, "alpha", 1.0)
    return ops.where(ops.greater(x, 0), x, ops.mul(ops.expm1(ops.minimum(x, 0)), alpha))


def _leaky(call: Call) -> Value:
    x = call.x()
    return ops.where(ops.greater(x, 0), x, ops.mul(x, call.arg(1, "negative_slope", 0.01)))


def _log10(x: Value) -> Value:
    return ops.mul(ops.log(x), 1 / math.log(10))


def _same(call: Call) -> Any:
    return call.args[0]


def _fmod(call: Call) -> Value:
    a, b = (operand(call.args[at], call.dtype) for at in (0, 1))
    return functions.truncated_remainder(a, b if isinstance(b, Value) else ops.constant(b, call.dtype))


def _dropout(call: Call) -> Any:
    if call.arg(2, "train", False):
        raise GraphError("dropout in training mode is random; call module.eval() first")
    return [call.x(), ops.ones(call.x().shape, "bool")] if isinstance(call.node.meta["val"], tuple) else call.x()


_UNARY = {
    "abs": ops.abs, "neg": ops.neg, "exp": ops.exp, "exp2": ops.exp2, "expm1": ops.expm1, "log": ops.log,
    "log2": ops.log2, "log1p": ops.log1p, "log10": _log10, "sqrt": ops.sqrt, "rsqrt": ops.rsqrt, "sin": ops.sin,
    "cos": ops.cos, "tan": functions.tan, "asin": functions.asin, "acos": functions.acos, "atan": functions.atan,
    "sinh": functions.sinh, "cosh": functions.cosh, "asinh": functions.asinh, "acosh": functions.acosh,
    "atanh": functions.atanh, "tanh": ops.tanh, "erf": ops.erf, "sigmoid": ops.sigmoid, "relu": ops.relu,
    "silu": ops.silu, "reciprocal": ops.reciprocal, "floor": ops.floor, "ceil": ops.ceil, "trunc": ops.trunc,
    "round": ops.round, "sign": ops.sign, "bitwise_not": ops.bitwise_not, "softplus": functions.softplus,
    "hardsigmoid": functions.hard_sigmoid, "square": ops.square,
    "hardswish": lambda x: ops.mul(x, functions.hard_sigmoid(x)), "mish": functions.mish,
    "relu6": lambda x: ops.clip(x, 0, 6),
}  # fmt: skip
_TESTS = {"isnan": ops.isnan, "isinf": ops.isinf, "isfinite": ops.isfinite, "logical_not": ops.logical_not}
_BINARY = {
    "mul": ops.mul, "minimum": ops.minimum, "maximum": ops.maximum, "floor_divide": ops.floordiv, "remainder": ops.mod,
    "bitwise_and": ops.bitwise_and, "bitwise_or": ops.bitwise_or, "bitwise_xor": ops.bitwise_xor,
    "atan2": functions.atan2, "__and__": ops.bitwise_and, "__or__": ops.bitwise_or,
}  # fmt: skip
_COMPARISONS = {
    "eq": ops.equal, "ne": ops.not_equal, "lt": ops.less, "le": ops.less_equal, "gt": ops.greater,
    "ge": ops.greater_equal, "logical_and": ops.logical_and, "logical_or": ops.logical_or,
    "logical_xor": ops.logical_xor,
}  # fmt: skip

ELEMENTS: dict[str, Handler] = {
    **{name: _unary(build) for name, build in _UNARY.items()},
    **{name: _tested(build) for name, build in _TESTS.items()},
    **{name: _binary(build) for name, build in _BINARY.items()},
    **{name: _comparison(build) for name, build in _COMPARISONS.items()},
    "add": _scaled(ops.add), "sub": _scaled(ops.sub), "rsub": _scaled(lambda a, b: ops.sub(b, a)), "div": _div,
    "pow": _pow, "fmod": _fmod, "where": _where, "masked_fill": _masked_fill,
    "clamp": _clamp, "clamp_min": _clamp, "_to_copy": _cast, "to": _cast,
    "gelu": lambda call: ops.gelu(call.x(), approximate=call.kwargs.get("approximate", "none")),
    "elu": _elu,
    "leaky_relu": _leaky,
    "hardtanh": lambda call: ops.clip(call.x(), call.arg(1, "min_val", -1.0), call.arg(2, "max_val", 1.0)),
    "clone": _same, "detach": _same, "alias": _same,
    "lift_fresh_copy": _same, "contiguous": _same, "dropout": _dropout, "native_dropout": _dropout,
    "copy": lambda call: ops.broadcast_to(ops.cast(call.x(1), call.dtype), call.shape),
}  # fmt: skip
