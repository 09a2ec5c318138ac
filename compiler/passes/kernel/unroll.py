"""unroll: loops of no or one round, and short ones that are no longer without the loop around them.

LLVM unrolls what is longer, where that pays; until then a loop is less to print and to read.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, SSAValue

from compiler.dialects.operations import count_operations, put_before
from compiler.passes.kernel.census import Census, constant_of, drop, put_constant, replace, splice
from compiler.passes.kernel.sccp import propagate

MOST_ROUNDS = 4
LOOP_LINES = 7  # what a loop itself takes in LLVM IR: labels, phis, a comparison, branches


def unroll(census: Census) -> int:
    """Unroll, inner loops first; the change in the number of operations, counted as removed."""
    removed = 0
    for loop in reversed(census.loops):
        if census.is_gone(loop):
            continue
        bounds = [constant_of(value) for value in loop.operands[:3]]
        if any(bound is None for bound in bounds):
            continue
        lower, upper, step = bounds
        if step <= 0:
            continue
        rounds = max(-(-(upper - lower) // step), 0)
        if rounds > MOST_ROUNDS:
            continue
        body = count_operations(loop) - 1
        if rounds <= 1 or (rounds - 1) * body <= LOOP_LINES:
            census.mark(loop)
            census.edits += 1
            if rounds == 0:
                census.discard(loop)
            _rounds(loop, [lower + number * step for number in range(rounds)], census)
            removed += body + 2 - rounds * (body + 1)
    return removed


def _rounds(loop: scf.ForOp, positions: list[int], census: Census) -> None:
    values: list[SSAValue] = list(loop.operands[3:])
    positioned: list[SSAValue] = []
    for position in positions:
        last = position == positions[-1]
        turn: Operation = loop if last else loop.clone()
        if not last:
            put_before(turn, loop)
            census.enlist(turn.regions[0].blocks[0])
        at = put_constant(position, IndexType(), turn)
        values = splice(turn.regions[0].blocks[0], turn, [at, *values])
        positioned.append(at)
        if not last:
            drop(turn)
    replace(loop, values)
    # Where a round stands is a number now, and so is what is computed from it.
    propagate([use.operation for at in positioned for use in at.uses], census)
