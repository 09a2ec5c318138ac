"""A button with a menu of which several entries can be chosen; its text says which are."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from app.views.parts.plain import plain_tip


class _StayingMenu(QMenu):
    """Stays open while entries are ticked, so that three take three clicks."""

    def mouseReleaseEvent(self, event) -> None:
        action = self.actionAt(event.position().toPoint())
        if action is not None and action.isEnabled() and action.isCheckable():
            action.toggle()
        else:
            super().mouseReleaseEvent(event)


class ManyChoice(QToolButton):
    """Entries are (value, title); at least one stays chosen."""

    changed = Signal()

    def __init__(self, name: str, prefix: str, entries: Sequence[tuple[str, str]], chosen: Sequence[str]) -> None:
        super().__init__()
        self._name, self._prefix = name, prefix
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        self.setProperty("many", True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        menu = _StayingMenu(self)
        self.entries: dict[str, QAction] = {}
        for value, title in entries:
            action = menu.addAction(title)
            action.setCheckable(True)
            action.setChecked(value in chosen)
            action.toggled.connect(lambda on, a=action: self._toggled(a, on))
            self.entries[value] = action
        self.setMenu(menu)
        self._show()

    @property
    def values(self) -> tuple[str, ...]:
        """What is chosen, in the order of the menu."""
        return tuple(value for value, action in self.entries.items() if action.isChecked())

    def _toggled(self, action: QAction, on: bool) -> None:
        if not on and not self.values:
            action.setChecked(True)
        self._show()
        self.changed.emit()

    def _show(self) -> None:
        titles = ", ".join(action.text() for action in self.entries.values() if action.isChecked())
        every = ("both" if len(self.entries) == 2 else "all") if len(self.values) == len(self.entries) else ""
        self.setText(f"{self._prefix}{every or titles}")
        self.setToolTip(plain_tip(f"{self._name}: {titles}"))
        self.setAccessibleName(f"{self._name}: {titles}")
