"""The explorer: kernels, passes, samples and runs, one tab each."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QTabWidget, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.compilation import Compilation, KernelRecord
from app.viewmodels.formats import seconds
from app.viewmodels.selection import Selection
from app.views.passes import PassesView
from app.views.table import RecordView


class KernelsView(QWidget):
    """The kernels; a click selects their nodes."""

    kernel_chosen = Signal(str)

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection
        self._compilation: Compilation | None = None
        self._times: dict[str, float] = {}
        self.view = RecordView(
            "Kernels",
            [
                Column("Kernel", lambda k: k.name),
                Column("Nodes", lambda k: len(k.nodes), right=True),
                Column("Time", lambda k: self._times.get(k.name, -1.0), seconds, right=True),
            ],
            "Filter: matmul, nodes > 3",
        )
        self.view.current.connect(self._chosen)
        self.view.table.setColumnWidth(1, 52)
        self.view.table.setColumnWidth(2, 76)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.view)
        selection.changed.connect(self._selected)

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its kernels."""
        self._compilation, self._times = compilation, {}
        self.view.table.setColumnHidden(2, True)
        self.view.set_records(compilation.kernels)

    def set_times(self, times: dict[str, float]) -> None:
        """Measured seconds of each kernel, over all of its calls."""
        self._times = times
        self.view.table.setColumnHidden(2, not times)
        if self._compilation:
            self.view.set_records(self._compilation.kernels)

    def _chosen(self, kernel: KernelRecord) -> None:
        self.kernel_chosen.emit(kernel.name)
        self._selection.select(kernel.nodes, self)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if self._compilation is not None and origin is not self:
            names = self._compilation.kernels_of(nodes)
            self.view.select_records([self._compilation.kernel_table[name] for name in names])


class SamplesView(QListWidget):
    """What ships with the program and what was opened lately; Enter or a double click opens."""

    open_wanted = Signal(str)

    def __init__(self, look: Look, entries: list[tuple[str, str, str]], icon: str, name: str) -> None:
        super().__init__()
        self._look, self._icon = look, icon
        self.setAccessibleName(name)
        self.setIconSize(QSize(16, 16))
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.set_entries(entries)
        self.itemActivated.connect(lambda item: self.open_wanted.emit(item.data(Qt.ItemDataRole.UserRole)))
        look.changed.connect(self._restyle)

    def set_entries(self, entries: list[tuple[str, str, str]]) -> None:
        """Entries are (source, title, description)."""
        self.clear()
        for source, title, description in entries:
            item = QListWidgetItem(self._look.icon(self._icon), title)
            item.setData(Qt.ItemDataRole.UserRole, source)
            item.setToolTip(description)
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
        self.addTab(kernels, "Kernels")
        self.addTab(passes, "Passes")
        self.addTab(samples, "Samples")
        self.addTab(runs, "Runs")
        self.setMinimumWidth(228)
