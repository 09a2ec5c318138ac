"""What an op costs, read off its definition in the library: the operations in it, and in the functions it calls."""

from __future__ import annotations

import ast

from compiler.passes.fusion.records import KernelLibrary

_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.Call, ast.IfExp, ast.For, ast.While)


class Work:
    """The work of a library's definitions."""

    def __init__(self, library: KernelLibrary) -> None:
        self._library = library
        self._work: dict[str, int] = {}

    def of(self, name: str, depth: int = 4) -> int:
        """The operations in a definition of the library and in those it calls."""
        if name in self._work:
            return self._work[name]
        self._work[name] = 1  # for a definition that calls itself
        found = self._library.find(name)
        total = 0
        for node in (inner for statement in found.body for inner in ast.walk(statement)) if found is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and depth:
                total += self.of(node.func.id, depth - 1)
            elif isinstance(node, _OPERATIONS):
                total += 1
        self._work[name] = max(total, 1)
        return self._work[name]
