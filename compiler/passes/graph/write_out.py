"""write out: a softmax whose result is reduced along the same axis becomes plain ops, so that one row kernel does all.

The opposite of recognising: a loss is a logarithm of a softmax, a choice and a sum, all of the same rows.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from compiler.dialects.mo import RECOGNISED, MoOp, TensorType, attrs_of
from compiler.graph.dtypes import DTYPES
from compiler.passes.graph.pattern import dtype_of, insert, is_reduced_along_rows, made_by, shape_of
from compiler.passes.graph.rewrite import replace


def write_out(op: MoOp) -> bool:
    """Write out a softmax if it is reduced."""
    made = op.results[0]
    if attrs_of(op)["axis"] != len(shape_of(made)) - 1 or not is_reduced_along_rows(made):
        return False
    _write(op)
    return True


def _write(op: MoOp) -> None:
    narrow = dtype_of(op.results[0])
    dtype = "f32" if DTYPES[narrow].bytes == 2 else narrow  # as the kernel computes it
    shape = shape_of(op.results[0])
    full = TensorType.of(dtype, shape)

    def spread(value: SSAValue) -> SSAValue:
        column = insert(op, "reshape", (value,), TensorType.of(dtype, (*shape[:-1], 1)), shape=(*shape[:-1], 1))
        return insert(op, "broadcast_to", (column,), full, shape=shape)

    def reduced(name: str, value: SSAValue) -> SSAValue:
        return insert(op, name, (value,), TensorType.of(dtype, shape[:-1]), axes=(len(shape) - 1,))

    x: Any = op.operands[0]
    if dtype != narrow:
        x = insert(op, "cast", (x,), full, dtype=dtype)
    shifted = insert(op, "sub", (x, spread(reduced("reduce_max", x))), full)
    power = insert(op, "exp", (shifted,), full)
    total = reduced("reduce_sum", power)
    if op.name == "mo.softmax":
        made = insert(op, "div", (power, spread(total)), full)
    else:
        logarithm = insert(op, "log", (total,), TensorType.of(dtype, shape[:-1]))
        made = insert(op, "sub", (shifted, spread(logarithm)), full)
    if dtype != narrow:
        made = insert(op, "cast", (made,), op.results[0].type, dtype=narrow)  # type: ignore[arg-type]
    owner = made_by(made, "sub", "div", "cast")
    assert owner is not None
    owner.attributes[RECOGNISED] = StringAttr(f"{op.name.removeprefix('mo.')}, written out for what reduces it")
    replace(op, made)
