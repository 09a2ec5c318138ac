"""dce: drops operations whose values nobody uses."""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from compiler.dialects import kgen

_EXTRA = (memref.LoadOp, memref.AllocaOp)
_KNOWN: dict[type[Operation], bool] = {}


def dce(module: ModuleOp) -> int:
    """Remove dead operations, last ones first so that chains go at once; the number removed."""
    removed = 0
    for function in module.body.block.ops:
        for region in function.regions:
            for block in region.blocks:
                removed += _block(block)
    return removed


def _block(block: Block) -> int:
    removed = 0
    operation = block.last_op
    while operation is not None:
        previous = operation.prev_op
        for region in operation.regions:
            for inner in region.blocks:
                removed += _block(inner)
        if operation.results and _droppable(operation) and not any(r.first_use for r in operation.results):
            operation.detach()
            operation.erase()
            removed += 1
        operation = previous
    return removed


def _droppable(operation: Operation) -> bool:
    if operation.regions:
        return False
    kind = type(operation)
    if kind is kgen.CallOp:
        return "effects" not in operation.properties
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = kind in _EXTRA or kind.name == "vector.load" or is_side_effect_free(operation)
    return known
