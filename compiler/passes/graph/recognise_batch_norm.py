"""Batch norm with known statistics after a convolution with known weights: one convolution and an addition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation, SSAValue

from compiler.dialects.mo import MoOp, TensorType, attrs_of
from compiler.passes.graph.pattern import Found, below, dtype_of, insert, is_used_once, made_by, shape_of
from compiler.passes.graph.rewrite import array_of

_STEPS = ("add", "sub", "mul", "div")
_COMPUTED: dict[str, Callable[..., np.ndarray]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": np.reciprocal, "reshape": np.reshape,
    "broadcast_to": np.broadcast_to,
}  # fmt: skip
"""What statistics are prepared with."""


def batch_norm(op: MoOp) -> Found | None:
    """Sums and products with a constant for each channel of a convolution: the factors go into its weights."""
    if _continues(op):
        return None
    scale: np.ndarray = np.ones(1)
    shift: np.ndarray = np.zeros(1)
    value: SSAValue = op.results[0]
    scaled = False
    while (step := made_by(value, *_STEPS)) is not None:
        taken = _step(step)
        if taken is None or not (step is op or is_used_once(value)):
            return None
        value, constant = taken
        match step.name:
            case "mo.add":
                shift = shift + scale * constant
            case "mo.sub":
                shift = shift - scale * constant
            case "mo.mul":
                scale, scaled = scale * constant, True
            case _:
                scale, scaled = scale / constant, True
    convolution = made_by(value, "conv2d")
    if convolution is None or not scaled or not is_used_once(value):
        return None
    weights = array_of(convolution.operands[1])
    if weights is None or not np.isfinite(scale).all() or not np.isfinite(shift).all():
        return None
    kind = TensorType.of(dtype_of(value), weights.shape)
    folded = (weights.astype(np.float64) * np.reshape(scale, (-1, 1, 1, 1))).astype(weights.dtype)
    constant = insert(op, "constant", (), kind, value=folded)
    x = convolution.operands[0]
    made = insert(op, "conv2d", (x, constant), op.results[0].type, **attrs_of(convolution))  # type: ignore[arg-type]
    channels = np.broadcast_to(shift, weights.shape[:1]).reshape(-1, 1, 1).astype(weights.dtype)
    bias = insert(op, "constant", (), TensorType.of(dtype_of(value), channels.shape), value=channels)
    shape = shape_of(value)
    wide = insert(op, "broadcast_to", (bias,), TensorType.of(dtype_of(value), shape), shape=shape)
    total = insert(op, "add", (made, wide), op.results[0].type)  # type: ignore[arg-type]
    owner = made.owner
    assert isinstance(owner, Operation)
    return Found("convolution with batch norm", total, (x,), owner)


def _continues(op: Operation) -> bool:
    """Whether the one reader of a result is the next step."""
    if not is_used_once(op.results[0]):
        return False
    (use,) = op.results[0].uses
    reader = use.operation
    return reader.name.removeprefix("mo.") in _STEPS and _step(reader) is not None


def _step(op: Operation) -> tuple[SSAValue, np.ndarray] | None:
    """The operand of a step that is no constant, and the constant for each channel (axis -3)."""
    first, second = op.operands
    constant = _channels(second)
    if constant is not None:
        return first, constant
    constant = _channels(first) if op.name in ("mo.add", "mo.mul") else None
    return None if constant is None else (second, constant)


def _known(value: SSAValue, depth: int = 8) -> np.ndarray | None:
    """The array that a value holds: a constant, or what a few ops make of constants."""
    array = array_of(value)
    op = made_by(value, *_COMPUTED)
    if array is not None or op is None or not depth:
        return array
    if op.name in ("mo.reshape", "mo.broadcast_to"):
        shape = shape_of(value)
        inner = _known(op.operands[0], depth - 1)
        if inner is None or not all(isinstance(size, int) for size in shape):
            return None
        return inner.reshape(shape) if op.name == "mo.reshape" else np.broadcast_to(inner, shape)
    arrays = [_known(operand, depth - 1) for operand in op.operands]
    if any(one is None for one in arrays):
        return None
    with np.errstate(all="ignore"):
        return _COMPUTED[op.name.removeprefix("mo.")](*[one.astype(np.float64) for one in arrays if one is not None])


def _channels(value: SSAValue) -> np.ndarray | None:
    source = below(value, "broadcast_to")
    array = _known(below(source, "reshape"))
    if array is None or array.dtype.kind != "f" or len(shape_of(value)) != 4:
        return None
    shape = shape_of(source)
    padded = (*(1,) * (4 - len(shape)), *shape)
    if padded[0] != 1 or padded[2:] != (1, 1) or padded[1] not in (1, shape_of(value)[1]):
        return None
    return array.astype(np.float64).reshape(-1)
