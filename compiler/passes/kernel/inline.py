"""inline: along the call graph, a helper that is called once moves to where it is called.

What that brings together is left as it is: LLVM IR prints constants where they are used, and nothing else repeats.
Helpers that are called more often are expanded when LLVM IR is printed, which copies text and not operations; outlined
functions stay, as they are shared on purpose.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc

from compiler.dialects.operations import operations_in
from compiler.passes.kernel.census import Census, drop, replace, splice


def inline(census: Census) -> int:
    """Move bodies; the number of operations taken out (a call, a return and a function each time)."""
    removed = 0
    for name, calls in census.calls.items():
        helper = census.functions.get(name)
        if helper is None or len(calls) != 1 or "kg.inline" not in helper.attributes or census.is_gone(calls[0]):
            continue
        (call,) = calls
        _move(call, helper)
        drop(helper)
        del census.functions[name]
        removed += 3
    census.edits += removed
    return removed


def _move(call: func.CallOp, helper: func.FuncOp) -> None:
    if isinstance(call.location, FileLineColLoc):
        _relocate(helper, call.location)
    replace(call, splice(helper.body.blocks[0], call, list(call.operands)))


def _relocate(helper: func.FuncOp, place: FileLineColLoc) -> None:
    """The graph nodes of the call (the column) are those of what it calls; file and line stay the helper's own."""
    made: dict[int, FileLineColLoc] = {}
    for operation in operations_in(helper):
        old = operation.location
        if isinstance(old, FileLineColLoc):
            new = made.get(id(old))
            if new is None:
                new = made[id(old)] = FileLineColLoc(old.filename, old.line, place.column)
            operation.location = new
