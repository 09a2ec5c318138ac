"""Small widgets that many views are built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolButton,
    QWidget,
)

from app.theme.fonts import UI_PIXELS
from app.theme.look import Look
from app.viewmodels.frame.messages import Message
from app.views.parts.controls import Fitting, in_row
from app.views.parts.plain import plain_tip
from compiler.printable import printable, printable_lines


def flat_button(look: Look, icon: str, tip: str, slot: Callable[..., object], checkable: bool = False) -> QToolButton:
    """An icon button without a frame; the tip is also its name for screen readers."""
    button = _IconButton(look, icon)
    button.setProperty("flat", True)
    button.setIconSize(QSize(16, 16))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setCheckable(checkable)
    (button.toggled if checkable else button.clicked).connect(slot)
    return button


def text_switch(text: str, tip: str) -> QToolButton:
    """A button with letters and without a frame that stays pressed; the tip is also its name for screen readers."""
    button = QToolButton()
    button.setProperty("flat", True)
    button.setCheckable(True)
    button.setText(text)
    button.setToolTip(plain_tip(tip))
    button.setAccessibleName(tip)
    return button


class _IconButton(QToolButton):
    """Its icon has the colours of the theme. A method listens to that, not a function: Qt forgets it with the button,
    while panes come and go."""

    def __init__(self, look: Look, name: str) -> None:
        super().__init__()
        self._look, self._icon = look, name
        self._dress()
        look.changed.connect(self._dress)

    def _dress(self) -> None:
        self.setIcon(self._look.icon(self._icon))


class PlainLabel(QLabel):
    """A label that shows words as they are, with what would be obeyed written out."""

    def __init__(self, text: str = "") -> None:
        super().__init__(printable_lines(text))
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        """Show a text."""
        super().setText(printable_lines(text))


def label(text: str = "", role: str = "") -> QLabel:
    """A label in one of the style sheet's roles."""
    result = PlainLabel(text)
    if role:
        result.setProperty("role", role)
    return result


def restyle(widget: QWidget, name: str, value: str) -> None:
    """Set a property that the style sheet asks for, and look at that again."""
    widget.setProperty(name, value)
    widget.style().unpolish(widget)
    widget.style().polish(widget)


class Elided(Fitting, QLabel):
    """A label that shortens its text to the room there is; the whole text is in its tip."""

    def __init__(self, text: str = "", where: Qt.TextElideMode = Qt.TextElideMode.ElideRight, role: str = "") -> None:
        super().__init__(text)
        if role:
            self.setProperty("role", role)
        self._where = where
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._whole = text

    def setText(self, text: str) -> None:
        """Show a text."""
        self._whole = text
        self.setToolTip(plain_tip(text))
        self.setAccessibleName(text)
        self._fit()

    def text(self) -> str:
        """The whole text, shortened or not."""
        return self._whole

    def _fit(self) -> None:
        margins = self.contentsMargins()
        room = max(self.width() - margins.left() - margins.right() - 10, 20)
        fits = self.fontMetrics().elidedText(printable_lines(self._whole), self._where, room)
        if fits != super().text():  # Qt lays out the whole window again for any text, be it the same
            super().setText(fits)


def scrolled(view: QWidget, parent: QWidget | None = None) -> QScrollArea:
    """A view that may be taller than the room it gets."""
    area = QScrollArea(parent)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what it holds takes the keyboard, and is brought into sight by it
    area.setWidget(view)
    return area


class Choice(QComboBox):
    """A combo box of (value, title) pairs."""

    chosen = Signal(str)

    def __init__(self, name: str, entries: Sequence[tuple[str, str]] = (), flat: bool = False) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setToolTip(name)
        if flat:
            self.setProperty("flat", True)
        # One that is as wide as its own text does not have Qt measure hundreds of names of kernels, to no end.
        policies = QComboBox.SizeAdjustPolicy
        self.setSizeAdjustPolicy(policies.AdjustToMinimumContentsLengthWithIcon if flat else policies.AdjustToContents)
        self._entries: list[tuple[str, str]] = []
        self._places: dict[str, int] = {}  # of their values: finding one in a long list would be felt
        # The size that is wanted, of which text in which font: asked for often.
        self._measured = (("", "", False), QSize())
        self.set_entries(entries)
        self.activated.connect(lambda _: (self.updateGeometry(), self.chosen.emit(self.value)))

    @property
    def value(self) -> str:
        """The chosen value; empty when there is none."""
        return self.itemData(self.currentIndex())

    def set_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        """Replace the entries; the choice stays where it still exists."""
        if (wanted := list(entries)) == self._entries:
            return
        before, self._entries = self.value, wanted
        self._places = {value: at for at, (value, _) in reversed(list(enumerate(wanted)))}
        self.blockSignals(True)
        self.clear()
        # All at once: a model of hundreds of kernels would be felt.
        self.addItems([printable(title) for _, title in wanted])
        self.set_value(before)
        self.blockSignals(False)

    def addItem(self, title: str, value: str) -> None:  # type: ignore[override]
        """One more, at the end."""
        self._places.setdefault(value, len(self._entries))
        self._entries.append((value, title))
        super().addItem(printable(title))

    def itemData(self, at: int, role: int = Qt.ItemDataRole.UserRole) -> Any:
        """The value at a place, empty where there is none; another role's data is Qt's."""
        if role != Qt.ItemDataRole.UserRole:
            return super().itemData(at, role)
        return self._entries[at][0] if 0 <= at < len(self._entries) else ""

    def findData(self, value: str, *_how: object) -> int:
        """The place of a value, or -1."""
        return self._places.get(value, -1)

    def showPopup(self) -> None:
        """The list, as wide as its entries need. Measured here: making a list that nobody opens takes long."""
        if self._entries:
            longest = max(self.fontMetrics().horizontalAdvance(title) for _, title in self._entries)
            self.view().setMinimumWidth(min(longest + 40, 420))
        super().showPopup()

    def minimumSizeHint(self) -> QSize:
        return QSize(52, super().minimumSizeHint().height()) if self.property("flat") else super().minimumSizeHint()

    def sizeHint(self) -> QSize:
        """A flat one is as wide as its own text, not as the longest entry."""
        if not self.property("flat"):
            return super().sizeHint()
        known = (self.currentText(), self.font().key(), self.testAttribute(Qt.WidgetAttribute.WA_WState_Polished))
        if known != self._measured[0]:
            width = self.fontMetrics().horizontalAdvance(self.currentText()) + 34
            self._measured = known, QSize(min(max(width, 48), 260), super().sizeHint().height())
        return self._measured[1]

    def paintEvent(self, event: QPaintEvent) -> None:
        """A flat one whose text does not fit shortens it in its middle, where names differ least."""
        if not self.property("flat"):
            super().paintEvent(event)
            return
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        room = self.width() - 25  # the paddings and the arrow of the style sheet
        option.currentText = self.fontMetrics().elidedText(  # type: ignore[attr-defined]  the stubs leave it out
            self.currentText(), Qt.TextElideMode.ElideMiddle, room
        )
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def set_value(self, value: str) -> None:
        """Choose without telling anybody."""
        index = self.findData(value)
        if index >= 0:
            self.setCurrentIndex(index)
            self.updateGeometry()


_BAR_NARROW, _BAR_LEAST = 460, 34
_BAR_BESIDE = 100  # pixels of icon, close button and the gaps between


class MessageBar(Fitting, QFrame):
    """A bar at the top of the place a message belongs to; it can be closed, and a click on Show goes to its line."""

    show_location = Signal(str, int)
    show_log = Signal()
    acted = Signal()  # what the message offered

    def __init__(self, look: Look, place: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self.place = look, place
        self._message: Message | None = None
        self._icon = QLabel()
        self._text = label()
        self._text.setWordWrap(True)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._line, self._log, self.action = QToolButton(), QToolButton(), QToolButton()
        for button, slot in ((self._line, self._go), (self._log, self.show_log), (self.action, self.acted)):
            button.clicked.connect(slot)
        self._line.setText("Show line")
        self._log.setText("Log")
        self.action.setAccessibleName("What can be done about it")
        self._doings, self._below = QWidget(), False
        self._doings.setStyleSheet("background: transparent")
        in_row(self.action, self._line, self._log, None, holder=self._doings)
        self._grid = layout = QGridLayout(self)
        layout.setContentsMargins(10, 5, 6, 5)
        layout.setHorizontalSpacing(8)
        layout.setVerticalSpacing(2)
        layout.addWidget(self._icon, 0, 0)
        layout.addWidget(self._text, 0, 1)
        layout.addWidget(self._doings, 0, 2)
        layout.addWidget(flat_button(look, "close", "Close this message", self.hide), 0, 3)
        layout.setColumnStretch(1, 1)
        look.changed.connect(self._dress)
        self.hide()

    def _dress(self) -> None:
        if self._message is not None:
            level = self._message.level
            token = {"error": "bad", "warning": "warning"}.get(level, "info")
            self._icon.setPixmap(self._look.icon(level, token).pixmap(16, 16))

    def show_message(self, message: Message) -> None:
        """Show it; a newer one takes its place."""
        self._message = message
        restyle(self, "role", message.level)
        self._dress()
        where = f"line {message.line}: " if message.line else ""
        self._text.setText(where + message.text)
        self._line.setVisible(bool(message.line))
        self.action.setText(message.action)
        self.action.setAccessibleName(message.action or "What can be done about it")
        self.action.setVisible(bool(message.action))
        self.setAccessibleName(f"{message.level}: {message.text}")
        self.show()
        self._fit()

    def _fit(self) -> None:
        """As high as the words need at this width, and no higher: a view below it would lose the room. It gets that
        where there is room; asked for, it would make the views beside this one higher as well."""
        words = self.fontMetrics().horizontalAdvance(self._text.text()) + self._doings.sizeHint().width() + _BAR_BESIDE
        below = self.width() < min(_BAR_NARROW, words)  # where the words need the whole width
        if below != self._below:
            self._below = below
            self._grid.addWidget(self._doings, *((1, 1) if below else (0, 2)))
        needed = self._grid.heightForWidth(self.width())
        if needed > 0 and needed != self.maximumHeight():
            least = _BAR_LEAST
            if self.fontInfo().pixelSize() > UI_PIXELS:  # a line of words, if any stands above the buttons, and those
                line = self.fontMetrics().height() + self._grid.verticalSpacing() if below else 0
                least = max(least, self._log.sizeHint().height() + line + 10)
            self.setMinimumHeight(min(needed, least))
            self.setMaximumHeight(needed)

    @property
    def text(self) -> str:
        """What it says, empty while hidden."""
        return self._text.text() if not self.isHidden() else ""

    def _go(self) -> None:
        if self._message is not None:
            self.show_location.emit(self._message.file, self._message.line)
