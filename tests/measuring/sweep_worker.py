"""The process that compiles cells of a sweep, as the tests have it that call the command in their own process: what it
is born of stays for the next sweep."""

from __future__ import annotations

from app.sweep.child import KNOWN, LATER, prepare, serve
from compiler.processes.nursery import Nursery

__all__ = ["KNOWN", "LATER", "LastingNursery", "prepare", "serve"]


class LastingNursery(Nursery):
    """One that a sweep does not end: to load the compiler again takes longer than most of their cells do."""

    def __init__(self, module: str = __name__) -> None:
        super().__init__(module, keep_methods=True)

    def close(self) -> None:
        """Not yet."""

    def close_at_last(self) -> None:
        """End it."""
        super().close()
