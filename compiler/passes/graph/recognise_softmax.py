"""Softmax: its powers are divided by their sum, which is cheaper as a product with the sum's reciprocal."""

from __future__ import annotations

import numpy as np

from compiler.dialects.mo import MoOp, TensorType
from compiler.graph.dtypes import numpy_dtype
from compiler.passes.graph.pattern import Found, dtype_of, insert, made_by, over_last_axis, shape_of

_WIDE = ("f32", "f64")  # what a reciprocal loses in narrower floats would show


def softmax(op: MoOp) -> Found | None:
    """exp(x - max(x)) / sum(exp(x - max(x))) along the last axis: the sum is at least 1, so its reciprocal is safe."""
    power, total = op.operands
    shape, dtype = shape_of(power), dtype_of(power)
    summed = over_last_axis(total, shape, "reduce_sum") if dtype in _WIDE and made_by(power, "exp") else None
    if summed is None or summed.operands[0] is not power:
        return None
    raised = made_by(power, "exp")
    shifted = made_by(raised.operands[0], "sub") if raised is not None else None
    largest = over_last_axis(shifted.operands[1], shape, "reduce_max") if shifted is not None else None
    if shifted is None or largest is None or largest.operands[0] is not shifted.operands[0]:
        return None
    rows, column = TensorType.of(dtype, shape[:-1]), TensorType.of(dtype, (*shape[:-1], 1))
    one = insert(op, "constant", (), TensorType.of(dtype, ()), value=np.array(1, numpy_dtype(dtype)))
    if shape[:-1]:
        one = insert(op, "broadcast_to", (one,), rows, shape=shape[:-1])
    inverse = insert(op, "div", (one, summed.results[0]), rows)
    spread = insert(op, "reshape", (inverse,), column, shape=(*shape[:-1], 1))
    spread = insert(op, "broadcast_to", (spread,), op.results[0].type, shape=shape)  # type: ignore[arg-type]
    made = insert(op, "mul", (power, spread), op.results[0].type)  # type: ignore[arg-type]
    return Found("softmax, by the reciprocal of the sum", made, (power, summed.results[0]))
