"""Elaboration that notes what it depends on, so that the caches know when a kernel must be elaborated again."""

from __future__ import annotations

from typing import Any

from compiler.language.elaborate import Elaborator, LanguageTarget
from compiler.language.library import Library


class WatchedElaborator(Elaborator):
    """Notes which library names a kernel depends on, also through functions that another kernel instantiated."""

    def __init__(self, library: Library, target: LanguageTarget) -> None:
        super().__init__(library, target)
        self.looked_up: set[str] = set()
        self._behind: dict[Any, set[str]] = {}  # a function -> what its instances looked up

    def lookup(self, name: str) -> Any:
        """Note the name, found or not."""
        self.looked_up.add(name)
        return super().lookup(name)

    def instantiate(self, run: Any, generator: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Note what the function looks up, now or when it was first instantiated."""
        outer, self.looked_up = self.looked_up, set()
        try:
            return super().instantiate(run, generator, args, kwargs)
        finally:
            behind = self._behind.setdefault(generator, set())
            behind |= self.looked_up
            self.looked_up = outer
            outer |= behind
