"""What a view does to positions, read off its definition: the one method of its operand that it returns."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.language.library import Library
    from compiler.language.syntax.functions import Generator

_METHODS = {"permute": 1, "reshape": 1, "broadcast": 1, "slice": 3}


def view_method(library: Library, definition: str) -> str:
    """permute, reshape, broadcast or slice when that is all the view does with its parameters; else an empty string.

    A view that does more can still be read through; only storing through it and walking its axes as one need to know.
    """
    generator = library.find(definition)
    return "" if generator is None else _method(generator)


@lru_cache(maxsize=256)
def _method(generator: Generator) -> str:
    body = [s for s in generator.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return ""
    call = body[0].value
    target, arguments = call.func, call.args
    operand = generator.arguments[0][0]
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name) or target.value.id != operand:
        return ""
    parameters = [p.name for p in generator.parameters]
    plain = [a.id for a in arguments if isinstance(a, ast.Name)]
    if plain != parameters or call.keywords or _METHODS.get(target.attr) != len(arguments):
        return ""
    return target.attr
