"""The explorer: kernels, passes, samples and runs, one tab each."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QTabWidget, QWidget

from app.theme.look import Look
from app.viewmodels.compilation import Compilation, KernelRecord
from app.viewmodels.frame.formats import seconds
from app.viewmodels.frame.selection import Selection
from app.views.parts.controls import column
from app.views.parts.plain import plain_tip
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.text.passes import PassesView
from compiler.printable import printable


class KernelsView(QWidget):
    """The kernels; a click selects their nodes."""

    kernel_chosen = Signal(str)

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self._compilation: Compilation | None = None
        self._times: dict[str, float] = {}
        self._notes: dict[str, str] = {}
        self.view = RecordView(
            "Kernels",
            [
                Column("Kernel", lambda k: k.name, words=self._words, tip=self._tip),
                Column("Nodes", lambda k: len(k.nodes), right=True, width=58),
                Column("Time", lambda k: self._times.get(k.name, -1.0), seconds, right=True, width=76),
            ],
            "Filter: matmul, nodes > 3",
            empty="The kernels of what is compiled come here. Open a sample or a file.",
        )
        self.view.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # names of kernels differ at their ends
        self.view.current.connect(self._chosen)
        self.view.set_wanted(2, False)
        column(self, self.view)
        selection.changed.connect(self._selected)

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its kernels."""
        self._compilation = compilation
        self.set_times({})

    def set_coming(self, kernels: list[KernelRecord]) -> None:
        """Kernels of a model that is being compiled, as far as they have come."""
        self._compilation, self._times = None, {}
        self.view.set_wanted(2, False)
        self.view.set_records(kernels)

    def set_notes(self, notes: dict[str, str]) -> None:
        """Notes on kernels, by name."""
        changed, self._notes = notes != self._notes, notes
        if changed:
            self.view.table.viewport().update()

    def _words(self, kernel: KernelRecord) -> str:
        """Its name, and that there is a note on it, which its tip says."""
        return f"{kernel.name} \u270e" if kernel.name in self._notes else kernel.name

    def _tip(self, kernel: KernelRecord) -> str:
        return "\n".join(filter(None, (kernel.name, self._notes.get(kernel.name, ""))))

    def set_times(self, times: dict[str, float]) -> None:
        """Measured seconds of each kernel, over all of its calls."""
        self._times = times
        self.view.set_wanted(2, bool(times))
        self.view.set_room(1, 330 if times else 0)  # names of kernels first
        if self._compilation:
            self.view.set_records(self._compilation.kernels)
            self._selected(self._selection.nodes, None)

    def _chosen(self, kernel: KernelRecord) -> None:
        self.kernel_chosen.emit(kernel.name)
        self._selection.select(kernel.nodes, self)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if self._compilation is not None and origin is not self:
            names = self._compilation.kernels_of(nodes)
            self.view.select_records([self._compilation.kernel_table[name] for name in names])


_PAD = 6  # pixels above and below the two lines of a sample
_DESCRIPTION = Qt.ItemDataRole.UserRole + 1  # what is drawn below a title; as a tip it may be written out


class _TwoLines(QStyledItemDelegate):
    """The name, and below it in the muted colour what it is, as far as there is room."""

    def __init__(self, look: Look, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look

    def paint(self, painter: QPainter, option, index) -> None:  # stubs leave out what an option holds
        super().paint(painter, option, index)
        box: Any = option.rect
        small = QFont(option.font)
        small.setPixelSize(max(self._look.ui_pixels - 2, 9))
        half = (box.height() - 2 * _PAD) // 2
        above = box.adjusted(30, _PAD, -8, -_PAD - half)
        painter.save()
        for role, font, colour, place in (
            (Qt.ItemDataRole.DisplayRole, option.font, "text", above),
            (_DESCRIPTION, small, "muted", above.translated(0, half)),
        ):
            painter.setFont(font)
            painter.setPen(QColor(getattr(self._look.theme, colour)))
            words = painter.fontMetrics().elidedText(index.data(role), Qt.TextElideMode.ElideRight, place.width())
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, words)
        painter.restore()

    def initStyleOption(self, option, index) -> None:
        """Without the text, which is drawn in its two lines afterwards."""
        super().initStyleOption(option, index)
        option.text = ""

    def sizeHint(self, option, index) -> QSize:
        return QSize(120, 2 * option.fontMetrics.height() + 2 * _PAD)


class SamplesView(QListWidget):
    """What ships with the program and what was opened lately; Enter or a double click opens."""

    open_wanted = Signal(str)

    def __init__(self, look: Look, entries: list[tuple[str, str, str]], icon: str, name: str) -> None:
        super().__init__()
        self._look, self._icon = look, icon
        self.setAccessibleName(name)
        self.setIconSize(QSize(16, 16))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setItemDelegate(_TwoLines(look, self))
        self.set_entries(entries)
        self.itemActivated.connect(lambda item: self.open_wanted.emit(item.data(Qt.ItemDataRole.UserRole)))
        look.changed.connect(self._restyle)

    def set_entries(self, entries: list[tuple[str, str, str]]) -> None:
        """Entries are (source, title, description)."""
        self.clear()
        for source, title, description in entries:
            item = QListWidgetItem(self._look.icon(self._icon), printable(title))
            item.setData(Qt.ItemDataRole.UserRole, source)
            item.setToolTip(plain_tip(description))
            item.setData(_DESCRIPTION, printable(description))
            self.addItem(item)

    def _restyle(self) -> None:
        for row in range(self.count()):
            self.item(row).setIcon(self._look.icon(self._icon))


class Explorer(QTabWidget):
    """The tabs."""

    def __init__(self, kernels: KernelsView, passes: PassesView, samples: SamplesView, runs: QWidget) -> None:
        super().__init__()
        self.setObjectName("explorer")
        self.setDocumentMode(True)
        self.setUsesScrollButtons(False)
        self.tabBar().setExpanding(False)
        self.tabBar().setAccessibleName("Explorer")
        for view, title in ((kernels, "Kernels"), (passes, "Passes"), (samples, "Samples"), (runs, "Runs")):
            self.addTab(view, title)
        self.setMinimumWidth(228)
