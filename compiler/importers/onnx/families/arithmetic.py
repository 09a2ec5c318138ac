"""Elementwise ops of several operands: arithmetic, comparisons, logic, bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dtypes import dtype_info
from compiler.graph.value import Value
from compiler.importers.compose import functions
from compiler.importers.onnx.node import Handler, Node


def _pair(build: Callable[[Any, Any], Value]) -> Handler:
    return lambda node: build(node.x(0), node.x(1))


def _many(build: Callable[[Any, Any], Value]) -> Handler:
    return lambda node: reduce(build, node.values())


def _div(node: Node) -> Value:
    x, y = node.x(0), node.x(1)
    return ops.div(x, y) if functions.kind(x) == "f" else functions.truncated_quotient(x, y)


def _mod(node: Node) -> Value:
    x, y = node.x(0), node.x(1)
    return functions.truncated_remainder(x, y) if node.attr("fmod", 0) else ops.mod(x, y)


def _pow(node: Node) -> Value:
    x, y = node.x(0), node.x(1)
    if functions.kind(x) == "f":
        return ops.pow(x, ops.cast(y, x.dtype))
    if functions.kind(y) == "f":
        return ops.cast(ops.pow(ops.cast(x, "f64"), ops.cast(y, "f64")), x.dtype)
    wide = ops.pow(ops.cast(x, "i64"), ops.cast(y, "i64"))
    return ops.cast(wide, x.dtype)


def _shift(node: Node) -> Value:
    """Bits moved; by as many as there are, or a negative number of them, they are all gone."""
    x, by = node.x(0), ops.cast(node.x(1), "i64")
    direction, bits = node.need("direction"), dtype_info(x.dtype).bits
    if direction not in ("LEFT", "RIGHT"):
        raise GraphError(f"the direction {direction!r} is not LEFT or RIGHT")
    by = ops.where(ops.logical_or(ops.less(by, 0), ops.greater(by, bits)), bits, by)
    moved, half = ops.cast(x, "i64"), ops.floordiv(by, 2)
    for part in (half, ops.sub(by, half)):  # in two steps, so that the factor of all bits of an i64 fits in one
        factor = ops.pow(ops.constant(2, "i64"), part)
        moved = ops.mul(moved, factor) if direction == "LEFT" else ops.floordiv(moved, factor)
    return ops.cast(moved, x.dtype)


ARITHMETIC: dict[str, Handler] = {
    "Add": _pair(ops.add), "Sub": _pair(ops.sub), "Mul": _pair(ops.mul), "Div": _div, "Mod": _mod, "Pow": _pow,
    "Sum": _many(ops.add), "Mean": lambda node: ops.div(reduce(ops.add, node.values()), float(len(node.inputs))),
    "Max": _many(ops.maximum), "Min": _many(ops.minimum),
    "Equal": _pair(ops.equal), "Less": _pair(ops.less), "LessOrEqual": _pair(ops.less_equal),
    "Greater": _pair(ops.greater), "GreaterOrEqual": _pair(ops.greater_equal), "And": _pair(ops.logical_and),
    "Or": _pair(ops.logical_or), "Xor": _pair(ops.logical_xor), "BitwiseAnd": _pair(ops.bitwise_and),
    "BitwiseOr": _pair(ops.bitwise_or), "BitwiseXor": _pair(ops.bitwise_xor), "BitShift": _shift,
    "Where": lambda node: ops.where(node.x(0), node.x(1), node.x(2)),
}  # fmt: skip
