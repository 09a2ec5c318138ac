"""Every error a user can cause. Each says what happened, where, and what to do; none of them is a bug of ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """A place in a file a user can open; `line` and `column` count from 1, 0 means unknown."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        if self.line:
            parts.append(str(self.line))
            if self.column:
                parts.append(str(self.column))
        return ":".join(parts)


class CompilerError(Exception):
    """Base of every error a user can cause; `str()` of it is one line, with the location first when there is one."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location

    def __str__(self) -> str:
        return f"{self.location}: {self.message}" if self.location else self.message


class GraphError(CompilerError):
    """A graph that cannot be built: shapes, dtypes or values that do not fit the op."""


class ParseError(CompilerError):
    """A text (MLIR, dimension, file) that does not read."""


class KernelError(CompilerError):
    """A kernel source that breaks a rule of the kernel language, or a library that lacks a kernel."""


class LoweringError(CompilerError):
    """A graph or kernel that a target cannot express."""


class ExecutionError(CompilerError):
    """Arguments that do not fit a compiled model: number, dtype, shape, or a symbol bound to two sizes."""


class UnavailableError(CompilerError):
    """A device, driver or tool that is not on this machine."""
