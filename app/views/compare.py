"""The comparison: what differs in options and machine first, then a verdict for each kernel with its interval."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.models.tables import Column
from app.theme.look import Look
from app.viewmodels.comparison import ComparisonView, KernelVerdict
from app.viewmodels.selection import Selection
from app.views.table import RecordView
from app.views.widgets import MessageBar, label


class CompareView(QWidget):
    """A row selects its kernel's nodes; activating one opens the stage at which the IR first differs."""

    stage_wanted = Signal(str, str)

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        self._look = look
        self.bar = MessageBar(look, "compare")
        self.heading = label("Select two runs in the explorer (Runs) and press Compare.", "muted")
        self.heading.setWordWrap(True)
        self.heading.setContentsMargins(10, 6, 10, 4)
        self.view = RecordView(
            "Comparison",
            [
                Column("Kernel", lambda r: r.name),
                Column("First", lambda r: r.times[0] if r.times else "", right=True),
                Column("Last", lambda r: r.times[-1] if r.times else "", right=True),
                Column("Ratio", lambda r: r.ratio, lambda v: f"{v:.2f}\u00d7", right=True),
                Column("Interval", lambda r: r.interval, right=True),
                Column("Verdict", lambda r: r.verdict, colour=self._colour),
                Column("First difference", lambda r: r.differs_at),
            ],
        )
        for column, width in ((1, 84), (2, 84), (3, 66), (4, 110), (5, 190), (6, 120)):
            self.view.table.setColumnWidth(column, width)
        self.view.current.connect(lambda row: row.nodes and selection.select(row.nodes, self))
        self.view.activated.connect(
            lambda row: self.stage_wanted.emit(row.differs_at, row.name.split(" / ")[-1].split("+")[0])
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self.bar, self.heading, self.view):
            layout.addWidget(widget)

    def set_comparison(self, comparison: ComparisonView) -> None:
        """Show it."""
        lines = [comparison.title]
        lines.append(
            "differs: " + "; ".join(comparison.differences) if comparison.differences else "same options, same machine"
        )
        if comparison.warnings:
            lines.append("note: " + "; ".join(comparison.warnings))
        self.heading.setText("\n".join(lines))
        self.view.set_records(comparison.rows)

    def _colour(self, row: KernelVerdict) -> str | None:
        theme = self._look.theme
        return theme.good if "faster" in row.verdict else theme.bad if "slower" in row.verdict else None
