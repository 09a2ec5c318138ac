"""The bar on top of a view, and the title bar of a dock."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QDockWidget, QFrame, QHBoxLayout, QSizePolicy, QWidget

from app.theme.look import Look
from app.theme.tokens import BAR
from app.views.parts.controls import in_row
from app.views.parts.widgets import flat_button, label

ANY_WIDTH = (1 << 24) - 1


class Header(QFrame):
    """A bar on top of a view. It may be narrower than what it holds: the least needed widgets are hidden first.

    None among its widgets is a stretch; `wide` is the one that gets all the room that is left.
    """

    def __init__(self, *widgets: QWidget | None, wide: QWidget | None = None) -> None:
        super().__init__()
        self.setProperty("role", "header")
        self._height = BAR
        self._measure()
        self._spare: list[QWidget] = []
        self._at_last: list[QWidget] = []
        self._least = 90  # pixels that the first and the last of its widgets need, at which all others are hidden
        self._put_away: dict[QWidget, tuple[int, int]] = {}  # those without room: how wide each must and may be else
        self._row = in_row(*widgets, holder=self, wide=wide, margins=(8, 0, 6, 0), spacing=2)
        self._row.setSizeConstraint(QHBoxLayout.SizeConstraint.SetNoConstraint)

    def spaced(self) -> Header:
        """With room between its widgets: for bars that hold buttons with frames."""
        self._row.setSpacing(6)
        return self

    def spare(self, *widgets: QWidget, at_last: Sequence[QWidget] = ()) -> Header:
        """Say which widgets go first when room is short, and which where even the least of the others is too much."""
        self._spare, self._at_last = list(widgets), list(at_last)
        return self

    def sizeHint(self) -> QSize:
        return QSize(160, self._height)

    def minimumSizeHint(self) -> QSize:
        return QSize(self._least, self._height)

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest):
            self._fit()
        elif event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()
        return super().event(event)

    def _measure(self) -> None:
        """As high as the usual bar, or as a larger font needs."""
        self._height = max(BAR, self.fontMetrics().height() + 18)
        self.setFixedHeight(self._height)

    def _fit(self) -> None:
        # Not by the layout's items: Python would hold on to them after Qt has deleted them, and mistake what comes
        # to lie at their addresses for them.
        inside = [child for child in self.children() if isinstance(child, QWidget)]
        shown = sorted((w for w in inside if not w.isHidden()), key=self._row.indexOf)
        margins = self._row.contentsMargins()
        between = self._row.spacing() * max(len(shown) - 1, 0) + margins.left() + margins.right()
        room = self.width() - between  # Qt keeps the space beside those that have no width as well
        away = set()
        over = sum(self._wanted(w) for w in shown) - room
        for widget in self._spare:
            if widget in shown and over > 0:
                away.add(widget)
                over -= self._wanted(widget)
        if sum(max(w.sizeHint().width(), self._least_of(w)) for w in shown if w not in away) > room:
            # Where even the least of the others is too much they would lie over each other: all but the first, which
            # says what the bar is of, and the last give way from the end.
            over = sum(self._least_of(w) for w in shown if w not in away) - room
            for widget in (*self._at_last, *reversed(shown[1:-1])):
                if widget in shown and widget not in away and over > 0 and self._least_of(widget) > 0:
                    away.add(widget)
                    over -= self._least_of(widget)
            least = sum(self._least_of(w) for w in {*shown[:1], *shown[-1:]}) + between
            if least > self._least:
                self._least = least
                self.updateGeometry()
        for widget in inside:
            if widget in away and (widget.maximumWidth() > 0 or widget.minimumWidth() > 0):
                _, most = self._put_away.get(widget, (0, widget.maximumWidth()))
                self._put_away[widget] = widget.minimumWidth(), most
                widget.setMinimumWidth(0)
                widget.setMaximumWidth(0)
            elif widget not in away and (own := self._put_away.pop(widget, None)) and widget.maximumWidth() == 0:
                widget.setMaximumWidth(own[1])
                widget.setMinimumWidth(own[0])
        for widget in [widget for widget in self._put_away if widget not in inside]:  # it was moved elsewhere
            del self._put_away[widget]

    def _least_of(self, widget: QWidget) -> int:
        """The pixels that a layout gives a widget however little room there is, also one that is put away now."""
        own, _ = self._put_away.get(widget, (0, 0))
        return max(own, _least(widget))

    def _wanted(self, widget: QWidget) -> int:
        """The pixels for which others go: words that are shortened by themselves are, before any does."""
        wide = widget.sizeHint().width()
        shortened = widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Ignored
        return min(wide, _WORDS) if shortened and widget not in self._spare else wide


_WORDS = 120  # pixels of words that are shortened to the room there is
_RIGID = (QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Minimum, QSizePolicy.Policy.MinimumExpanding)


def _least(widget: QWidget) -> int:
    policy = widget.sizePolicy().horizontalPolicy()
    if widget.minimumWidth() > 0:
        return widget.minimumWidth()
    if policy == QSizePolicy.Policy.Ignored:
        return 0
    return (widget.sizeHint() if policy in _RIGID else widget.minimumSizeHint()).width()


def dock_bar(look: Look, dock: QDockWidget) -> Header:
    """The title bar of a dock: its name, a button to float it and one to close it."""
    return Header(
        label(dock.windowTitle(), "heading"), None,
        flat_button(look, "float", f"Float {dock.windowTitle()}", lambda: dock.setFloating(not dock.isFloating())),
        flat_button(look, "close", f"Close {dock.windowTitle()}", dock.hide),
    )  # fmt: skip
