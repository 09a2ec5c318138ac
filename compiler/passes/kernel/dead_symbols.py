"""dead-symbols: functions that no kernel reaches."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Block

from compiler.passes.kernel.census import Census


def dead_symbols(census: Census) -> int:
    """Drop functions that nothing calls any more, and then those that only they called; the operations taken out."""
    functions = census.functions
    if not any("kg.kernel" in function.attributes for function in functions.values()):
        return 0  # a module without kernels is a library: all of it is wanted
    calls = {name: sum(not census.is_gone(call) for call in census.calls.get(name, ())) for name in functions}
    removed = 0
    waiting = [name for name, count in calls.items() if count == 0]
    while waiting:
        name = waiting.pop()
        function = functions[name]
        if "kg.kernel" in function.attributes or not function.body.blocks:
            continue
        called: list[str] = []
        removed += 1 + sum(_look(block, called) for block in function.body.blocks)
        for callee in called:
            if callee in calls:
                calls[callee] -= 1
                if calls[callee] == 0:
                    waiting.append(callee)
        function.detach()
        function.erase()
        del functions[name]
        census.edits += 1
    return removed


def _look(block: Block, called: list[str]) -> int:
    """How many operations there are in a block; with the names of those it calls."""
    count = 0
    for operation in block.ops:
        count += 1
        if isinstance(operation, func.CallOp):
            called.append(operation.callee.string_value())
        for region in operation.regions:
            count += sum(_look(inner, called) for inner in region.blocks)
    return count
