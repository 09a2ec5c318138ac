"""licm: pure operations out of the loops that do not change them, in the functions that other passes changed."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, SSAValue

from compiler.passes.kernel.census import Census, may_run_early


def licm(census: Census) -> int:
    """Move operations before the loop whose values they do not need, inner loops first; none is taken out."""
    for function in census.changed.values():
        if function.body.blocks:
            census.edits += _block(function.body.blocks[0])
    return 0


def _block(block: Block) -> int:
    moved = 0
    operation = block.first_op
    while operation is not None:
        following = operation.next_op
        for region in operation.regions:
            for inner in region.blocks:
                moved += _block(inner)
        if isinstance(operation, scf.ForOp):
            moved += _hoist(operation)
        operation = following
    return moved


def _hoist(loop: scf.ForOp) -> int:
    moved = 0
    body = loop.regions[0].blocks[0]
    target = loop.parent
    assert target is not None
    operation = body.first_op
    while operation is not None:
        following = operation.next_op
        if may_run_early(operation) and not any(_home(value) is body for value in operation._operands):
            operation.detach()
            target.insert_op_before(operation, loop)
            moved += 1
        operation = following
    return moved


def _home(value: SSAValue) -> Block | None:
    """The block that a value is made in. What a block's own operations see is from there or from around it."""
    return value.block if isinstance(value, BlockArgument) else value.op.parent  # type: ignore[union-attr]
