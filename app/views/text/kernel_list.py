"""The list of library kernels: a row leads to its source, and to the kernels of the model that are made of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QWidget

from app.viewmodels.frame.formats import sentence
from app.viewmodels.text.kernel_list import ListedKernel
from app.views.parts.controls import column
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column

_EMPTY = "Open a source to see the kernels its ops can use."
_HINT = "Filter: words, or kind = kernel, overloads > 1, used = softmax"


class KernelListView(QWidget):
    """`opened` when the source of a row is wanted, `used` its kernels in the model; `wanted` when it comes to sight."""

    opened = Signal(object)
    used = Signal(object)
    wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.view = RecordView(
            "Kernel library",
            [
                Column("Op", lambda r: r.entry.op, width=134, tip=_tip),
                Column("Kind", lambda r: r.entry.kind, width=106),
                Column("Definition", lambda r: r.entry.name, width=126, tip=_tip),
                Column("Used by", lambda r: ", ".join(r.used_by), tip=lambda r: "\n".join(r.used_by)),
                Column("Inputs", lambda r: r.entry.row["inputs"], width=90, room=1060),
                Column("Parameters", lambda r: r.entry.row["parameters"], width=150, room=940),
                Column("Fuses", lambda r: r.entry.fuses, width=146, tip=lambda r: r.entry.fuses),
                Column("Only for", lambda r: r.entry.row["only for"], width=90, room=1150),
                Column("Overloads", lambda r: r.entry.overloads, right=True, width=82, room=1230),
                Column("Where", lambda r: r.entry.where, width=168, tip=lambda r: f"{r.entry.file}:{r.entry.line}"),
            ],
            filter_hint=_HINT,
            stretch=3,
            empty=_EMPTY,
            key=lambda r: (r.entry.file, r.entry.line),
        )
        self.view.activated.connect(self.opened)
        for text, signal in (("Go to its source", self.opened), ("Select its kernels in the model", self.used)):
            action = QAction(text, self.view.table)
            action.triggered.connect(lambda _=False, s=signal: self._tell(s))
            self.view.table.addAction(action)
        column(self, self.view)
        self.setFocusProxy(self.view)

    def show_rows(self, rows: Sequence[ListedKernel], words: str = "") -> None:
        """The list, or why there is none."""
        self.view.table.empty = sentence(words) or _EMPTY
        self.view.set_records(rows)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.wanted.emit()

    def _tell(self, signal: object) -> None:
        for row in self.view.selected()[:1]:
            signal.emit(row)  # pyright: ignore[reportAttributeAccessIssue]


def _tip(row: ListedKernel) -> str:
    """All that a narrow list leaves out."""
    entry = row.entry
    lines = [
        entry.description or f"{entry.name} in {entry.where}",
        *(f"{name}: {text}" for name, text in entry.row.items() if text),
    ]
    return "\n".join([*lines, f"{entry.overloads} overloads"] if entry.overloads > 1 else lines)
