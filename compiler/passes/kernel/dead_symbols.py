"""dead-symbols: functions that no kernel reaches."""

from __future__ import annotations

from xdsl.dialects import func

from compiler.dialects.operations import operations_in
from compiler.passes.kernel.census import Census, drop


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
        inside = operations_in(function)
        removed += 1 + len(inside)
        for callee in [call.callee.string_value() for call in inside if isinstance(call, func.CallOp)]:
            if callee in calls:
                calls[callee] -= 1
                if calls[callee] == 0:
                    waiting.append(callee)
        drop(function)
        del functions[name]
        census.edits += 1
    return removed
