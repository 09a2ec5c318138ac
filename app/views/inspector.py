"""The inspector: what is known about the selection, in sections; names are links that select."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.theme.look import Look
from app.viewmodels.compilation import Compilation
from app.viewmodels.inspection import Entry, Section, inspect
from app.viewmodels.requests import RunResult
from app.viewmodels.selection import Selection
from app.views.widgets import label


class Inspector(QScrollArea):
    """Rebuilt for each selection; selecting from here is a selection like any other."""

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look, self._selection = look, selection
        self._compilation: Compilation | None = None
        self._run: RunResult | None = None
        self.setWidgetResizable(True)
        self.setFrameShape(QScrollArea.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMinimumWidth(210)
        self.setAccessibleName("Inspector")
        selection.changed.connect(lambda nodes, origin: self.refresh())
        look.changed.connect(self.refresh)
        self.refresh()

    def set_compilation(self, compilation: Compilation) -> None:
        """Inspect another compilation."""
        self._compilation, self._run = compilation, None
        self.refresh()

    def set_run(self, run: RunResult) -> None:
        """Measured times to show beside the estimates."""
        self._run = run
        self.refresh()

    def refresh(self) -> None:
        """Say what there is to say about the selection now."""
        page = QWidget()
        layout = QVBoxLayout(page)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.setSpacing(4)
        if self._compilation is None:
            words = label("Compile something, then click a node, a line or a kernel.", "faint")
            words.setWordWrap(True)
            layout.addWidget(words)
        else:
            title, sections = inspect(self._compilation, self._selection.nodes, self._run)
            name = label(title, "heading")
            name.setWordWrap(True)
            name.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            layout.addWidget(name)
            for section in sections:
                if section.entries:
                    layout.addWidget(self._section(section))
        layout.addStretch(1)
        self.setWidget(page)

    def _section(self, section: Section) -> QFrame:
        frame = QFrame()
        layout = QVBoxLayout(frame)
        layout.setContentsMargins(0, 8, 0, 0)
        layout.setSpacing(4)
        title = label(section.title.upper(), "faint")
        font = title.font()
        font.setPixelSize(10)
        font.setBold(True)
        title.setFont(font)
        layout.addWidget(title)
        if any(entry.good is not None for entry in section.entries):
            for entry in section.entries[:80]:
                layout.addWidget(self._decision(entry))
            return frame
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(1, 1)
        for row, entry in enumerate(section.entries):
            key = label(entry.name, "muted")
            grid.addWidget(key, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(self._value(entry), row, 1)
        layout.addLayout(grid)
        return frame

    def _value(self, entry: Entry) -> QWidget:
        if entry.nodes:
            return self._link(entry.value, entry.nodes)
        value = label(entry.value)
        value.setWordWrap(True)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        return value

    def _decision(self, entry: Entry) -> QFrame:
        frame = QFrame()
        grid = QGridLayout(frame)
        grid.setContentsMargins(0, 2, 0, 4)
        grid.setSpacing(2)
        grid.setColumnStretch(1, 1)
        mark = QLabel()
        name, token = ("check", "good") if entry.good else ("close", "warning")
        mark.setPixmap(self._look.icon(name, token).pixmap(QSize(12, 12)))
        mark.setAccessibleName("fused" if entry.good else "not fused")
        grid.addWidget(mark, 0, 0)
        grid.addWidget(self._link(entry.name, entry.nodes), 0, 1)
        why = label(entry.value, "muted")
        why.setWordWrap(True)
        why.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        grid.addWidget(why, 1, 1)
        return frame

    def _link(self, text: str, nodes: tuple[str, ...]) -> QPushButton:
        button = _Link(text)
        button.setToolTip(text)
        button.clicked.connect(lambda: self._selection.select(nodes))
        return button


class _Link(QPushButton):
    """Text that can be clicked; elided rather than widening the inspector."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setProperty("link", True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(text)
        self._full = text
        self.setText(text)

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.fontMetrics().height() + 4)

    def resizeEvent(self, event) -> None:  # noqa: ANN001
        self.setText(self.fontMetrics().elidedText(self._full, Qt.TextElideMode.ElideMiddle, self.width() - 6))
        super().resizeEvent(event)
