"""Small widgets that many views are built from."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from app.messages import Message
from app.theme.look import Look
from app.theme.tokens import BAR


def flat_button(look: Look, icon: str, tip: str, slot: Callable[..., object], checkable: bool = False) -> QToolButton:
    """An icon button without a frame; the tip is also its name for screen readers."""
    button = QToolButton()
    button.setProperty("flat", True)
    button.setIconSize(QSize(16, 16))
    button.setToolTip(tip)
    button.setAccessibleName(tip)
    button.setCheckable(checkable)
    (button.toggled if checkable else button.clicked).connect(slot)
    _keep_icon(look, button, icon)
    return button


def _keep_icon(look: Look, button: QToolButton, name: str) -> None:
    def update() -> None:
        button.setIcon(look.icon(name))

    update()
    look.changed.connect(update)
    button.destroyed.connect(lambda: look.changed.disconnect(update))


def label(text: str = "", role: str = "") -> QLabel:
    """A label in one of the style sheet's roles."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    if role:
        result.setProperty("role", role)
    return result


def header(*widgets: QWidget | None) -> QFrame:
    """A bar on top of a view; None is the stretch."""
    frame = QFrame()
    frame.setProperty("role", "header")
    frame.setFixedHeight(BAR)
    layout = QHBoxLayout(frame)
    layout.setContentsMargins(8, 0, 6, 0)
    layout.setSpacing(4)
    for widget in widgets:
        if widget is None:
            layout.addStretch(1)
        else:
            layout.addWidget(widget)
    return frame


def column(*widgets: QWidget, margin: int = 0, spacing: int = 0) -> QVBoxLayout:
    """Widgets one below another."""
    layout = QVBoxLayout()
    layout.setContentsMargins(margin, margin, margin, margin)
    layout.setSpacing(spacing)
    for widget in widgets:
        layout.addWidget(widget)
    return layout


class Choice(QComboBox):
    """A combo box of (value, title) pairs."""

    chosen = Signal(str)

    def __init__(self, name: str, entries: Sequence[tuple[str, str]] = (), flat: bool = False) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setToolTip(name)
        if flat:
            self.setProperty("flat", True)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMinimumContentsLength(3)
        self.set_entries(entries)
        self.activated.connect(lambda _: self.chosen.emit(self.value))

    @property
    def value(self) -> str:
        """The chosen value; empty when there is none."""
        return self.currentData() or ""

    def set_entries(self, entries: Sequence[tuple[str, str]]) -> None:
        """Replace the entries; the choice stays where it still exists."""
        before = self.value
        self.blockSignals(True)
        self.clear()
        for value, title in entries:
            self.addItem(title, value)
        self.set_value(before)
        self.blockSignals(False)

    def set_value(self, value: str) -> None:
        """Choose without telling anybody."""
        index = self.findData(value)
        if index >= 0:
            self.setCurrentIndex(index)


class MessageBar(QFrame):
    """A bar at the top of the place a message belongs to; it can be closed, and a click on Show goes to its line."""

    show_location = Signal(str, int)
    show_log = Signal()

    def __init__(self, look: Look, place: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look, self.place = look, place
        self._message: Message | None = None
        self._icon = QLabel()
        self._text = label()
        self._text.setWordWrap(True)
        self._text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._line = QToolButton()
        self._line.setText("Show line")
        self._line.clicked.connect(self._go)
        self._log = QToolButton()
        self._log.setText("Log")
        self._log.clicked.connect(self.show_log)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(10, 5, 6, 5)
        layout.setSpacing(8)
        for widget in (self._icon, self._text, self._line, self._log):
            layout.addWidget(widget)
        layout.addWidget(flat_button(look, "close", "Close this message", self.hide))
        self.hide()

    def show_message(self, message: Message) -> None:
        """Show it; a newer one takes its place."""
        self._message = message
        self.setProperty("role", message.level)
        self.style().unpolish(self)
        self.style().polish(self)
        token = {"error": "bad", "warning": "warning"}.get(message.level, "info")
        self._icon.setPixmap(self._look.icon(message.level, token).pixmap(16, 16))
        where = f"line {message.line}: " if message.line else ""
        self._text.setText(where + message.text)
        self._line.setVisible(bool(message.line))
        self.setAccessibleName(f"{message.level}: {message.text}")
        self.show()

    @property
    def text(self) -> str:
        """What it says, empty while hidden."""
        return self._text.text() if not self.isHidden() else ""

    def _go(self) -> None:
        if self._message is not None:
            self.show_location.emit(self._message.file, self._message.line)
