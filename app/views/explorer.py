"""The explorer: kernels, passes, samples and runs, one tab each."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QListWidget, QListWidgetItem, QTabWidget, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.compilation import Compilation, KernelRecord, PassRow
from app.viewmodels.formats import count, seconds, size
from app.viewmodels.selection import Selection
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
        self.view.table.setColumnWidth(2, 66)
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


class PassesView(QWidget):
    """The passes in order; stepping through them shows what each did."""

    pass_chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._rows: tuple[PassRow, ...] = ()
        self.view = RecordView(
            "Passes",
            [
                Column("Pass", lambda p: p.name if not p.kernel else f"{p.name}  {p.kernel}"),
                Column("Time", lambda p: p.seconds * 1e3, lambda v: seconds(v / 1e3), right=True),
                Column("Ops", lambda p: p.ops_after, count, right=True),
                Column(
                    "Change",
                    lambda p: p.ops_after - p.ops_before if min(p.ops_after, p.ops_before) >= 0 else None,
                    _change,
                    right=True,
                ),
                Column("Bytes", lambda p: p.bytes_after, size, right=True),
            ],
            "Filter: time > 5, dce",
        )
        for column, width in ((1, 74), (2, 58), (3, 60), (4, 70)):
            self.view.table.setColumnWidth(column, width)
        self.view.spare_columns({2: 240, 3: 320, 4: 390})
        self.view.current.connect(self.pass_chosen)
        self.unchanged = QCheckBox("Hide unchanged")
        self.unchanged.toggled.connect(lambda _: self._show())
        self.llvm = QCheckBox("LLVM's own")
        self.llvm.toggled.connect(lambda _: self._show())
        foot = QWidget()
        row = QVBoxLayout(foot)
        row.setContentsMargins(8, 5, 8, 5)
        row.setSpacing(3)
        row.addWidget(self.unchanged)
        row.addWidget(self.llvm)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.view)
        layout.addWidget(foot)

    def set_passes(self, rows: tuple[PassRow, ...]) -> None:
        """Show these passes."""
        self._rows = rows
        self._show()

    def _show(self) -> None:
        rows = [row for row in self._rows if self.llvm.isChecked() or row.stage != "llvm-pass"]
        if self.unchanged.isChecked():
            rows = [row for row in rows if row.changed]
        self.view.set_records(rows)


def _change(value: int | None) -> str:
    return "" if value is None else f"{value:+,}" if value else "0"


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
