"""Flows: per-kernel against all-kernel over -O and debug levels, with bars beside the figures."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QRect, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStyledItemDelegate, QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.formats import seconds, size
from app.views.table import RecordView
from app.views.widgets import MessageBar, label


class _Bar(QStyledItemDelegate):
    """A bar behind the figure, as long as its share of the largest."""

    def __init__(self, look: Look, view: FlowsView, key: str, colour: int) -> None:
        super().__init__(view)
        self._look, self._view, self._key, self._colour = look, view, key, colour

    def paint(self, painter: QPainter, option: Any, index: Any) -> None:
        super().paint(painter, option, index)
        most = max((row[self._key] for row in self._view.rows), default=0) or 1
        value = self._view.view.model.record(index.row())[self._key]
        box: QRect = option.rect
        width = int((box.width() - 90) * value / most)
        painter.fillRect(
            QRect(box.left() + 6, box.top() + 8, max(width, 1), box.height() - 16),
            QColor(self._look.theme.series[self._colour]),
        )


class FlowsView(QWidget):
    """Rows are the cells of `kernelglass flows`."""

    measure_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []
        self.bar = MessageBar(look, "flows")
        self.view = RecordView(
            "Flows",
            [
                Column("Flow", lambda r: r["flow"]),
                Column("-O", lambda r: r["opt_level"], right=True),
                Column("Debug", lambda r: r["debug"]),
                Column("Cache", lambda r: r["cache"]),
                Column("User", lambda r: r["user_s"], seconds, right=True),
                Column("System", lambda r: r["system_s"], seconds, right=True),
                Column("Elapsed", lambda r: r["elapsed_s"], seconds, right=True),
                Column("CPU", lambda r: r["cpu_percent"], lambda v: f"{v:.0f} %", right=True),
                Column("Peak memory", lambda r: r["peak_bytes"], size, right=True),
                Column("Time ratio", lambda r: r["time_ratio"], lambda v: f"{v:.2f}\u00d7" if v else "", right=True),
            ],
        )
        for column, width in ((1, 40), (2, 90), (3, 56), (4, 76), (5, 76), (6, 190), (7, 66), (8, 190), (9, 84)):
            self.view.table.setColumnWidth(column, width)
        self._bars = (_Bar(look, self, "elapsed_s", 0), _Bar(look, self, "peak_bytes", 1))
        self.view.table.setItemDelegateForColumn(6, self._bars[0])
        self.view.table.setItemDelegateForColumn(8, self._bars[1])
        self.note = label(
            "Compiles the open source both ways in fresh processes: time, CPU and memory of each.", "muted"
        )
        button = QPushButton("Measure flows")
        button.clicked.connect(self.measure_wanted)
        row = QHBoxLayout()
        row.setContentsMargins(10, 6, 10, 4)
        row.addWidget(self.note, 1)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignRight)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addLayout(row)
        layout.addWidget(self.view)

    def set_document(self, document: dict[str, Any]) -> None:
        """Show what was measured."""
        self.rows = [_flat(cell) for cell in document["cells"]]
        self.view.set_records(self.rows)
        self.note.setText(
            f"{document['source']}: {document['kernels']} kernels, {document['cores']} cores; "
            "ratio is per-kernel / all-kernel CPU time"
        )


def _flat(cell: dict[str, Any]) -> dict[str, Any]:
    """The cell with every figure under a name of ours, whatever shape the document gives it."""

    def figure(*names: str) -> float:
        for name in names:
            value = cell.get(name)
            if isinstance(value, dict):
                value = value.get("median")
            if isinstance(value, (int, float)):
                return float(value)
        return 0.0

    user, system, elapsed = figure("user_s", "user"), figure("system_s", "system"), figure("elapsed_s", "elapsed")
    return {
        "flow": cell["flow"],
        "opt_level": cell["opt_level"],
        "debug": cell["debug"],
        "cache": cell.get("cache", ""),
        "user_s": user,
        "system_s": system,
        "elapsed_s": elapsed,
        "cpu_percent": 100 * (user + system) / elapsed if elapsed else 0.0,
        "peak_bytes": figure("peak_bytes", "peak_memory"),
        "time_ratio": cell.get("time_ratio"),
    }
