"""The shortcut sheet: every key, grouped, in one page, with a field to find one.

The page paints itself: a label for each key and each word would take the window a tenth of a second to make.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QDialog, QVBoxLayout, QWidget

from app.theme.look import Look
from app.views.parts.controls import Fitting, line_field
from app.views.parts.widgets import scrolled

Groups = Mapping[str, Sequence[tuple[str, str]]]
_COLUMNS, _BETWEEN, _TOP, _GAP, _INSET = 2, 36, 12, 14, 7
_WRAPPED = Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ShortcutSheet(QDialog):
    """Groups of (keys, what they do), in columns."""

    def __init__(self, look: Look, groups: Groups, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keyboard shortcuts")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(940, 640)
        self.field = line_field("Find a shortcut", "Find a key or what it does", lambda text: self.page.show_only(text))
        self.page = ShortcutPage(look, groups)
        scroll = scrolled(self.page)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setAccessibleName("Shortcuts")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 12)
        layout.addWidget(self.field)
        layout.addWidget(scroll, 1)
        beside = scroll.verticalScrollBar().sizeHint().width() + 40
        self.setMinimumWidth(self.page.minimumWidth() + beside)
        self.field.setFocus()


@dataclass(frozen=True)
class _Line:
    """A heading (without keys), or keys and what they do; where it is painted."""

    keys: str
    words: str
    place: QRect


class ShortcutPage(Fitting, QWidget):
    """As high as what it shows needs at its width."""

    def __init__(self, look: Look, groups: Groups) -> None:
        super().__init__()
        self._look, self._groups = look, groups
        self._lines: list[_Line] = []
        self._high, self._placed = 0, tuple[object, ...]()
        self.shown: dict[str, list[tuple[str, str]]] = {}
        self.show_only("")

    def show_only(self, text: str) -> None:
        """The entries that hold every word of a text."""
        words = text.lower().split()
        found = {
            title: [(k, w) for k, w in entries if all(word in f"{k} {w} {title}".lower() for word in words)]
            for title, entries in self._groups.items()
        }
        self.shown = {title: entries for title, entries in found.items() if entries}
        said = (f"{title}: " + "; ".join(f"{keys}, {what}" for keys, what in e) for title, e in self.shown.items())
        self.setAccessibleName("Shortcuts")
        self.setAccessibleDescription(". ".join(said))
        self._placed = ()
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(880, self._high)

    def _fit(self) -> None:
        """Groups one below the other, each in the column that is shortest so far; once, however often Qt asks."""
        for_what = (self.width(), self.font().key())
        if for_what == self._placed:
            return
        self._placed = for_what
        metrics, head = QFontMetrics(self.font()), QFontMetrics(self._heading)
        every = (keys for entries in self._groups.values() for keys, _ in entries)
        self._key = max([128, *(metrics.horizontalAdvance(keys) + 2 * _INSET for keys in every)])
        texts = (words for entries in self._groups.values() for _, words in entries)
        widest = max((metrics.horizontalAdvance(word) for text in texts for word in text.split()), default=0)
        self.setMinimumWidth(self._key + _GAP + widest + _TOP)
        columns = _COLUMNS if self.width() >= _COLUMNS * self.minimumWidth() + _BETWEEN else 1
        wide = (self.width() - _BETWEEN * (columns - 1) - _TOP) // columns
        ends = [_TOP] * columns
        self._lines = []
        for title, entries in self.shown.items():
            column = ends.index(min(ends))
            left, y = column * (wide + _BETWEEN), ends[column] + (_TOP if ends[column] > _TOP else 0)
            self._lines.append(_Line("", title, QRect(left, y, wide, head.height() + 6)))
            y += head.height() + 10
            room = wide - self._key - _GAP
            for keys, words in entries:
                high = metrics.boundingRect(QRect(0, 0, room, 1000), _WRAPPED, words).height() + 8
                self._lines.append(_Line(keys, words, QRect(left, y, wide, high)))
                y += high + 2
            ends[column] = y
        self._high = max(ends) + _TOP
        self.setMinimumHeight(self._high)
        self.updateGeometry()
        self.update()

    @property
    def _heading(self) -> QFont:
        font = QFont(self.font())
        font.setPixelSize(round(font.pixelSize() * 14 / 13) if font.pixelSize() > 0 else 14)
        font.setWeight(QFont.Weight.DemiBold)
        return font

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, metrics = self._look.theme, self.fontMetrics()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for line in (line for line in self._lines if line.place.intersects(event.rect())):
            if not line.keys:
                painter.setFont(self._heading)
                painter.setPen(QColor(theme.text))
                painter.drawText(line.place, Qt.AlignmentFlag.AlignVCenter, line.words)
                painter.setFont(self.font())
                continue
            wide = metrics.horizontalAdvance(line.keys) + 2 * _INSET
            chip = QRectF(line.place.left(), line.place.top(), wide, metrics.height() + 6).translated(0.5, 0.5)
            painter.setPen(QPen(QColor(theme.border), 1))
            painter.setBrush(QColor(theme.raised))
            painter.drawRoundedRect(chip, 4, 4)
            painter.setPen(QColor(theme.muted))
            painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, line.keys)
            painter.setPen(QColor(theme.text))
            painter.drawText(line.place.adjusted(self._key + _GAP, 0, 0, -2), _WRAPPED, line.words)
        painter.end()
