"""Dialogs that nobody can make so small that their words are cut."""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QDialog, QWidget


class WordyDialog(QDialog):
    """As wide as some letters at least, and as high as its words then need: Qt asks words that wrap how wide they must
    be, and not how high they get."""

    def __init__(self, letters: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._letters = letters

    def event(self, event: QEvent) -> bool:
        known = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.LayoutRequest, QEvent.Type.FontChange, QEvent.Type.Show):
            self._fit()
        return known

    def minimumSizeHint(self):
        return self.minimumSize()

    def _fit(self) -> None:
        if (layout := self.layout()) is not None:
            self.setMinimumWidth(self._letters * self.fontMetrics().averageCharWidth())
            self.setMinimumHeight(layout.totalMinimumHeightForWidth(max(self.width(), self.minimumWidth())))
