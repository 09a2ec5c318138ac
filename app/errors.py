"""The failures that only the program knows, and the exit status each error ends it with."""

from __future__ import annotations

from compiler.errors import CompilerError, UnavailableError

OK, BAD_INPUT, COMPILATION_FAILED, UNAVAILABLE, CHECK_FAILED, UNTOLD, INTERRUPTED = 0, 2, 3, 4, 5, 6, 130
TERMINATED = 143
"""By SIGTERM, of a command that took down in order what it had made; others end by the signal itself."""


class CompilationFailed(CompilerError):
    """A graph that loaded but did not compile; wraps the compiler's own words."""


class CheckFailed(CompilerError):
    """Results that differ from the reference by more than their dtype allows."""


class CannotTell(CompilerError):
    """A gate that has no verdict: neither passed nor failed."""


_STATUS = {
    UnavailableError: UNAVAILABLE, CompilationFailed: COMPILATION_FAILED, CheckFailed: CHECK_FAILED, CannotTell: UNTOLD,
}  # fmt: skip


def exit_status(error: CompilerError) -> int:
    """The exit status that tells a script what kind of failure this was."""
    return next((status for kind, status in _STATUS.items() if isinstance(error, kind)), BAD_INPUT)
