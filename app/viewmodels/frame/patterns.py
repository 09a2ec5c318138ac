"""Expressions that people type: matched without holding the interpreter, and given up when they take too long.

Python's own engine keeps the interpreter to itself while it matches. An expression that backtracks without end would
freeze the window with everything in it, from whatever thread it runs in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SECONDS = 2.0  # for one piece of a text; an ordinary expression takes milliseconds
TOO_SLOW = "takes too long to match; make it more exact"


class TooSlowError(ValueError):
    """An expression was given up."""


@dataclass(frozen=True)
class Pattern:
    """A compiled expression over bytes."""

    compiled: Any

    def spans(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where it matches, empty matches left out; TooSlowError when it takes too long."""
        try:
            for match in self.compiled.finditer(data, timeout=SECONDS, concurrent=True):
                if match.end() > match.start():
                    yield match.span()
        except TimeoutError:
            raise TooSlowError(TOO_SLOW) from None

    def found(self, data: bytes) -> bool:
        """Whether it matches anywhere."""
        try:
            return self.compiled.search(data, timeout=SECONDS, concurrent=True) is not None
        except TimeoutError:
            raise TooSlowError(TOO_SLOW) from None


def compile_pattern(source: str) -> Pattern:
    """Compile an expression; ValueError says what is wrong with it."""
    import regex  # not before it is needed: the window starts without it

    try:
        return Pattern(regex.compile(source.encode(), regex.MULTILINE))
    except (regex.error, RecursionError) as error:
        raise ValueError(str(error).split(" at ")[0] or "the expression is too deep") from None
