"""licm: pure operations out of the loops that do not change them, in the functions that other passes changed."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

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
        if may_run_early(operation) and not any(_inside(value, loop) for value in operation.operands):
            operation.detach()
            target.insert_op_before(operation, loop)
            moved += 1
        operation = following
    return moved


def _inside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is made in a loop's body: by one of its operations or as one of its arguments."""
    owner = value.owner
    block = owner if isinstance(value, BlockArgument) else owner.parent  # type: ignore[union-attr]
    at: Operation | None = block.parent_op() if isinstance(block, Block) else None
    while at is not None:
        if at is loop:
            return True
        at = at.parent_op()
    return False
