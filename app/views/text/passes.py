"""The passes of a kernel: time, operations and bytes before and after; stepping through them shows their changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PySide6.QtWidgets import QApplication, QCheckBox, QStyle, QStyledItemDelegate, QWidget

from app.theme.look import Look
from app.theme.tokens import ROW, Theme
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.text.passes import PassStep, arrow
from app.views.parts.controls import column
from app.views.parts.header import Header
from app.views.parts.table import RecordView
from app.views.parts.table_model import Column
from app.views.parts.widgets import Choice, Elided, MessageBar

_EMPTY = "Compile something to see its passes. Choose one of its kernels to step through them."
_TALL = 42  # a row with two lines, where the columns have no room
_SHARED = re.compile("^kg_shared_.*")  # code that several kernels call is named by its content
_NARROW = 540  # below this the name of a pass would have no room beside its figures


class _Change(int):
    """A size after a pass that remembers the one before it: sorts and filters as a number."""

    before: int

    def __new__(cls, before: int, after: int) -> _Change:
        made = super().__new__(cls, after)
        made.before = before
        return made


class PassesView(QWidget):
    """`pass_chosen` as one steps; `kernel_wanted` when another kernel's passes are to be listed (empty: all)."""

    pass_chosen = Signal(object)
    kernel_wanted = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._steps: tuple[PassStep, ...] = ()
        self.bar = MessageBar(look, "passes")
        self.kernel = Choice("Whose passes", [("", "All kernels, as compiled")], flat=True)
        self.kernel.chosen.connect(self.kernel_wanted)
        self.view = RecordView(
            "Passes",
            [
                Column("Pass", lambda p: p.name, tip=self._tip,
                       colour=lambda p: None if p.changed else look.theme.faint),
                Column("Stage", lambda p: _stage(p), tip=self.stage_word, width=72),
                Column("Time", lambda p: p.seconds * 1e3, lambda v: seconds(v / 1e3) if v else "", right=True,
                       width=76),
                Column("Ops", lambda p: _Change(p.ops_before, p.ops_after), lambda c: arrow(c.before, int(c)),
                       right=True, width=106),
                Column("Bytes", lambda p: _Change(p.bytes_before, p.bytes_after), lambda c: _sizes(c.before, int(c)),
                       right=True, width=140),
            ],
            "Filter: time > 0.5, InstCombine",
            empty=_EMPTY,
        )  # fmt: skip
        self.view.table.setItemDelegateForColumn(0, _TwoLines(self, lambda: look.theme))
        self.view.current.connect(self.pass_chosen)
        self.changed_only = QCheckBox("Hide unchanged")
        self.llvm = QCheckBox("LLVM's own passes")
        self.llvm.setChecked(True)
        for box in (self.changed_only, self.llvm):
            box.toggled.connect(lambda _: self._show())
        self.summary = Elided("Choose a kernel to step.", role="muted")
        foot = QWidget()
        column(foot, self.summary, self.changed_only, self.llvm, margins=(8, 5, 8, 6), spacing=3)
        column(self, Header(self.kernel, None), self.bar, self.view, foot)

    def set_kernels(self, names: list[str]) -> None:
        """The kernels to choose from; the choice stays where it still exists."""
        self.kernel.set_entries([("", "All kernels, as compiled"), *((name, name) for name in names)])

    def set_steps(self, kernel: str, steps: tuple[PassStep, ...]) -> None:
        """Show the passes of a kernel, or all of a compilation's."""
        self.bar.hide()
        self.kernel.set_value(kernel)
        self._steps = steps
        self.view.table.empty = _EMPTY
        self._show()
        if not kernel:
            self.summary.setText("Choose a kernel to step.")

    def set_loading(self, kernel: str) -> None:
        """The passes of a kernel are being run one by one."""
        self.bar.hide()
        self.kernel.set_value(kernel)
        self._steps = ()
        self.view.table.empty = f"Running the passes of {kernel} one by one\u2026"
        self._show()
        self.summary.setText(self.view.table.empty)

    @property
    def compact(self) -> bool:
        """Whether there is room for one column only."""
        return self.width() < _NARROW

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        for at in (1, 2, 3, 4):
            self.view.set_wanted(at, not self.compact)
        self.view.set_row(_TALL if self.compact else ROW)

    def _show(self) -> None:
        rows = [step for step in self._steps if self.llvm.isChecked() or not step.llvms]
        shown = [step for step in rows if step.changed] if self.changed_only.isChecked() else rows
        self.view.set_records(shown)
        changed = sum(step.changed for step in rows)
        total = sum(step.seconds for step in rows)
        self.summary.setText(f"{changed} of {len(rows)} changed it  \u00b7  {seconds(total)}" if rows else "")

    def _tip(self, step: PassStep) -> str:
        time = seconds(step.seconds) if step.seconds else ""
        return "\n".join(part for part in (step.name, self.stage_word(step), time, self.second_line(step)) if part)

    def second_line(self, step: PassStep) -> str:
        """What a compact row says below the name."""
        whose = "" if self.kernel.value else _SHARED.sub("shared by kernels", step.kernel)  # in the list of all
        parts = [whose, f"{step.ops} ops" if step.ops else "", _sizes(step.bytes_before, step.bytes_after)]
        return "  \u00b7  ".join(part for part in (*parts, "" if step.changed else "unchanged") if part)

    def stage_word(self, step: PassStep) -> str:
        """What a compact row says behind the name: the stage, and the function where a pass ran on one."""
        return _stage(step) + (f" {step.scope}" if step.scope not in ("", "module") else "")


_AT_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_AT_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_KEPT = 1000  # rows whose words are kept


@dataclass(frozen=True)
class _Row:
    """What a row says, as it fits."""

    name: str
    used: int
    stage: str
    time: str
    below: str
    small: QFont


class _TwoLines(QStyledItemDelegate):
    """Paints the name, and below it the figures while their columns are hidden."""

    def __init__(self, view: PassesView, theme: Callable[[], Theme]) -> None:
        super().__init__(view)
        self._view, self._theme = view, theme
        self._rows: dict[tuple[object, ...], _Row] = {}

    def paint(self, painter: QPainter, option, index) -> None:  # stubs leave out what an option holds
        if not self._view.compact:
            super().paint(painter, option, index)
            return
        self.initStyleOption(option, index)
        step: PassStep = self._view.view.model.record(index.row())
        name, option.text = option.text, ""
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, option, painter, option.widget)
        box: QRect = option.rect.adjusted(8, 3, -8, -3)
        font, half = option.font, box.height() // 2
        row = self._fitted(step, name, font, box.width())
        muted, faint = QColor(self._theme().muted), QColor(self._theme().faint)
        painter.save()
        painter.setPen(option.palette.text().color() if step.changed else faint)
        upper, lower = box.adjusted(0, 0, 0, -half if row.below else 0), box.adjusted(0, half, 0, 0)
        painter.drawText(upper, _AT_LEFT, row.name)
        painter.drawText(upper, _AT_RIGHT, row.time)
        if row.stage:
            painter.setPen(faint)
            painter.drawText(upper.adjusted(row.used, 0, 0, 0), _AT_LEFT, row.stage)
        painter.setPen(muted)
        painter.setFont(row.small)
        painter.drawText(lower, _AT_LEFT, row.below)
        painter.restore()

    def _fitted(self, step: PassStep, name: str, font: QFont, width: int) -> _Row:
        """The words of a row, cut to the room that they have; kept, as measuring takes longer than painting."""
        key = (step, name, self._view.kernel.value, font.key(), width)
        if (row := self._rows.get(key)) is None:
            if len(self._rows) >= _KEPT:
                self._rows.clear()
            row = self._rows[key] = self._fit(step, name, font, width)
        return row

    def _fit(self, step: PassStep, name: str, font: QFont, width: int) -> _Row:
        metrics, cut = QFontMetrics(font), Qt.TextElideMode.ElideRight
        time = seconds(step.seconds) if step.seconds else ""
        room = width - metrics.horizontalAdvance(time) - 8
        name = metrics.elidedText(name, cut, room)
        used = metrics.horizontalAdvance(name) + 8
        words = (self._view.stage_word(step), _stage(step))  # whole or not at all: the tip has it
        stage = next((word for word in words if metrics.horizontalAdvance(word) <= room - used), "")
        small = QFont(font)
        small.setPixelSize(max(metrics.ascent() - 1, 8))
        below = QFontMetrics(small).elidedText(self._view.second_line(step), cut, width)
        return _Row(name, used, stage, time, below, small)

    def sizeHint(self, option, index) -> QSize:
        high = self._view.view.table.verticalHeader().defaultSectionSize()
        return QSize(super().sizeHint(option, index).width(), high)


def _stage(step: PassStep) -> str:
    words = {"mo": "graph", "mogg": "fusion", "llvm-pass": "LLVM", "llvm": "LLVM", "machine": "LLVM"}
    return words.get(step.stage, step.stage)


def _sizes(before: int, after: int) -> str:
    """Both in one unit where they have one: `17.2 \u2192 16.5 KiB`."""
    first, second = size(before).split(" "), size(after).split(" ")
    text = arrow(before, after, size)
    return text.replace(f" {first[-1]} ", " ") if first[-1] == second[-1] else text
