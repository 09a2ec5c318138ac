"""sccp: constants through integer arithmetic, branches that constants decide, loop values that never change."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from compiler.passes.kernel.census import Census, constant_of, put_constant, replace, splice

_FOLD: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b, arith.SubiOp: lambda a, b: a - b, arith.MuliOp: lambda a, b: a * b,
    arith.AndIOp: lambda a, b: a & b, arith.OrIOp: lambda a, b: a | b, arith.XOrIOp: lambda a, b: a ^ b,
    arith.MinSIOp: min, arith.MaxSIOp: max,
}  # fmt: skip
_COMPARE: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b,
    lambda a, b: a >= b,
)  # fmt: skip


def sccp(census: Census) -> int:
    """Propagate until nothing more is known; the number of operations taken out."""
    removed = 0
    propagate(census.foldable, census)
    for branch in census.branches:
        if not census.is_gone(branch):
            removed += _decide(branch, census)
    for loop in census.loops:
        if not census.is_gone(loop):
            census.edits += _unchanging(loop)
    return removed


def propagate(operations: Iterable[Operation], census: Census) -> None:
    """Turn operations on constants into constants, and then what uses them."""
    waiting = deque(operations)
    while waiting:
        operation = waiting.popleft()
        if census.is_gone(operation):
            continue
        folded = _folded(operation)
        if folded is not None:
            users = [use.operation for use in operation.results[0].uses]
            replace(operation, [put_constant(folded, operation.results[0].type, operation)])
            census.edits += 1
            waiting.extend(user for user in users if user.results and not user.regions)


def _folded(operation: Operation) -> int | None:
    kind = type(operation)
    operands = operation.operands
    if kind is not arith.CmpiOp and kind not in _FOLD:
        return None
    if not isinstance(operation.results[0].type, (IndexType, IntegerType)):
        return None
    left, right = constant_of(operands[0]), constant_of(operands[1])
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    if kind is arith.CmpiOp:
        predicate: Any = operation.properties["predicate"]
        number = predicate.value.data
        return -int(_COMPARE[number](left, right)) if number < len(_COMPARE) else None
    return _wrapped(_FOLD[kind](left, right), operation.results[0].type)


def _wrapped(value: int, kind: Attribute) -> int:
    bits = kind.width.data if isinstance(kind, IntegerType) else 64
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _decide(branch: scf.IfOp, census: Census) -> int:
    """Put the arm that runs in place of a branch whose condition is known."""
    condition = constant_of(branch.operands[0])
    if condition is None:
        return 0
    census.mark(branch)
    census.edits += 1
    taken = branch.regions[0] if condition else branch.regions[1]
    values: list[SSAValue] = splice(taken.blocks[0], branch, []) if taken.blocks else []
    removed = census.discard(branch) + bool(taken.blocks)  # a terminator
    replace(branch, values)
    return removed


def _unchanging(loop: scf.ForOp) -> int:
    """A value that a loop hands from round to round untouched is what it was before the loop; how many there were."""
    found = 0
    body = loop.regions[0].blocks[0]
    last = body.last_op
    if last is None:
        return 0
    for position, (argument, handed) in enumerate(zip(body.args[1:], last.operands, strict=True)):
        initial = loop.operands[3 + position]
        if handed is not argument:
            continue
        used = any(use.operation is not last for use in argument.uses)
        if used or loop.results[position].first_use is not None:
            argument.replace_uses_with_if(initial, lambda use: use.operation is not last)
            loop.results[position].replace_all_uses_with(initial)
            found += 1
    return found
