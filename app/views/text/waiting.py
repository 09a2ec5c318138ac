"""What lies over a pane while its text is on its way: what is being done, how far it is, and a way to end it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QProgressBar, QVBoxLayout

from app.views.parts.controls import in_row, push_button
from app.views.parts.later import show_share
from app.views.parts.widgets import label

_WIDEST = 340


class Waiting(QFrame):
    """In the middle of a text view that has nothing to show yet; hidden unless it is told to say something."""

    cancel_wanted = Signal()
    load_wanted = Signal()

    def __init__(self, over: QAbstractScrollArea) -> None:
        super().__init__(over)
        self._over = over
        self.setAutoFillBackground(True)
        self.setBackgroundRole(QPalette.ColorRole.Base)
        self.words = label("", "muted")
        self.words.setWordWrap(True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("How far the text is")
        self.cancel = push_button("Cancel", self.cancel_wanted, "Do not load this text", "", "compact")
        self.load = push_button("Load", self.load_wanted, "Load this text after all", "", "compact")
        self._column = layout = QVBoxLayout(self)
        layout.setSpacing(10)
        layout.addWidget(self.words)
        layout.addWidget(self.bar)
        layout.addLayout(in_row(None, self.cancel, self.load, None))
        over.installEventFilter(self)
        self.hide()

    def show_progress(self, words: str, share: float) -> None:
        """It is being made; `share` is negative where nobody knows how much of it is done."""
        show_share(self.bar, share)
        self.show_words(words, cancelled=False)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Stay in the middle."""
        if watched is self._over and event.type() == QEvent.Type.Resize and not self.isHidden():
            self._place()
        return super().eventFilter(watched, event)

    def show_words(self, words: str, cancelled: bool) -> None:
        """Say of a text that it is on its way, or was given up."""
        self.words.setText(words)
        self.bar.setVisible(not cancelled)
        self.cancel.setVisible(not cancelled)
        self.load.setVisible(cancelled)
        self.show()
        self._place()

    def _place(self) -> None:
        width = min(self._over.width() - 24, _WIDEST)
        self.setFixedWidth(max(width, 80))
        height = max(self._column.heightForWidth(self.width()), self.sizeHint().height())
        self.setGeometry((self._over.width() - self.width()) // 2, (self._over.height() - height) // 2,
                         self.width(), height)  # fmt: skip
