"""The shortcut sheet: every key, grouped, in one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.views.widgets import label


class ShortcutSheet(QDialog):
    """Groups of (keys, what they do), in columns."""

    def __init__(self, groups: Mapping[str, Sequence[tuple[str, str]]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.resize(860, 560)
        page = QWidget()
        columns = QHBoxLayout(page)
        columns.setContentsMargins(20, 20, 20, 20)
        columns.setSpacing(28)
        stacks = [QVBoxLayout() for _ in range(2)]
        heights = [0, 0]
        for title, entries in groups.items():
            side = heights.index(min(heights))
            heights[side] += len(entries) + 2
            stacks[side].addWidget(label(title, "heading"))
            grid = QGridLayout()
            grid.setHorizontalSpacing(14)
            grid.setVerticalSpacing(5)
            grid.setColumnStretch(1, 1)
            for row, (keys, words) in enumerate(entries):
                grid.addWidget(label(keys, "key"), row, 0, Qt.AlignmentFlag.AlignLeft)
                grid.addWidget(label(words), row, 1)
            stacks[side].addLayout(grid)
            stacks[side].addSpacing(14)
        for stack in stacks:
            stack.addStretch(1)
            columns.addLayout(stack, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        scroll.setWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)
