"""The command palette: type a few letters of any action, Enter does it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from app.viewmodels.fuzzy import rank


class CommandPalette(QFrame):
    """A pop-up over the window with every action it has."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("role", "popup")
        self._actions: list[QAction] = []
        self.field = QLineEdit()
        self.field.setPlaceholderText("Type a command")
        self.field.setAccessibleName("Command")
        self.list = QListWidget()
        self.list.setAccessibleName("Commands")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(6)
        layout.addWidget(self.field)
        layout.addWidget(self.list)
        self.field.textChanged.connect(self._fill)
        self.field.installEventFilter(self)
        self.list.itemClicked.connect(self._do)
        self.hide()

    def open(self, actions: Sequence[QAction]) -> None:
        """Show it over the upper middle of the window."""
        self._actions = [action for action in actions if action.isEnabled() and action.text()]
        parent = self.parentWidget()
        width = min(620, parent.width() - 80)
        self.setGeometry((parent.width() - width) // 2, 60, width, min(420, parent.height() - 120))
        self.field.clear()
        self._fill("")
        self.show()
        self.raise_()
        self.field.setFocus()

    def _fill(self, text: str) -> None:
        self.list.clear()
        names = [action.text().replace("&", "").rstrip(".") for action in self._actions]
        for index in rank(text, names)[:80]:
            action = self._actions[index]
            keys = action.shortcut().toString()
            item = QListWidgetItem(names[index] + (f"    {keys}" if keys else ""))
            item.setData(Qt.ItemDataRole.UserRole, index)
            self.list.addItem(item)
        self.list.setCurrentRow(0)

    def _do(self, item: QListWidgetItem | None) -> None:
        self.hide()
        if item is not None:
            self._actions[item.data(Qt.ItemDataRole.UserRole)].trigger()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
                step = 1 if event.key() == Qt.Key.Key_Down else -1
                self.list.setCurrentRow((self.list.currentRow() + step) % max(self.list.count(), 1))
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self.list.currentItem())
                return True
            if event.key() == Qt.Key.Key_Escape:
                self.hide()
                self.parentWidget().setFocus()
                return True
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        return super().eventFilter(watched, event)
