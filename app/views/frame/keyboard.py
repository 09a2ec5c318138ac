"""The keyboard stays with what is in sight. Qt calls docks behind a tab visible: Tab went into them, and whoever chose
another tab went on writing in the one that he no longer saw.

Only docks and what has the keyboard are asked, which Python knows anyway: of widgets that Qt makes and drops by itself
it would keep hold, and mistake for them what comes to lie at their addresses.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QToolButton, QWidget

_MOST = 400  # steps of Tab that lead past what nobody sees
_ARROWS = (Qt.ArrowType.LeftArrow, Qt.ArrowType.RightArrow)


def step(window: QWidget, further: Callable[[], bool]) -> bool:
    """What Tab does: `further`, as far as Qt goes by itself, until the keyboard is at something that is in sight."""
    first, behind = QApplication.focusWidget(), None
    for _ in range(_MOST):
        if not further():
            return False
        now = QApplication.focusWidget()
        if behind is None:  # once for all steps: to look through the whole window at each of them is felt
            behind = _docks_behind(window)
        if now is None or now is first or _seen(now, behind):
            break
    return True


def come_to_front(window: QMainWindow) -> None:
    """Where the keyboard is in a dock that is behind another by now, the one in front gets it: what had it there last,
    or else what most of it is."""
    now = QApplication.focusWidget()
    behind = next(iter(_docks_behind(window, now)), None) if now is not None else None
    if behind is None:
        return
    for front in window.tabifiedDockWidgets(behind):
        if front.isVisible() and not front.visibleRegion().isEmpty():
            (front.focusWidget() or front.widget()).setFocus(Qt.FocusReason.OtherFocusReason)
            return


def _docks_behind(window: QWidget, around: QWidget | None = None) -> list[QDockWidget]:
    """The docks that lie behind another's tab; of those around a widget, where that is given."""
    docks = [dock for dock in window.findChildren(QDockWidget) if around is None or dock.isAncestorOf(around)]
    return [dock for dock in docks if dock.isVisible() and dock.visibleRegion().isEmpty()]


def _seen(widget: QWidget, behind: list[QDockWidget]) -> bool:
    """Whether it is in sight. A bar without room for all leaves some no width, over the arrows that Qt has in bars of
    tabs lies the list of all tabs, and a bar whose tabs are gone is kept where it was."""
    arrow = isinstance(widget, QToolButton) and widget.arrowType() in _ARROWS
    left = isinstance(widget, QTabBar) and widget.visibleRegion().isEmpty()
    hidden = any(dock.isAncestorOf(widget) for dock in behind)
    return not arrow and not left and not widget.size().isEmpty() and not hidden
