"""One IR pane: a header that says which stage of which kernel, the text, and a find bar."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QInputDialog, QVBoxLayout, QWidget

from app.messages import Message
from app.theme.look import Look
from app.viewmodels.compilation import MODEL_STAGES, STAGE_TITLES, STAGES, Compilation, language_of
from app.viewmodels.diff import DiffDocument
from app.viewmodels.folding import directive_lines
from app.viewmodels.ir_pane import IrPaneModel, badge_numbers
from app.viewmodels.run_figures import line_heat
from app.viewmodels.selection import Selection
from app.views.find_bar import FindBar
from app.views.text_view import TextView
from app.views.widgets import Choice, MessageBar, flat_button, header, label


class IrPane(QWidget):
    """Shows what its model holds; clicks and hovers on lines go to the selection."""

    compare_wanted = Signal(object)
    close_wanted = Signal(object)

    def __init__(self, look: Look, model: IrPaneModel, selection: Selection) -> None:
        super().__init__()
        self.model, self.selection, self._look = model, selection, look
        self._compilation: Compilation | None = None
        self._costs: dict[str, float] = {}
        self.diff: DiffDocument | None = None
        self.text = TextView(look)
        self.find_bar = FindBar(look, self.text)
        self.bar = MessageBar(look, "pane")
        self.stage = Choice("Stage", [(s, STAGE_TITLES[s]) for s in STAGES], flat=True)
        self.kernel = Choice("Kernel", flat=True)
        self.coverage = label("", "faint")
        self.coverage.setToolTip("The share of lines that know the graph node they came from")
        self.lock = flat_button(
            look, "lock", "Lock: keep this kernel when the selection moves", self._lock, checkable=True
        )
        self.compare = flat_button(look, "diff", "Compare with the stage before (D)", self._compare, checkable=True)
        self.quiet = flat_button(
            look, "pass", "Hide assembler directives and comments", self._hide_noise, checkable=True
        )
        self.quiet.setChecked(True)
        self.stage.chosen.connect(lambda stage: self.model.show(stage=stage))
        self.kernel.chosen.connect(lambda kernel: self.model.show(kernel=kernel))
        self.header = header(
            self.stage, self.kernel, None, self.coverage, self.quiet, self.compare, self.lock,
            flat_button(look, "close", "Close this pane", lambda: self.close_wanted.emit(self)),
        ).spare(self.coverage, self.compare, self.quiet)  # fmt: skip
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for widget in (self.bar, self.text, self.find_bar):
            layout.addWidget(widget)
        self.text.line_clicked.connect(self._clicked)
        self.text.line_hovered.connect(self._hovered)
        model.changed.connect(self.refresh)
        model.wanted.connect(lambda _: self._show_choice())
        selection.changed.connect(self._selected)
        selection.hovered.connect(self._light)
        self._show_choice()

    def release(self) -> None:
        """Stop listening: the pane is closing."""
        self.selection.changed.disconnect(self._selected)
        self.selection.hovered.disconnect(self._light)

    def set_compilation(self, compilation: Compilation) -> None:
        """Another compilation: its kernels are the ones to choose from, and the text is asked for again."""
        self._compilation, self._costs = compilation, {}
        self.kernel.set_entries([(kernel.name, kernel.name) for kernel in compilation.kernels])
        if self.model.kernel not in compilation.kernel_table:
            self.model.kernel = compilation.kernels[0].name if compilation.kernels else ""
        if self.model.target == compilation.choices.target:
            self.model.target = ""
        self._show_choice()
        self.model.ask()

    def set_target(self, target: str) -> None:
        """Show the same stage and kernel compiled for another target; the compilation's own is the usual."""
        own = self._compilation.choices.target if self._compilation else ""
        self.model.show(target="" if target == own else target)

    def set_costs(self, costs: dict[str, float]) -> None:
        """Measured kernel times, apportioned to nodes: shown as heat beside the lines that came from them."""
        self._costs = costs
        self._show_heat()

    def refresh(self) -> None:
        """The model's document changed."""
        self._show_choice()
        self.diff = None
        self.compare.blockSignals(True)
        self.compare.setChecked(False)
        self.compare.blockSignals(False)
        if self.model.error:
            self.bar.show_message(Message("error", self.model.error, "pane"))
        else:
            self.bar.hide()
        self._set_document(self.model.document)
        share = self.model.document.coverage_without(self.text.noise)
        where = f"{self.model.target}  " if self.model.target else ""
        self.coverage.setText(f"{where}{share:.0%} linked" if self.model.document.lines else where)

    def show_diff(self, diff: DiffDocument) -> None:
        """Show the changes since another text."""
        self.diff = diff
        self._set_document(diff.document)
        self.text.set_diff(diff.marks, diff.numbers)
        self.coverage.setText(diff.summary)
        if diff.changes:
            self.text.reveal(diff.changes[0])

    def step_difference(self, by: int) -> None:
        """F7 and Shift+F7."""
        changes = self.diff.changes if self.diff else []
        if not changes:
            return
        at = self.text.caret if self.text.caret >= 0 else self.text.visible_range()[0] - 1
        later = [line for line in changes if line > at]
        earlier = [line for line in changes if line < at]
        self.text.go_to_line((later or changes)[0] if by > 0 else (earlier or changes)[-1])

    def ask_line(self) -> None:
        """Ctrl+G."""
        lines = self.text.document.lines
        number, good = QInputDialog.getInt(
            self, "Go to line", f"Line (1 to {lines:,}):", max(self.text.caret, 0) + 1, 1, max(lines, 1)
        )
        if good:
            self.text.go_to_line(number - 1)

    def _set_document(self, document) -> None:
        target = self.model.target or (self._compilation.choices.target if self._compilation else "cpu")
        language = language_of(self.model.stage, target)
        same_place = self.text.first_row if document.lines == self.text.document.lines else 0
        self.text.set_document(document, language, badge_numbers(document, self._compilation))
        self.text.setAccessibleName(f"{STAGE_TITLES[self.model.stage]} of {self.model.kernel or 'the model'}")
        self._hide_noise(self.quiet.isChecked())
        self._show_heat()
        self.text.verticalScrollBar().setValue(same_place)
        self._selected(self.selection.nodes, None)

    def _show_choice(self) -> None:
        self.stage.set_value(self.model.stage)
        self.kernel.set_value(self.model.kernel)
        self.quiet.setVisible(self.model.stage == "asm")
        self.kernel.setVisible(self.model.stage not in MODEL_STAGES)
        if self.model.loading:
            self.coverage.setText("loading")

    def _show_heat(self) -> None:
        document = self.text.document
        known = self._costs and len(document.line_sets) == document.lines
        self.text.heat = line_heat(document.sets, document.line_sets, self._costs) if known else None
        note = "Heat: the kernel's time is measured; its lines' shares are apportioned" if known else ""
        self.text.setToolTip(note)
        self.text.viewport().update()

    def _hide_noise(self, on: bool) -> None:
        noisy = self.text.language == "asm" and self.diff is None
        self.text.set_noise(directive_lines(self.text.document) if on and noisy else None)

    def _lock(self, on: bool) -> None:
        self.model.locked = on

    def _compare(self, on: bool) -> None:
        if on:
            self.compare_wanted.emit(self)
        else:
            self.refresh()

    def _clicked(self, line: int) -> None:
        self.selection.select(self.text.document.nodes(line), self)

    def _hovered(self, line: int) -> None:
        self.selection.hover(self.text.document.nodes(line) if line >= 0 else (), self)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        if self._compilation is not None and origin is not self and nodes:
            self.model.follow(self._compilation, nodes)
        self.text.set_lit(self.text.document.lit_lines(nodes), reveal=origin is not self)

    def _light(self, nodes: frozenset[str], _origin: object) -> None:
        document = self.text.document
        self.text.set_hovered(document.lit_lines(nodes) if nodes else np.zeros(document.lines, bool))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_D and not event.modifiers():
            self.compare.toggle()
        else:
            super().keyPressEvent(event)
