"""The row one searches with: a field, regular expression and case, and what came of it. Finding is its owner's."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.viewmodels.frame.patterns import Pattern, compile_pattern
from app.viewmodels.text.finding import expression
from app.views.parts.controls import line_field
from app.views.parts.header import Header
from app.views.parts.later import one_shot
from app.views.parts.widgets import Elided, restyle, text_switch

_WORDS = 100  # what is said is given as many pixels before the field gets more than its least


class SearchRow(Header):
    """`asked` a moment after the text or a switch changed; the owner searches and says what it found."""

    asked = Signal()

    def __init__(self, name: str, hint: str, *buttons: QWidget, pause: int) -> None:
        self.field = line_field(name, hint, lambda _: self._delay.start())
        self.field.setMinimumWidth(96)
        self.regex = text_switch(".*", "Regular expression")
        self.case = text_switch("Aa", "Match case")
        self.count = Elided(role="muted")
        super().__init__(self.field, self.regex, self.case, self.count, *buttons)
        self.spare(*buttons[:-1], self.case, at_last=[self.regex])  # Enter steps, too; the last button closes
        self._share(3, 2)
        self._delay = one_shot(self, self.ask, pause)
        for switch in (self.regex, self.case):
            switch.toggled.connect(lambda _: self.ask())

    def ask(self) -> None:
        """Ask now, whatever the pause."""
        self._delay.stop()
        self.asked.emit()

    def take_keyboard(self) -> None:
        """Put the cursor into the field, on all of its text."""
        self.field.setFocus()
        self.field.selectAll()

    def pattern(self) -> Pattern | None:
        """What was typed as an expression over bytes; None, and said so, where it is none."""
        try:
            found = expression(self.field.text(), self.regex.isChecked(), self.case.isChecked())
        except ValueError as error:
            self.say(str(error), problem=True)
            return None
        return compile_pattern(found)

    def say(self, words: str, problem: bool = False) -> None:
        """What was found, or what is wrong with what was typed: in words, not by the colour of a border alone."""
        self.count.setMinimumWidth(min(self.count.fontMetrics().horizontalAdvance(words) + 14, _WORDS))
        self.count.setText(words)
        self.field.setAccessibleDescription(words)
        self._share(*((1, 9) if problem else (3, 2)))  # what is wrong takes more words than a number of matches
        state = "error" if problem else ""
        if (self.field.property("state") or "") != state:
            restyle(self.field, "state", state)

    def _share(self, field: int, count: int) -> None:
        row = self.layout()
        assert isinstance(row, QHBoxLayout)
        row.setStretch(row.indexOf(self.field), field)
        row.setStretch(row.indexOf(self.count), count)
