"""Whether a kernel minds how its operands lie in memory, read off its definition.

A kernel walks the last axis of what it reads. One that asks which axis is contiguous has another way to go where that
is not the last; any other then takes a cache line for every element.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.language.library import Library
    from compiler.language.syntax.functions import Generator

_QUESTIONS = frozenset({"is_contiguous", "can_map"})
_CARDS = frozenset({"is_gpu", "is_nvidia"})


def asks_for_layout(library: Library, definition: str, *, on_card: bool) -> bool:
    """Whether what a processor or a card does of a definition, or of the functions that it calls, asks what is
    contiguous."""
    generator = library.find(definition)
    return generator is not None and _asks(library, generator, on_card)


@lru_cache(maxsize=1024)
def _asks(library: Library, generator: Generator, on_card: bool) -> bool:
    waiting, seen = [generator], {generator.name}
    while waiting:
        asks, names = _own_words(waiting.pop(), on_card)
        if asks:
            return True
        for name in names - seen:
            seen.add(name)
            called = library.find(name)
            if called is not None:
                waiting.append(called)
    return False


@lru_cache(maxsize=4096)
def _own_words(generator: Generator, on_card: bool) -> tuple[bool, frozenset[str]]:
    """Whether a definition asks itself, and the names in it; kernels have most of what they call in common."""
    names: set[str] = set()
    for node in _reached(generator.body, on_card):
        word = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if word in _QUESTIONS:
            return True, frozenset()
        if isinstance(node, ast.Name):
            names.add(word)
    return False, frozenset(names)


def _reached(nodes: tuple[ast.AST, ...], on_card: bool) -> Iterator[ast.AST]:
    """The syntax under some nodes, without the branches for cards; or, where one has them, without the others."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and _is_for_cards(node.test):
            if on_card:
                others = [part for part in node.orelse if isinstance(part, ast.If) and _is_for_cards(part.test)]
                waiting += [node.test, *node.body, *others]
            else:
                waiting += node.orelse
            continue
        yield node
        waiting += ast.iter_child_nodes(node)


def _is_for_cards(test: ast.expr) -> bool:
    """Whether a condition can only hold on a card."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and any(map(_is_for_cards, test.values))
    return isinstance(test, ast.Attribute) and test.attr in _CARDS
