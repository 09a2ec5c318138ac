"""The command palette: type a few letters of any action or thing that can be opened or shown, Enter does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt
from PySide6.QtGui import QAction, QColor, QKeyEvent, QKeySequence, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QStyle,
    QStyledItemDelegate,
    QStyleOption,
    QStylePainter,
    QWidget,
)

from app.viewmodels.frame.fuzzy import rank
from app.views.parts.controls import column
from app.views.parts.later import next_turn, one_shot
from app.views.parts.widgets import label

KEYS = Qt.ItemDataRole.UserRole + 1
_MANY = 1000  # things that are ranked at every letter
_OF_THE_LIST = (
    Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown, Qt.Key.Key_Return, Qt.Key.Key_Enter,
)  # fmt: skip
_MOST = 200  # entries listed: who sees more types another letter


@dataclass(frozen=True)
class Offer:
    """Something that can be done: in words, its keys, and the doing."""

    text: str
    do: Callable[[], object]
    keys: str = ""


class _Entry(QStyledItemDelegate):
    """The name at the left, the keys at the right."""

    def paint(self, painter: QPainter, option, index) -> None:  # stubs leave out what an option holds
        super().paint(painter, option, index)
        keys = index.data(KEYS)
        if keys:
            box: QRect = option.rect
            painter.save()
            colour = QColor(option.palette.text().color())
            colour.setAlpha(180)
            painter.setPen(colour)
            side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(box.adjusted(8, 0, -10, 0), side, keys)
            painter.restore()

    def sizeHint(self, option, index) -> QSize:
        return QSize(120, option.fontMetrics.height() + 12)


class _Entries(QListWidget):
    """Fills its own ground, all of it: Qt need not paint what is below at every letter, which is most of the window."""

    def __init__(self) -> None:
        super().__init__()
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, event: QPaintEvent) -> None:
        viewport = self.viewport()
        painter = QPainter(viewport)
        painter.fillRect(event.rect(), viewport.palette().color(viewport.backgroundRole()))
        painter.end()
        super().paintEvent(event)


class CommandPalette(QFrame):
    """A pop-up over the window with every action it has, and with things that are there once letters are typed."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._over = parent
        self.setProperty("role", "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)  # Qt need not paint what is below, half the window
        self._commands: list[Offer] = []
        self._things: list[Offer] = []
        self._names: list[str] = []  # of the things, as they are compared with what is typed
        self._typed: Callable[[str], Sequence[Offer]] = lambda _: ()
        self._shown: list[Offer] = []
        self.field = QLineEdit()
        self.field.setPlaceholderText("Type a command, or a sample, kernel, node, stage, target, view, run")
        self.field.setAccessibleName("Command")
        self.list = _Entries()
        self.list.setAccessibleName("Commands")
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        self.list.setItemDelegate(_Entry(self.list))
        self._nothing = label("No command has these letters in this order.", "muted")
        self._nothing.setContentsMargins(6, 4, 6, 4)
        column(self, self.field, self._nothing, self.list, margins=(8, 8, 8, 8), spacing=6)
        self.filling = one_shot(self, self._fill)  # letters that come at once are looked up once
        self.field.textChanged.connect(lambda _: self.filling.start())
        self.field.installEventFilter(self)
        self.list.itemClicked.connect(self._do)
        self.hide()

    def open(
        self, actions: Sequence[QAction], things: Sequence[Offer] = (),
        typed: Callable[[str], Sequence[Offer]] = lambda _: (),
    ) -> None:  # fmt: skip
        """Show it over the upper middle of the window. `typed` offers what a text by itself names."""
        form = QKeySequence.SequenceFormat.NativeText
        self._commands = [
            Offer(action.text().replace("&", "").rstrip("."), action.trigger, action.shortcut().toString(form))
            for action in actions
            if action.isEnabled() and action.text()
        ]
        self._things, self._typed = list(things), typed
        self._names = [offer.text.lower().replace(" ", "") for offer in things]
        width = min(620, self._over.width() - 80)
        self.setGeometry((self._over.width() - width) // 2, 80, width, min(460, self._over.height() - 140))
        self.field.clear()
        self._fill()
        self.show()
        self.raise_()
        self.field.setFocus()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOption()
        option.initFrom(self)
        painter.drawPrimitive(QStyle.PrimitiveElement.PE_Widget, option)

    def _fill(self) -> None:
        self.filling.stop()
        text = self.field.text()
        self.list.clear()
        known = [*self._commands, *self._matching(text)] if text else self._commands
        named = self._typed(text)
        found = [known[index] for index in rank(text, [offer.text for offer in known])[: _MOST - len(named)]]
        self._shown = [*named, *found] if named else found
        for index, offer in enumerate(self._shown):
            item = QListWidgetItem(offer.text)
            item.setData(Qt.ItemDataRole.UserRole, index)
            item.setData(KEYS, offer.keys)
            spoken = f"{offer.text}, {offer.keys}" if offer.keys else offer.text
            item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
            self.list.addItem(item)
        self.list.setCurrentRow(0)
        self.list.setVisible(self.list.count() > 0)
        self._nothing.setVisible(not self.list.count())
        self._tell()

    def _matching(self, text: str) -> list[Offer]:
        """The things to rank; of very many only those that hold the text as it is, or every letter would be felt."""
        if len(self._things) <= _MANY:
            return self._things
        wanted = text.lower().replace(" ", "")
        return [offer for offer, name in zip(self._things, self._names) if wanted in name][:_MANY]

    def _tell(self) -> None:
        """The field keeps the keyboard, so it also says which entry Enter would do."""
        item = self.list.currentItem()
        self.field.setAccessibleDescription(item.text() if item else self._nothing.text())

    def _leave(self) -> None:
        """The window has the keyboard first: else Qt looks through all of it for who else could have it."""
        self._over.setFocus()
        self.hide()

    def _do(self, item: QListWidgetItem | None) -> None:
        self._leave()
        if item is not None:
            # Once what was below is painted: that and what is done are felt together.
            next_turn(self, self._shown[item.data(Qt.ItemDataRole.UserRole)].do)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if _asks_for_escape(event):  # it closes this, before it cancels or clears anything else
            event.accept()
            return True
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            if self.filling.isActive() and event.key() in _OF_THE_LIST:
                self._fill()
            steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1, Qt.Key.Key_PageUp: -10, Qt.Key.Key_PageDown: 10}
            if (step := steps.get(Qt.Key(event.key()))) is not None and self.list.count():
                row, last = self.list.currentRow() + step, self.list.count() - 1
                self.list.setCurrentRow(row % (last + 1) if abs(step) == 1 else max(0, min(last, row)))
                self._tell()
                return True
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._do(self.list.currentItem())
                return True
            if event.key() == Qt.Key.Key_Escape:
                self._leave()
                return True
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        return super().eventFilter(watched, event)


def _asks_for_escape(event: QEvent) -> bool:
    """Whether Qt asks if this widget wants Escape for itself before it becomes a shortcut of the window."""
    wanted = event.type() == QEvent.Type.ShortcutOverride
    return wanted and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape
