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

if TYPE_CHECKING:
    from compiler.language.library import Library
    from compiler.language.syntax.functions import Generator

LIGHT = 20  # operations that are computed again rather than stored and loaded
STEP = 1 << 14  # operations in the time that one more kernel takes, everybody waiting for it
_SINGLE_LIGHT, _SINGLE_STEP = 8, 1 << 12  # the same two of operations that are done for one element at a time
# Results that are stored in turn at no cost while a loop computes: with more of them, and work between them that takes
# so many operations, a Neoverse N1 waits for each line of caches that the results do not fit in, which are so large.
_STREAMS, _LONG, _NEAR = 4, 60, 1 << 17
# Elements of a vector of the widest registers, and rows in which a part of one is a share of the time.
_VECTOR, _SHORT = 16, 512
_KINDS = frozenset({"function", "outlined", "elementwise", "inline"})


def work_of(library: Library, definition: str) -> int:
    """Operations that the definition of an elementwise op comes to for one element; at least 1."""
    generator = library.find(definition)
    return 1 if generator is None else max(_operations(library, generator), 1)


@lru_cache(maxsize=1024)
def _operations(library: Library, generator: Generator) -> int:
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
        if again <= STEP:
            return ""
        times = f"{wanted // max(elements, 1)} times each"
        return f"a broadcast would compute {elements} elements of about {work} operations {times}"
    return f"a broadcast would compute elements of about {work} operations again and again"


def why_not_twice(work: int, elements: int | Dim, times: int) -> str:
    """Why an expression of so much work had better be stored than computed so many times for each element; empty when
    it had not. A kernel of its own is worth its time where the sizes are known to be large."""
    if work <= LIGHT or times < 2 or not isinstance(elements, int) or work * elements * (times - 1) <= STEP:
        return ""
    return f"would compute {elements} elements of about {work} operations {times} times each"


def why_not_singly(work: int, elements: int | Dim) -> str:
    """Why so much work had better not be done one element at a time; empty when it does not matter."""
    if work <= _SINGLE_LIGHT or not isinstance(elements, int) or work * elements <= _SINGLE_STEP:
        return ""
    return f"would compute {elements} elements of about {work} operations one at a time, not in vectors"


def why_not_another(work: int, before: int, elements: int | Dim) -> str:
    """Why dear work on a kernel's results had better not be followed there by more of it: a kernel has few of them at
    a time, so that one waits for the other, where a loop of its own has several to go on with. Empty when it may."""
    if work <= LIGHT or not before or (isinstance(elements, int) and work * elements <= STEP):
        return ""
    return f"{work} operations after {before} are done sooner in a loop of their own, which has more elements at hand"


def why_not_in_rows(work: int, row: int | Dim, elements: int | Dim) -> str:
    """Why so much work had better not be done on the results of a kernel that goes through one row after the other,
    each so long: the end of a short row fills only part of a vector, and all wait for it. Empty when it may."""
    short = isinstance(row, int) and row % _VECTOR != 0 and row <= _SHORT
    if work <= LIGHT or not short or (isinstance(elements, int) and work * elements <= STEP):
        return ""
    return f"rows of {row} end within a vector: {work} operations are done sooner in a loop that has no rows"


def why_not_beside(work: int, stored: int, elements: int | Dim) -> str:
    """Why so much dear work had better not be done in a loop that stores so many results, each of so many elements;
    empty when it may."""
    if work <= _LONG or stored <= _STREAMS or (isinstance(elements, int) and elements < _NEAR):
        return ""
    return f"{work} operations are done sooner in a loop that does not store {stored} results"


def why_not_inside(work: int, elements: int | Dim, kernel: str) -> str:
    """Why a kernel had better not do an op of so much work while it loads: one that is no plain reduction may ask for
    an element several times, or for fewer at once than a register holds. Empty when it does not matter."""
    if work <= LIGHT or (isinstance(elements, int) and work * elements <= STEP):
        return ""
    return f"{kernel} may ask for an element more than once, each of about {work} operations: it is stored"
