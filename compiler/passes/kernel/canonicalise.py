"""canonicalise: integer identities (x + 0, x * 1, select on a constant, ...) that are left after elaboration."""

from __future__ import annotations

from typing import Any

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from compiler.passes.kernel.census import Census, constant_of, replace

_ADD = (arith.AddiOp, arith.OrIOp, arith.XOrIOp)
_SHIFT = (arith.SubiOp, arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp)
_DIVIDE = (arith.DivSIOp, arith.DivUIOp)


def canonicalise(census: Census) -> int:
    """Replace operations that only hand on an operand; the number taken out."""
    removed = 0
    for operation in census.foldable:
        if census.is_gone(operation):
            continue
        value = simpler(operation)
        if value is not None and value.type == operation.results[0].type:
            replace(operation, [value])
            removed += 1
    census.edits += removed
    return removed


def simpler(operation: Operation) -> SSAValue | None:
    """The operand that an operation is equal to, if any; integers only, so no rounding is in sight."""
    kind = type(operation)
    operands = operation.operands
    if kind is arith.SelectOp:
        chosen: Any = constant_of(operands[0])
        return None if chosen is None else operands[1] if chosen else operands[2]
    if len(operands) != 2:
        return None
    left, right = constant_of(operands[0]), constant_of(operands[1])
    if kind in _ADD:
        return operands[1] if left == 0 else operands[0] if right == 0 else None
    if kind in _SHIFT:
        return operands[0] if right == 0 else None
    if kind in _DIVIDE:
        return operands[0] if right == 1 else None
    if kind is arith.MuliOp:
        if left == 0 or right == 0:
            return operands[0] if left == 0 else operands[1]
        return operands[1] if left == 1 else operands[0] if right == 1 else None
    return None
