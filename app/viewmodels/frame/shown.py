"""What is on the screen, as far as a command line brings it back."""

from __future__ import annotations

from dataclasses import dataclass

LAYOUT_NAMES = ("linked", "performance", "compile_time", "compare_layout")
"""The layouts for the jobs, by the names that commands and command lines know them by."""


@dataclass(frozen=True)
class Shown:
    """How a source is compiled, and what of it is in sight; None and nothing where that does not matter."""

    target: str | None = None
    flow: str | None = None
    opt_level: int | None = None
    cuts: frozenset[tuple[str, str]] = frozenset()
    fuses: frozenset[tuple[str, str]] = frozenset()
    layout: str = ""
    view: str = ""
    selected: tuple[str, ...] = ()

    @property
    def choices(self) -> dict[str, object]:
        """What was chosen of how to compile."""
        asked = {"target": self.target, "flow": self.flow, "opt_level": self.opt_level}
        return {name: value for name, value in asked.items() if value is not None}
