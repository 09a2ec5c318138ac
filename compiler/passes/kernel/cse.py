"""cse: equal pure operations once, in the functions that other passes changed."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from xdsl.ir import Block, SSAValue

from compiler.passes.kernel.census import Census, is_pure, replace


def cse(census: Census) -> int:
    """Merge equal operations whose first one is in sight of the others; the number taken out."""
    changed = [function for function in census.changed.values() if function.body.blocks]
    removed = sum(_block(function.body.blocks[0], {}) for function in changed)
    census.edits += removed
    return removed


def _block(block: Block, outer: dict[Any, SSAValue]) -> int:
    known = dict(outer)
    removed = 0
    operation = block.first_op
    while operation is not None:
        following = operation.next_op
        if operation.regions:
            for region in operation.regions:
                for inner in region.blocks:
                    removed += _block(inner, known)
        elif len(operation.results) == 1 and is_pure(operation):
            key = (
                type(operation), tuple(map(id, operation._operands)), operation.results[0].type,
                tuple(operation.properties.items()), tuple(operation.attributes.items()),
            )  # fmt: skip
            first = known.get(key)
            if first is None:
                known[key] = operation.results[0]
            else:
                replace(operation, [first])
                removed += 1
        operation = following
    return removed
