"""The shortcut sheet: every key, grouped, in one page, with a field to find one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QVBoxLayout,
    QWidget,
)

from app.views.parts.controls import line_field
from app.views.parts.widgets import label, scrolled


class ShortcutSheet(QDialog):
    """Groups of (keys, what they do), in columns."""

    def __init__(self, groups: Mapping[str, Sequence[tuple[str, str]]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(940, 640)
        self.entries = [entry for entries in groups.values() for entry in entries]
        self._rows: list[tuple[str, QLabel, QLabel]] = []
        self._heads: list[tuple[QLabel, list[int]]] = []
        self.field = line_field("Find a shortcut", "Find a key or what it does", self._filter)
        scroll = scrolled(self._page(groups))
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName("Shortcuts")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 12)
        layout.addWidget(self.field)
        layout.addWidget(scroll, 1)
        self.field.setFocus()

    def _page(self, groups: Mapping[str, Sequence[tuple[str, str]]]) -> QWidget:
        page = QWidget()
        columns = QHBoxLayout(page)
        columns.setContentsMargins(0, 12, 12, 12)
        columns.setSpacing(36)
        grids = [QGridLayout() for _ in range(2)]
        for title, entries in groups.items():
            grid = min(grids, key=lambda g: g.rowCount())
            row = grid.rowCount()
            head = label(title, "heading")
            head.setContentsMargins(0, 12 if row > 1 else 0, 0, 2)
            grid.addWidget(head, row, 0, 1, 2)
            mine = []
            for keys, words in entries:
                row += 1
                key, text = label(keys, "key"), label(words)
                text.setWordWrap(True)
                grid.addWidget(key, row, 0, Qt.AlignmentFlag.AlignLeft)
                grid.addWidget(text, row, 1)
                mine.append(len(self._rows))
                self._rows.append((f"{keys} {words} {title}".lower(), key, text))
            self._heads.append((head, mine))
        widest = max((key.sizeHint().width() for _, key, _ in self._rows), default=0)  # both columns begin alike
        for grid in grids:
            grid.setHorizontalSpacing(14)
            grid.setVerticalSpacing(5)
            grid.setColumnStretch(1, 1)
            grid.setColumnMinimumWidth(0, max(widest, 128))
            grid.setRowStretch(grid.rowCount(), 1)
            columns.addLayout(grid, 1)
        return page

    def _filter(self, text: str) -> None:
        words = text.lower().split()
        for known, key, what in self._rows:
            shown = all(word in known for word in words)
            key.setVisible(shown)
            what.setVisible(shown)
        for head, rows in self._heads:
            head.setVisible(any(self._rows[row][1].isVisibleTo(self) for row in rows))
