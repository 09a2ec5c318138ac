"""The welcome page: samples that open in one click, recent files, and where to begin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.theme.look import Look
from app.views.parts.controls import in_row, paragraph, push_button
from app.views.parts.widgets import label

_COLUMNS = ((6, 2600), (4, 1700), (3, 860), (2, 560), (1, 0))  # cards beside each other, from which width on


class Card(QFrame):
    """A sample that opens when it is clicked."""

    opened = Signal(str)

    def __init__(self, look: Look, source: str, title: str, description: str) -> None:
        super().__init__()
        self.source = source
        self.setProperty("role", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(f"Open {title}: {description}")
        self.setMinimumHeight(84)
        mark = QLabel()
        mark.setPixmap(look.icon("sample", "accent").pixmap(QSize(20, 20)))
        name = label(title, "heading")
        words = paragraph(description)
        words.setAlignment(Qt.AlignmentFlag.AlignTop)
        grid = QGridLayout(self)
        grid.setContentsMargins(14, 12, 14, 12)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        grid.addWidget(mark, 0, 0)
        grid.addWidget(name, 0, 1)
        grid.addWidget(words, 1, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        grid.setRowStretch(1, 1)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.position().toPoint()):
            self.opened.emit(self.source)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.opened.emit(self.source)
        else:
            super().keyPressEvent(event)


class WelcomePage(QScrollArea):
    """What is shown until something is open."""

    open_wanted = Signal(str)
    browse_wanted = Signal()

    def __init__(self, look: Look, samples: Sequence[tuple[str, str, str]], recent: Sequence[str]) -> None:
        super().__init__()
        self._look, self._samples, self._recent = look, samples, list(recent)
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setAccessibleName("Welcome")
        self._stale = True
        self._columns = 3
        look.changed.connect(self._changed)
        self._build()

    def set_recent(self, recent: Sequence[str]) -> None:
        """Show other recent files, when it is next seen: they change where the page gives way to what was opened."""
        self._recent, self._stale = list(recent), True

    def _changed(self) -> None:
        """Build again, now or when it is next seen."""
        self._stale = True
        if self.isVisible():
            self._build()

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        fitting = next(count for count, room in _COLUMNS if self.width() >= room)
        if fitting != self._columns:
            self._columns = fitting
            self._changed()

    def showEvent(self, event) -> None:
        if self._stale:
            self._build()
        super().showEvent(event)

    def _build(self) -> None:
        self._stale = False
        page = QWidget()
        page.setProperty("role", "page")
        body = QWidget()
        body.setProperty("role", "page")
        body.setMaximumWidth(360 * self._columns)
        column = QVBoxLayout(body)
        column.setContentsMargins(32, 32, 32, 32)
        column.setSpacing(10)
        top = in_row(label("Kernelglass", "title"), None)
        if self._columns >= 3:  # in sight at once, where they fit beside the name
            top.addLayout(self._hints())
        column.addLayout(top)
        lead = "See a tensor graph become kernels: fusion, IR, LLVM, machine code, times. Every line knows its node."
        column.addWidget(paragraph(lead))
        words = "  or drop a .py, .mlir, .onnx, .pt2 or .gguf file, or a folder of weights, anywhere on this window"
        column.addSpacing(6)
        column.addLayout(
            in_row(push_button("Open a file", self.browse_wanted, role="primary"), label(words, "faint"), None)
        )
        if self._recent:
            column.addSpacing(14)
            column.addWidget(label("Recent", "heading"))
            column.addLayout(self._recent_row())
        column.addSpacing(14)
        column.addWidget(label("Samples", "heading"))
        column.addLayout(self._cards())
        if self._columns < 3:
            column.addSpacing(14)
            column.addLayout(self._hints())
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(body, 20)
        middle.addStretch(1)
        outer = QVBoxLayout(page)  # a tall window has a part of what is left above the page, not all of it below
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addStretch(1)
        outer.addLayout(middle)
        outer.addStretch(3)
        self.setWidget(page)

    def _cards(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setSpacing(10)
        self.cards: dict[str, Card] = {}
        for index, (source, title, description) in enumerate(self._samples):
            card = Card(self._look, source, title, description)
            card.opened.connect(self.open_wanted)
            self.cards[source] = card
            grid.addWidget(card, index // self._columns, index % self._columns)
        for column in range(self._columns):
            grid.setColumnStretch(column, 1)
        return grid

    def _recent_row(self) -> QHBoxLayout:
        buttons = []
        for index, (source, name) in enumerate(zip(self._recent[:4], short_names(self._recent[:4]))):
            short = self.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, 220)
            opened = lambda _=False, s=source: self.open_wanted.emit(s)  # noqa: E731
            buttons.append(push_button(f"{short}    Ctrl+{index + 1}", opened, source, f"Open {name}"))
        return in_row(*buttons, None, spacing=6)

    def _hints(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(6)
        for key, words in (
            ("Ctrl+Shift+P", "any command"),
            ("?", "all shortcuts"),
            ("Ctrl+Return", "compile"),
            ("F5", "run"),
        ):
            row.addWidget(label(key, "key"))
            row.addWidget(label(words, "muted"))
            row.addSpacing(12)
        row.addStretch(1)
        return row


def short_names(sources: Sequence[str]) -> list[str]:
    """Sources by their last part; with the folder before it where several end alike."""
    paths = [Path(source.removeprefix("sample:")) for source in sources]
    names = [path.name for path in paths]
    return [name if names.count(name) == 1 else f"{path.parent.name}/{name}" for name, path in zip(names, paths)]
