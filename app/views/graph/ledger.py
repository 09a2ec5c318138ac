"""The fusion ledger as a table: every candidate edge, whether it was fused, by which rule, and why."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from app.theme.look import Look
from app.viewmodels.compilation import Compilation, Decision
from app.viewmodels.frame.formats import size
from app.viewmodels.frame.selection import Selection
from app.views.parts.controls import column
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column


class LedgerView(QWidget):
    """A row selects its two nodes; its menu asks what if it were the other way."""

    what_if = Signal(str, str, bool)

    def __init__(self, look: Look, selection: Selection) -> None:
        super().__init__()
        verdict = lambda d: look.theme.good if d.accepted else look.theme.warning  # noqa: E731
        self._compilation: Compilation | None = None
        self.view = RecordView(
            "Fusion ledger",
            [
                Column("Verdict", lambda d: "fused" if d.accepted else "not fused", colour=verdict, width=84),
                Column("Producer", lambda d: d.producer, width=112),
                Column("Consumer", lambda d: d.consumer, width=112),
                Column("Rule", lambda d: d.rule, width=84),
                Column("Why", lambda d: d.reason),
                Column(
                    "Saved",
                    lambda d: int(d.bytes_saved) if d.bytes_saved.isdigit() else d.bytes_saved,
                    _saved,
                    right=True,
                    width=76,
                ),
            ],
            "Filter: verdict = fused, rule = view, softmax",
            stretch=4,
            empty="Compile something: every edge that could be fused is listed here, with the rule and the reason.",
        )
        self.view.current.connect(lambda d: selection.select((d.producer, d.consumer), self))
        self.view.table.customContextMenuRequested.connect(self._menu)
        self.view.table.setContextMenuPolicy(self.view.table.contextMenuPolicy().CustomContextMenu)
        column(self, self.view)
        selection.changed.connect(self._selected)

    def set_compilation(self, compilation: Compilation) -> None:
        """Show its ledger."""
        self._compilation = compilation
        self.view.set_records(compilation.ledger)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if self._compilation is not None and origin is not self:
            chosen = [d for d in self._compilation.ledger if d.producer in nodes and d.consumer in nodes]
            self.view.select_records(chosen)

    def _menu(self, point) -> None:
        index = self.view.table.indexAt(point)
        if not index.isValid():
            return
        decision: Decision = self.view.model.record(index.row())
        menu = QMenu(self)
        words = "Cut here and compare" if decision.accepted else "Fuse here and compare"
        menu.addAction(words, lambda: self.what_if.emit(decision.producer, decision.consumer, not decision.accepted))
        menu.exec(self.view.table.viewport().mapToGlobal(point))


def _saved(value: object) -> str:
    return size(value) if isinstance(value, int) and value else "" if value in (0, "0") else str(value)
