"""Messages that every kind of child has: an error that a user can cause, on its way to whoever asked."""

from __future__ import annotations

from dataclasses import dataclass

import compiler.errors
from compiler.errors import CompilerError, ExecutionError, Location


@dataclass(frozen=True)
class Refusal:
    """An error of the compiler's as plain data."""

    kind: str
    message: str
    location: Location | None = None


def refusal(error: CompilerError) -> Refusal:
    """An error, to be sent."""
    return Refusal(type(error).__name__, error.message, error.location)


def remade(found: Refusal) -> CompilerError:
    """The error that was sent; one of a kind that is not the compiler's own is an ExecutionError."""
    kind = getattr(compiler.errors, found.kind, ExecutionError)
    known = isinstance(kind, type) and issubclass(kind, CompilerError)
    return (kind if known else ExecutionError)(found.message, found.location)
