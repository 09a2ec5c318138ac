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
    first = QApplication.focusWidget()
    for _ in range(_MOST):
        if not further():
            return False
        now = QApplication.focusWidget()
        if now is None or now is first or _seen(window, now):
            break
    return True


def come_to_front(window: QMainWindow) -> None:
    """Where the keyboard is in a dock that is behind another by now, the one in front gets it: what had it there last,
    or else what most of it is."""
    now = QApplication.focusWidget()
    behind = _dock_behind(window, now) if now is not None else None
    if behind is None:
        return
    for front in window.tabifiedDockWidgets(behind):
        if front.isVisible() and not front.visibleRegion().isEmpty():
            (front.focusWidget() or front.widget()).setFocus(Qt.FocusReason.OtherFocusReason)
            return


def _dock_behind(window: QWidget, widget: QWidget) -> QDockWidget | None:
    """The dock around a widget that lies behind another's tab, if one does."""
    around = (dock for dock in window.findChildren(QDockWidget) if dock.isAncestorOf(widget))
    return next((dock for dock in around if dock.isVisible() and dock.visibleRegion().isEmpty()), None)


def _seen(window: QWidget, widget: QWidget) -> bool:
    """Whether it is in sight. A bar without room for all leaves some no width, over the arrows that Qt has in bars of
    tabs lies the list of all tabs, and a bar whose tabs are gone is kept where it was."""
    arrow = isinstance(widget, QToolButton) and widget.arrowType() in _ARROWS
    left = isinstance(widget, QTabBar) and widget.visibleRegion().isEmpty()
    return not arrow and not left and not widget.size().isEmpty() and _dock_behind(window, widget) is None
