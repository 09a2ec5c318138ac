"""The strip that says how far a bisection is and what it found."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy

from app.theme.look import Look
from app.views.parts.controls import in_row, push_button
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import Elided, flat_button


class BisectStrip(QFrame):
    """A line of words; its tip has every trial. While it goes on it can be stopped, then its IR can be had back."""

    stop_wanted = Signal()
    texts_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setProperty("role", "strip")
        self.words = Elided()
        self.stop = push_button("Stop", self.stop_wanted, "End it with what is known by now", role="small")
        tip = "The IR before and after the guilty pass, side by side"
        self.texts = push_button("IR before and after", self.texts_wanted, tip, role="small")
        parts = (self.words, self.stop, self.texts)
        layout = in_row(*parts, holder=self, wide=self.words, margins=(10, 2, 6, 2), spacing=6)
        self.close_ = flat_button(look, "close", "Close what the bisection says", self.hide)
        layout.addWidget(self.close_, 0, Qt.AlignmentFlag.AlignVCenter)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    def say(self, words: str, told: str = "", going: bool = True, texts: bool = False) -> None:
        """How far it is, or what came of it; in the tip all that is known; and whether there is IR to show."""
        self.words.setText(words)
        self.words.setToolTip(plain_tip(told or words))
        self.stop.setVisible(going)
        self.close_.setVisible(not going)
        self.texts.setVisible(texts)
        self.show()
