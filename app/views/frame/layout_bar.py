"""The buttons that arrange the window for a job: beside the menus, one click each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QWidget

from app.views.parts.widgets import text_switch


class LayoutBar(QWidget):
    """A button a layout; the one that was chosen last is marked."""

    chosen = Signal(str)

    def __init__(self, layouts: Sequence[tuple[str, str, str]]) -> None:
        """`layouts` are (name, title, keys)."""
        super().__init__()
        self.buttons: dict[str, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 6, 0)
        row.setSpacing(2)
        for name, title, keys in layouts:
            button = text_switch(title, f"Arrange the window for this ({keys})")
            button.setAccessibleName(f"Layout {title}")
            # Each has a key, and the first keyboard focus is not for these.
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.clicked.connect(lambda _=False, name=name: self.chosen.emit(name))
            self.buttons[name] = button
            row.addWidget(button)

    def mark(self, chosen: str) -> None:
        """Show which layout the window has; none where the user arranged it."""
        for name, button in self.buttons.items():
            button.setChecked(name == chosen)

    def rename(self, name: str, title: str) -> None:
        """Another title for a button."""
        button = self.buttons[name]
        button.setText(title)
        button.setMinimumWidth(max(button.minimumWidth(), button.fontMetrics().horizontalAdvance(title) + 18))
        button.setAccessibleName(f"Layout {title}")
