"""Python's syntax as the language calls it: signs of operators, and the words for what it does not have."""

from __future__ import annotations

import ast

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not",
}  # fmt: skip
_WORDS = {
    "FunctionDef": "def", "ClassDef": "class", "Delete": "del", "ImportFrom": "import", "AsyncFunctionDef": "async def",
    "NamedExpr": ":=", "DictComp": "dict comprehension", "SetComp": "set comprehension", "AsyncFor": "async for",
    "AsyncWith": "async with", "TryStar": "try", "YieldFrom": "yield from", "Starred": "*",
}  # fmt: skip


def syntax_name(node: ast.AST) -> str:
    """How messages call a kind of syntax."""
    name = type(node).__name__
    return _WORDS.get(name, name.lower())
