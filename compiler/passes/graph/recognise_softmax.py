"""Softmax written out: the op of that name, unless it is better as part of a kernel that does more with its rows.

There too powers are not divided by their sum, as multiplying with the sum's reciprocal is cheaper.
"""

from __future__ import annotations

import numpy as np

from compiler.dialects.mo import MoOp, TensorType
from compiler.graph.dtypes import numpy_dtype
from compiler.passes.graph.pattern import (
    Found,
    comes_from_reduced_rows,
    dtype_of,
    insert,
    is_reduced_along_rows,
    made_by,
    ops_between,
    over_last_axis,
    shape_of,
)

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
    x, result = shifted.operands[0], op.results[0]
    alone = {shifted, largest, raised, summed} <= set(ops_between(op, (x,)))
    if alone and not is_reduced_along_rows(result) and not comes_from_reduced_rows(x):
        return Found("softmax", insert(op, "softmax", (x,), result.type, axis=len(shape) - 1), (x,))  # type: ignore[arg-type]
    rows, column = TensorType.of(dtype, shape[:-1]), TensorType.of(dtype, (*shape[:-1], 1))
    one = insert(op, "constant", (), TensorType.of(dtype, ()), value=np.array(1, numpy_dtype(dtype)))
    if shape[:-1]:
        one = insert(op, "broadcast_to", (one,), rows, shape=shape[:-1])
    inverse = insert(op, "div", (one, summed.results[0]), rows)
    spread = insert(op, "reshape", (inverse,), column, shape=(*shape[:-1], 1))
    spread = insert(op, "broadcast_to", (spread,), result.type, shape=shape)  # type: ignore[arg-type]
    made = insert(op, "mul", (power, spread), result.type)  # type: ignore[arg-type]
    return Found("softmax, by the reciprocal of the sum", made, (power, summed.results[0]))
