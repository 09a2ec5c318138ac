"""The keyboard stays with what is in sight. Qt calls docks behind a tab visible: Tab went into them, and whoever chose
another tab went on writing in the one that he no longer saw."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QWidget


def dock_behind(widget: QWidget | None) -> QDockWidget | None:
    """The dock around a widget that lies behind another's tab, if one does."""
    while widget is not None and not widget.isWindow():
        if isinstance(widget, QDockWidget) and widget.isVisible() and widget.visibleRegion().isEmpty():
            return widget
        widget = widget.parentWidget()
    return None


def step(window: QWidget, forward: bool) -> bool:
    """What Tab does: the keyboard goes to the next that takes it and is in sight. False: there is no other."""
    first = window.focusWidget() or window
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    widget = first
    while (widget := widget.nextInFocusChain() if forward else widget.previousInFocusChain()) is not None:
        if widget is first:
            return False
        if widget.window() is window and _takes_tab(widget) and dock_behind(widget) is None:
            widget.setFocus(reason)
            return True
    return False


def come_to_front() -> None:
    """Where the keyboard is in a dock that is behind another by now, the one in front gets it: what had it there last,
    or else the largest that takes it."""
    behind = dock_behind(QApplication.focusWidget())
    holder = behind.parentWidget() if behind is not None else None
    if behind is None or not isinstance(holder, QMainWindow):
        return
    for front in holder.tabifiedDockWidgets(behind):
        if front.isVisible() and not front.visibleRegion().isEmpty():
            last = front.focusWidget()
            taker = last if last is not None and _takes_tab(last) else _largest(front)
            taker.setFocus(Qt.FocusReason.OtherFocusReason)
            return


def _largest(dock: QDockWidget) -> QWidget:
    """What most of a dock is, of what takes the keyboard. Along the chain of Tab: Python would keep hold of children
    that Qt makes and drops by itself, and mistake for them what comes to lie at their addresses."""
    found, most, widget = dock, 0, dock.nextInFocusChain()
    while widget is not None and widget is not dock:
        if dock.isAncestorOf(widget) and _takes_tab(widget) and widget.width() * widget.height() > most:
            found, most = widget, widget.width() * widget.height()
        widget = widget.nextInFocusChain()
    return found


def _takes_tab(widget: QWidget) -> bool:
    every = QGuiApplication.styleHints().tabFocusBehavior() == Qt.TabFocusBehavior.TabFocusAllControls
    wanted = Qt.FocusPolicy.TabFocus if every else Qt.FocusPolicy.StrongFocus
    there = widget.isVisible() and not widget.size().isEmpty()  # a bar without room for all leaves some no width
    arrow = isinstance(widget.parentWidget(), QTabBar)  # Qt's own, which the list of all tabs lies over
    good = there and widget.isEnabled() and widget.focusProxy() is None and not arrow
    return good and widget.focusPolicy() & wanted == wanted
