"""The view of tuning: how long it may take, a button that starts and stops it, and a row for each kernel."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.runs.tuning import TuneRow
from app.views.parts.controls import column, push_button, spin_box
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Elided, MessageBar, label
from profiler.tuning import BUDGET

_EMPTY = (
    "Kernels leave tiles, blocks and ways to choose. Tuning tries them on this device, checks what they compute, and "
    "keeps what is measurably faster: compilations then use it."
)


class TuningView(QWidget):
    """`tune_wanted` and `stop_wanted` come from the same button."""

    tune_wanted = Signal()
    stop_wanted = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.bar = MessageBar(look, "tune")
        self.start = push_button("Tune", self._pressed, "Try what the kernels of this model leave to choose", "Tune",
                                 "primary")  # fmt: skip
        self.budget = spin_box("Seconds that tuning may take", 5, 86400, " s", tip="Seconds that tuning may take")
        self.budget.setValue(round(BUDGET))
        self.said = Elided(role="muted")
        self.table = RecordView(
            "Tuned kernels",
            [
                Column("Kernel", lambda row: row.kernel, tip=lambda row: row.kernel, width=220),
                Column("By itself", lambda row: row.usual, tip=lambda row: row.usual, width=240, room=1100),
                Column("Best", lambda row: row.best, tip=lambda row: row.best, width=220),
                Column("Tried", lambda row: row.tried, right=True, width=60),
                Column("Of its time", lambda row: row.ratio, lambda v: "" if v is None else f"{v:.3f}", right=True,
                       width=90, tip=lambda row: row.interval,
                       colour=lambda row: look.theme.good if row.faster else None),
                Column("Found", lambda row: row.words, tip=lambda row: "\n".join([row.words, *row.dropped])),
            ],
            stretch=5,  # words: on a wide screen they are whole, and figures stand beside the names they are of
            empty=_EMPTY,
            key=lambda row: row.kernel,
        )  # fmt: skip
        top = Header(self.start, label("for at most", "muted"), self.budget, self.said, wide=self.said).spaced()
        column(self, self.bar, top, self.table, main=self.table)
        self.going_on = False

    def begin(self) -> None:
        """It starts: what was found before goes."""
        self.table.set_records(())
        self.said.setText("Compiling")
        self._go_on(True)

    def tell(self, words: str, rows: tuple[TuneRow, ...]) -> None:
        """How far it is, and what is known."""
        self.said.setText(words)
        self.table.set_records(rows)

    def end(self, words: str, rows: tuple[TuneRow, ...] | None = None) -> None:
        """It is over; rows that are there stay where no others are given."""
        self.said.setText(words)
        if rows is not None:
            self.table.set_records(rows)
        self._go_on(False)

    def _go_on(self, going_on: bool) -> None:
        self.going_on = going_on
        self.start.setText("Stop" if going_on else "Tune")

    def _pressed(self) -> None:
        (self.stop_wanted if self.going_on else self.tune_wanted).emit()
