"""Symbolic sizes from text: what a user writes, what `str()` of one prints, and what is wrong with any other text."""

from __future__ import annotations

import re

from compiler.errors import ParseError
from compiler.graph.dims import Dim, floordiv, is_name, maximum, minimum, mod, symbol

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*)|(//|[-+*%(),]))")


def dim(value: int | str | Dim) -> int | Dim:
    """A size from what a user writes: a number, a name or an expression over names such as 'M*8 + 1'."""
    if isinstance(value, Dim):
        return value
    if isinstance(value, str):
        return symbol(value) if is_name(value) else parse_dim(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ParseError(f"a dim is a whole number or a name, not {value!r}")
    return value.__index__()


def parse_dim(text: str) -> int | Dim:
    """Read what `str()` of a size prints; a text that does not read is a ParseError."""
    tokens: list[str] = []
    position = 0
    while position < len(text.rstrip()):
        match = _TOKEN.match(text, position)
        if not match:
            raise ParseError(f"cannot read the dim {text!r} at {text[position:]!r}")
        tokens.append(match.group().strip())
        position = match.end()
    if len(tokens) > 400:
        raise ParseError("dim expression is too long")
    value, rest = _parse_sum(tokens, text)
    if rest:
        raise ParseError(f"cannot read the dim {text!r} at {rest[0]!r}")
    return value


def _parse_sum(tokens: list[str], text: str) -> tuple[int | Dim, list[str]]:
    negative = bool(tokens) and tokens[0] == "-"
    value, tokens = _parse_product(tokens[1:] if negative else tokens, text)
    value = -value if negative else value
    while tokens and tokens[0] in "+-":
        sign, (right, rest) = tokens[0], _parse_product(tokens[1:], text)
        value, tokens = (value + right if sign == "+" else value - right), rest
    return value, tokens


def _parse_product(tokens: list[str], text: str) -> tuple[int | Dim, list[str]]:
    value, tokens = _parse_atom(tokens, text)
    while tokens and tokens[0] in ("*", "//", "%"):
        sign, (right, rest) = tokens[0], _parse_atom(tokens[1:], text)
        if right == 0 and sign != "*":
            raise ParseError(f"the dim {text!r} divides by zero")
        value = value * right if sign == "*" else floordiv(value, right) if sign == "//" else mod(value, right)
        tokens = rest
    return value, tokens


def _parse_atom(tokens: list[str], text: str) -> tuple[int | Dim, list[str]]:
    if not tokens:
        raise ParseError(f"the dim {text!r} ends too early")
    head, tokens = tokens[0], tokens[1:]
    if head.isdigit():
        return int(head), tokens
    if head in ("min", "max") and tokens[:1] == ["("]:
        left, tokens = _parse_sum(tokens[1:], text)
        if tokens[:1] != [","]:
            raise ParseError(f"the dim {text!r} lacks a ',' after {head}(")
        right, tokens = _parse_sum(tokens[1:], text)
        return (minimum if head == "min" else maximum)(left, right), _close(tokens, text)
    if head == "(":
        value, tokens = _parse_sum(tokens, text)
        return value, _close(tokens, text)
    if is_name(head):
        return symbol(head), tokens
    raise ParseError(f"cannot read the dim {text!r} at {head!r}")


def _close(tokens: list[str], text: str) -> list[str]:
    if tokens[:1] != [")"]:
        raise ParseError(f"the dim {text!r} lacks a ')'")
    return tokens[1:]
