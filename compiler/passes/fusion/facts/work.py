"""What computing an element takes, read off the kernel's definition, and when a broadcast may have it done again.

An op that calls functions of the library (an exponential, say) is work; one that the machine has an instruction for is
not. Counted are the operations in its text and in that of the functions it calls, each once: an estimate, which decides
and stands in the ledger.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from compiler.graph.dims import Dim
from compiler.passes.fusion.records import KernelLibrary

if TYPE_CHECKING:
    from compiler.language.syntax.functions import Generator

LIGHT = 20  # operations that are computed again rather than stored and loaded
_STEP = 1 << 14  # operations in the time that one more kernel takes, everybody waiting for it
_KINDS = frozenset({"function", "outlined", "elementwise", "inline"})


def work_of(library: KernelLibrary, definition: str) -> int:
    """Operations that the definition of an elementwise op comes to for one element; at least 1."""
    generator = library.find(definition)
    return 1 if generator is None else max(_operations(library, generator), 1)


@lru_cache(maxsize=1024)
def _operations(library: KernelLibrary, generator: Generator) -> int:
    waiting, seen, found = [generator], {generator.name}, 0
    while waiting:
        for statement in waiting.pop().body:
            for node in ast.walk(statement):
                found += isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in seen:
                    seen.add(node.func.id)
                    called = library.find(node.func.id)
                    if called is None:
                        found += 1
                    elif called.kind in _KINDS:
                        waiting.append(called)
    return found


def why_not_repeat(work: int, elements: int | Dim, wanted: int | Dim) -> str:
    """Why an expression of so much work had better be stored than computed again, for all that are wanted of it; empty
    when it had not. Sizes that are not known yet are taken to be large."""
    if work <= LIGHT:
        return ""
    if isinstance(elements, int) and isinstance(wanted, int):
        again = work * (wanted - elements)
        if again <= _STEP:
            return ""
        times = f"{wanted // max(elements, 1)} times each"
        return f"a broadcast would compute {elements} elements of about {work} operations {times}"
    return f"a broadcast would compute elements of about {work} operations again and again"
