"""The tab bars that Qt makes when docks are stacked: named, never shortened, scrolled where they are many."""

from __future__ import annotations

from PySide6.QtCore import QChildEvent, QEvent, QObject, Qt
from PySide6.QtWidgets import QMainWindow, QTabBar


class DockTabs(QObject):
    """Watches a window for tab bars of docks; Qt makes and drops them as docks are moved."""

    def __init__(self, window: QMainWindow, name: str) -> None:
        super().__init__(window)
        self._name = name
        window.installEventFilter(self)
        for bar in window.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            self._dress(bar)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ChildPolished and isinstance(event, QChildEvent):
            child = event.child()
            if isinstance(child, QTabBar):
                self._dress(child)
        elif event.type() == QEvent.Type.Paint and isinstance(watched, QTabBar) and watched.drawBase():
            watched.setDrawBase(False)  # Qt asks for it again when it uses a bar anew
        return False

    def _dress(self, bar: QTabBar) -> None:
        bar.setAccessibleName(self._name)
        bar.setElideMode(Qt.TextElideMode.ElideNone)
        bar.setUsesScrollButtons(True)
        bar.setDrawBase(False)  # in the style's own colours, it would be a bright line through a dark window
        bar.installEventFilter(self)
