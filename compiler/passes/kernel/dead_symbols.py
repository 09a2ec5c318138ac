"""dead-symbols: functions that no kernel reaches."""

from __future__ import annotations

from compiler.passes.kernel.census import Census
from compiler.trace import count_operations


def dead_symbols(census: Census) -> int:
    """Drop functions that nothing calls any more, and then those that only they called; the operations taken out."""
    removed = 0
    again = True
    while again:
        again = False
        for name, function in list(census.functions.items()):
            calls = census.calls.get(name, ())
            if (
                "kg.kernel" in function.attributes
                or not function.body.blocks
                or any(not census.is_gone(c) for c in calls)
            ):
                continue
            if not calls and not any("kg.kernel" in f.attributes for f in census.functions.values()):
                continue  # a module without kernels is a library: all of it is wanted
            removed += 1 + count_operations(function)
            for listed in census.calls.values():
                listed[:] = [call for call in listed if not function.is_ancestor(call)]
            function.detach()
            function.erase()
            del census.functions[name]
            again = True
    return removed
