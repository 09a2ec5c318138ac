"""Buttons, fields and words with what each of them needs, and a column to put them into."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QDoubleSpinBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from app.views.parts.plain import divided
from compiler.printable import printable_lines

Margins = tuple[int, int, int, int]


class Fitting:
    """What makes a widget fit what it shows to its size, whenever that changes; named before the widget's own class."""

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)  # type: ignore[misc]  of that class
        self._fit()

    def _fit(self) -> None:
        raise NotImplementedError


def push_button(text: str, slot: Any = None, tip: str = "", name: str = "", role: str = "") -> QPushButton:
    """A button with words; `name` is for screen readers where the words say too little, `role` the style sheet's."""
    button = QPushButton(text)
    button.setToolTip(tip)
    button.setAccessibleName(name)
    if role:
        button.setProperty(role, True)
    if slot is not None:
        button.clicked.connect(slot)
    return button


def open_menu(button: QPushButton, menu: QMenu) -> None:
    """Let a button open a menu, with room for the arrow that says so beside its words."""
    button.setProperty("opens", True)
    button.setMenu(menu)


class _SpinBox(QSpinBox):
    """One that asks for the room of numbers with so many digits, or of the largest it takes where that is 0."""

    def __init__(self, usual: int) -> None:
        super().__init__()
        self._usual = usual

    def sizeHint(self) -> QSize:
        return self._narrowed(super().sizeHint())

    def minimumSizeHint(self) -> QSize:
        return self._narrowed(super().minimumSizeHint())

    def _narrowed(self, size: QSize) -> QSize:
        advance = self.fontMetrics().horizontalAdvance
        spare = advance(str(self.maximum())) - advance("0" * self._usual) if self._usual else 0
        return QSize(size.width() - max(spare, 0), size.height())


def spin_box(
    name: str, least: int, most: int, suffix: str = "", zero: str = "", tip: str = "", usual: int = 0
) -> QSpinBox:
    """A field for a number, mostly of `usual` digits; the least one is shown as `zero` where that is given."""
    field = _SpinBox(usual)
    field.setRange(least, most)
    field.setSuffix(suffix)
    field.setSpecialValueText(zero)
    _name(field, name, tip)
    return field


def fraction_box(name: str, least: float, most: float, value: float, tip: str) -> QDoubleSpinBox:
    """A field for a number with two digits after the point."""
    field = QDoubleSpinBox()
    field.setRange(least, most)
    field.setSingleStep(0.05)
    field.setDecimals(2)
    field.setValue(value)
    _name(field, name, tip)
    return field


_INSET = 7  # pixels between the frame of a field and its number; the style sheet leaves none there


def _name(field: QAbstractSpinBox, name: str, tip: str) -> None:
    field.setAccessibleName(name)
    field.setToolTip(tip)
    # Not by the style sheet: from Qt 6.11 on its padding is left out beside the number, and counted before.
    field.lineEdit().setTextMargins(_INSET, 0, 0, 0)


def line_field(name: str, hint: str = "", slot: Any = None, field: QLineEdit | None = None) -> QLineEdit:
    """A field (the one that is given, if one is) for a line of text that can be emptied with a click; `slot` hears
    every change."""
    field = field or QLineEdit()
    field.setPlaceholderText(hint)
    field.setAccessibleName(name)
    field.setClearButtonEnabled(True)
    if slot is not None:
        field.textChanged.connect(slot)
    return field


_SHORT, _NARROWEST = 12, 120  # letters of a word that always has room, pixels of a paragraph that has some


class Paragraph(Fitting, QLabel):
    """Words over several lines, as they are; a path goes on in the next line where it has no room in one."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self._words = words
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(words)

    def setText(self, words: str) -> None:
        """Show these."""
        self._words = printable_lines(words)
        self._fit()

    def text(self) -> str:
        """The words, however they are divided."""
        return self._words

    def minimumSizeHint(self) -> QSize:
        """As if it held short words: longer ones are divided as they must be."""
        return QSize(min(super().minimumSizeHint().width(), _NARROWEST), super().minimumSizeHint().height())

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.contentsRect().width()
        fits = lambda word: len(word) < _SHORT or metrics.horizontalAdvance(word) <= room  # noqa: E731
        shown = divided(self._words, fits)
        if shown != super().text():
            super().setText(shown)


def paragraph(words: str = "", margins: Margins | None = None) -> QLabel:
    """Muted words over several lines; in the middle of the room they have where they are given margins."""
    text = Paragraph(words)
    text.setProperty("role", "muted")
    text.setWordWrap(True)
    if margins is not None:
        text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        text.setContentsMargins(*margins)
    return text


_LEAST = 40  # of what fills a view


_NONE = (0, 0, 0, 0)  # left, above, right and below


def column(
    holder: QWidget, *widgets: QWidget, main: QWidget | None = None, margins: Margins = _NONE, spacing: int = 0
) -> QVBoxLayout:
    """Fill a holder with widgets below each other, nothing lost between them; `main` gets the room that is left, and
    asks for little: a message above it must not make all views of its place higher."""
    if main is not None:
        main.setMinimumHeight(_LEAST)
    layout = QVBoxLayout(holder)
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget, int(widget is main))
    return layout


def in_row(
    *widgets: QWidget | None, holder: QWidget | None = None, wide: QWidget | None = None,
    margins: Margins = _NONE, spacing: int = -1,
) -> QHBoxLayout:  # fmt: skip
    """Widgets beside each other, filling a holder where there is one. None is a stretch, `wide` gets the room that is
    left; without a spacing it is the style's."""
    layout = QHBoxLayout(holder) if holder is not None else QHBoxLayout()
    layout.setContentsMargins(*margins)
    layout.setSpacing(spacing)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget, int(widget is wide))
    return layout
