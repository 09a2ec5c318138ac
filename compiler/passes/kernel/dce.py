"""dce: drops operations whose values nobody uses."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from compiler.dialects import kgen

_EXTRA = (memref.LoadOp, memref.AllocaOp)
_KNOWN: dict[type[Operation], bool] = {}


def dce(module: ModuleOp) -> tuple[int, int]:
    """Remove dead operations, last ones first so that chains go at once; how many there were and how many there are."""
    count = removed = 0
    for function in module.body.block.ops:
        count += 1
        for region in function.regions:
            block = region._first_block
            while block is not None:
                found, gone = _block(block)
                count += found
                removed += gone
                block = block._next_block
    return count, count - removed


def _block(block: Block) -> tuple[int, int]:
    """How many operations there were in a block, and how many of them are gone."""
    count = removed = 0
    operation = block._last_op
    while operation is not None:
        count += 1
        previous = operation._prev_op
        if operation.regions:
            for region in operation.regions:
                inner = region._first_block
                while inner is not None:
                    found, gone = _block(inner)
                    count += found
                    removed += gone
                    inner = inner._next_block
        elif operation.results:
            for result in operation.results:
                if result.first_use is not None:
                    break
            else:
                if _droppable(operation):
                    operation.detach()
                    operation.erase()
                    removed += 1
        operation = previous
    return count, removed


def _droppable(operation: Operation) -> bool:
    kind = type(operation)
    if kind is kgen.CallOp:
        return "effects" not in operation.properties
    known = _KNOWN.get(kind)
    if known is None:
        known = _KNOWN[kind] = kind in _EXTRA or kind.name == "vector.load" or is_side_effect_free(operation)
    return known
