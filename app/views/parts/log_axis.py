"""A logarithmic axis with plain numbers: every decade, and 2 and 5 between them where there is room for words."""

from __future__ import annotations

from collections.abc import Sequence

from pyqtgraph import AxisItem

_ROOM = {"bottom": 36.0, "left": 20.0}  # pixels a number needs along the axis


class LogAxis(AxisItem):
    """Ticks stay where pyqtgraph puts them; only those that can be read are given a number. What is drawn along it is
    given as logarithms."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.setLogMode(True)  # type: ignore[arg-type]  annotated as if it were given a tuple

    def logTickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        """Numbers for the ticks of one level; nothing for those that would run into their neighbours."""
        low, high = self.range
        length = self.width() if self.orientation == "bottom" else self.height()
        decade = length / max(high - low, 1e-6)
        need = _ROOM.get(self.orientation, 36.0)
        if decade * 0.3 >= need:  # from 5 to 10, the narrowest gap
            named = {1, 2, 5}
        else:
            named = {1}
        return [_number(value) if _leading(value) in named else "" for value in values]


def _leading(value: float) -> int:
    """The first figure of 10 to the power of a tick: ticks lie on whole ones."""
    return round(10 ** (value % 1.0)) % 9 or 9


def _number(value: float) -> str:
    """As people write it."""
    number = 10**value
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"
