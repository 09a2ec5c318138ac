"""The strip that says what an edited kernel came to: original and edited times, the verdict, and the check."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout

from app.theme.look import Look
from app.viewmodels.frame.formats import seconds
from app.viewmodels.requests import EditTiming
from app.views.parts.controls import in_row, push_button
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import Elided, flat_button, restyle


class EditStrip(QFrame):
    """`compare_wanted` opens the comparison of the two runs."""

    compare_wanted = Signal(object)
    time_wanted = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.setProperty("role", "strip")
        self.timing: EditTiming | None = None
        self._kernel = ""
        self.words = Elided()
        self.original = Elided(role="muted")
        self.edited = Elided(role="muted")
        self.verdict = Elided(role="figures")
        self.check = Elided(role="muted")
        compare = lambda: self.timing and self.compare_wanted.emit(self.timing.runs)  # noqa: E731
        self.compare = push_button("Compare", compare, "Open the comparison of the two runs", role="small")
        self.again = push_button("Time again", lambda: self.time_wanted.emit(self._kernel), role="small")
        self._figures = (self.original, self.edited, self.verdict, self.check)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        for widget in (self.words, *self._figures):
            widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            texts.addWidget(widget)
        texts.addLayout(in_row(self.compare, self.again, None, margins=(0, 3, 0, 0), spacing=4))
        layout = in_row(holder=self, margins=(10, 6, 6, 6), spacing=8)
        layout.addLayout(texts, 1)
        layout.addWidget(flat_button(look, "close", "Close", self.hide), 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_progress(self, kernel: str, words: str) -> None:
        """Timing is under way."""
        self._kernel, self.timing = kernel, None
        self._show(words, again=False)

    def show_failure(self, words: str) -> None:
        """It could not be timed."""
        self._show(words, again=True)

    def show_timing(self, timing: EditTiming) -> None:
        """Both times with their intervals, the verdict, and whether the edit still computes the same."""
        self.timing, self._kernel = timing, timing.kernel
        self.original.setText(f"original  {_interval(timing.original)}")
        self.edited.setText(f"edited  {_interval(timing.edited)}")
        ratio, low, high = timing.ratio
        self.verdict.setText(f"{timing.verdict}  ({ratio:.2f}\u00d7, {low:.2f} to {high:.2f})")
        self.verdict.setToolTip(plain_tip(timing.method))
        restyle(self.verdict, "role", {"faster": "good", "slower": "bad"}.get(timing.verdict, "figures"))
        good = timing.ok is not False
        words = "check against the reference passed" if good else f"check failed: {'; '.join(timing.checks)}"
        self.check.setText(words + (f"  \u00b7  {'; '.join(timing.notes)}" if timing.notes else ""))
        self.check.setToolTip(plain_tip("\n".join((words, *timing.notes))))
        restyle(self.check, "role", "muted" if good else "bad")
        self._show("", again=True)

    def _show(self, words: str, again: bool) -> None:
        """Words in the place of the figures, or those where there are none."""
        self.words.setText(words)
        self.words.setVisible(bool(words))
        for widget in (*self._figures, self.compare):
            widget.setVisible(not words)
        self.again.setVisible(again)
        self.show()

    def text(self) -> str:
        """Everything it says, as one line."""
        shown = [self.words] if self.timing is None else self._figures
        return "   ".join(part.text() for part in shown)


def _interval(times: tuple[float, float, float]) -> str:
    middle, low, high = (seconds(time) for time in times)
    if low.split(" ")[-1] == middle.split(" ")[-1] == high.split(" ")[-1]:  # one unit is said once
        low, high = low.split(" ")[0], high.split(" ")[0]
    return f"{middle} [{low}, {high}]"
