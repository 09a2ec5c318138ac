"""One IR pane: a header that says which stage of which kernel, a strip for differences, the text, and a find bar."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from app.theme.look import Look
from app.viewmodels.compilation import LIBRARY, PANE_STAGES, WHOLE_STAGES, Compilation, language_of, stage_title
from app.viewmodels.frame.messages import Message
from app.viewmodels.frame.selection import Selection
from app.viewmodels.requests import RunTimes
from app.viewmodels.text.exact_lines import exact_lines, spot_of
from app.viewmodels.text.folding import directive_lines, metadata_regions
from app.viewmodels.text.instruction_help import line_tip
from app.viewmodels.text.ir_pane import IrPaneModel, TextKey, badge_numbers, usual_file
from app.viewmodels.text.line_costs import LineCosts
from app.viewmodels.text.sampled_costs import costs_of
from app.viewmodels.text.text_document import EMPTY
from app.views.parts.controls import column
from app.views.parts.header import Header
from app.views.parts.later import NEXT, laid_out_once, one_shot
from app.views.parts.plain import plain_tip
from app.views.parts.widgets import flat_button, label
from app.views.text.kernel_row import KernelRow
from app.views.text.pane_menu import edit_button, go_to_definition, pane_menu, step_difference
from app.views.text.pane_parts import PaneParts

_MACHINE = ("asm", "sass")  # stages with directives and comments that are no instructions
_LATE = 200  # milliseconds after which a text that has not come leaves its place empty


class IrPane(QWidget):
    """Shows what its model holds; clicks and hovers on lines go to the selection."""

    compare_wanted = Signal(object, str)  # the pane, and with what: "stage" or "previous"
    beside_wanted = Signal(object, str)  # the pane, and the target to open the same kernel for, in a pane beside it
    close_wanted = Signal(object)
    cancel_wanted = Signal(object)  # its text, which is on its way
    edit_wanted = Signal(object)
    library_line = Signal(object, str, int)  # the pane, and a line of the kernel library that was clicked

    def __init__(self, look: Look, model: IrPaneModel, selection: Selection, parts: PaneParts | None = None) -> None:
        super().__init__()
        parts = parts or PaneParts(look)
        self.model, self.selection = model, selection
        self._compilation: Compilation | None = None
        self._run: RunTimes | None = None
        self.costs: LineCosts | None = None
        self._pending = -1  # a line to go to once its text is there
        self._shown: TextKey | None = None  # which text it is that is on show
        self._stale = self._coming = ""  # says that it is another model's than the open one's, or that it comes
        self.text, self.waiting, self.find_bar = parts.text, parts.waiting, parts.find_bar
        self.bar, self.strip = parts.bar, parts.strip
        self.stage, self.kernel, self.target = parts.stage, parts.kernel, parts.target
        self.waiting.cancel_wanted.connect(lambda: self.cancel_wanted.emit(self))
        self.waiting.load_wanted.connect(model.ask)
        self.strip.difference_wanted.connect(lambda by: step_difference(self, by))
        self.strip.closed.connect(lambda: model.show())
        self.coverage = label("", "faint")
        self.coverage.setObjectName("coverage")  # the style sheet keeps it clear of the button beside it
        self.coverage.setToolTip("The share of lines that know the graph node they came from")
        lock = lambda on: setattr(model, "locked", on)  # noqa: E731
        self.lock = flat_button(look, "lock", "Lock: keep this text when the selection moves", lock, checkable=True)
        self.compare = flat_button(look, "diff", "Compare with the stage before (D)", self._compare, checkable=True)
        self.quiet = flat_button(
            look, "pass", "Hide assembler directives and comments", self._hide_noise, checkable=True
        )
        self.quiet.setChecked(True)
        self.more = flat_button(look, "settings", "More for this pane", self._menu)
        self.edit = edit_button(look, self)
        self._lists_files = False  # whether the kernels' place is taken by the library's files
        self.stage.chosen.connect(lambda stage: model.show(stage=stage))
        self.kernel.chosen.connect(lambda k: model.show_file(k) if self._lists_files else model.show(kernel=k))
        self.target.chosen.connect(self.set_target)
        self.header = Header(
            self.stage, self.kernel, self.target, None, self.coverage, self.edit, self.quiet, self.compare, self.lock,
            self.more, flat_button(look, "close", "Close this pane", lambda: self.close_wanted.emit(self)),
        ).spare(self.coverage, self.quiet, self.compare, self.lock, self.target, self.edit, self.more)  # fmt: skip
        self._kernel_row = KernelRow(self.header, self.stage, self.kernel, self.target)
        column(self, self._kernel_row, self.bar, self.strip, self.text, self.find_bar)
        self.text.tip_of = self._tip
        self.text.symbol_wanted.connect(lambda line, column: go_to_definition(self, line, column))
        self.others: Callable[[], list[tuple[str, TextKey]]] = list  # the other panes' texts, to compare with
        self.text.line_clicked.connect(self._clicked)
        self.text.line_hovered.connect(self._hovered)
        model.changed.connect(self._changed)
        model.wanted.connect(lambda _: self._asked())
        model.progressed.connect(self._progressed)
        self._late = one_shot(self, self._let_go, _LATE)
        self._fitting = one_shot(self, self._place_kernel, NEXT)
        selection.changed.connect(self._selected)
        selection.hovered.connect(self._light)
        self.lock.setChecked(model.locked)
        self._show_choice()

    def release(self) -> None:
        """Stop listening: the pane is closing."""
        self.selection.changed.disconnect(self._selected)
        self.selection.hovered.disconnect(self._light)

    def take(self, wanted: IrPaneModel) -> None:
        """Be what a new pane with this model would be; its text is asked for with the compilation."""
        model = self.model
        model.stage, model.kernel, model.target = wanted.stage, wanted.kernel, wanted.target
        model.locked = wanted.locked
        model.file, model.target_implied = wanted.file, wanted.target_implied
        self.lock.setChecked(wanted.locked)
        self.text.set_document(EMPTY, "python", badge_numbers(EMPTY, None))  # what it showed before is another's
        self._show_choice()

    def set_compilation(self, compilation: Compilation) -> None:
        """Another compilation: its kernels are the ones to choose from, and the text is asked for again."""
        model, before = self.model, self._compilation
        self._compilation, self._run = compilation, None
        model.own_target = compilation.choices.target
        self._list_entries()
        if model.kernel not in compilation.kernel_table:
            model.kernel = compilation.kernels[0].name if compilation.kernels else ""
        if model.file not in compilation.library:
            model.file = usual_file(compilation, model.kernel)
        if model.target == compilation.choices.target:
            model.target = ""
        model.origin, model.step, model.note, model.against = "", -1, "", None  # they were of the other compilation
        self._stale = ""
        with laid_out_once(self, self.header):
            self._show_choice()
            if before is None or before.source != compilation.source:
                self._clear()  # no line of another model under this one's name, however short
            model.ask()

    def _list_entries(self) -> None:
        """What the second choice offers: kernels, or the files of the library."""
        self._lists_files = self.model.stage == LIBRARY
        found = self._compilation
        if found is not None and self._lists_files:
            self.kernel.set_entries([(file, file.rsplit("/", 1)[-1]) for file in found.library])
        elif found is not None:
            self.kernel.set_entries([(kernel.name, kernel.name) for kernel in found.kernels])

    def show_stale(self, words: str, coming: str = "") -> None:
        """What is on show is of another source than the open one, and says so; where nothing is, what is `coming`."""
        self._stale, self._coming = words, coming
        self.text.show_also(empty=self._empty())
        with laid_out_once(self, self.header):
            self._say_what()
            self._selected(self.selection.nodes, None)  # nodes of the open one that have the same name are others

    def set_target(self, target: str) -> None:
        """Show the same stage and kernel compiled for another target; the compilation's own is the usual."""
        self.model.show(target="" if target == self.model.own_target else target)

    def set_run(self, run: RunTimes | None) -> None:
        """A run's times: shown as heat beside the lines they came from, and labelled by how they are known."""
        self._run = run
        self._show_heat()
        self._say_coverage()

    def _changed(self) -> None:
        with laid_out_once(self, self.header):
            self.refresh()

    def refresh(self) -> None:
        """The model's document changed."""
        model = self.model
        self._show_choice()
        self.compare.blockSignals(True)
        self.compare.setChecked(model.diff is not None)
        self.compare.blockSignals(False)
        self.waiting.hide()
        if model.error and model.error_kind == "cancelled":
            self.bar.hide()
            self.waiting.show_words(self._on_its_way("was cancelled"), cancelled=True)
        elif model.error:
            level = "info" if model.error_kind == "unavailable" else "error"
            self.bar.show_message(Message(level, model.error, "pane"))
        else:
            self.bar.hide()
        self._set_document()
        self._say_what()
        if model.diff is not None and model.diff.changes:
            self.text.reveal(model.diff.changes[0])
        if self._pending >= 0 and not model.error:
            self.text.go_to_line(self._pending)
        self._pending = -1
        self._say_coverage()

    def _say_what(self) -> None:
        """What the strip above the text says of it: that it is another model's, of a pass, compared with something."""
        model = self.model
        cut = f"{model.target} cuts it differently: this is {model.document.kernel}" if model.document.kernel else ""
        words = [part for part in (self._stale, cut, model.note, model.against.words if model.against else "") if part]
        if not model.document.lines and not model.diff:
            words = words if not self._stale else []
        self.strip.show_words(
            ", ".join(words), model.diff.summary if model.diff else "", bool(model.diff and model.diff.changes)
        )

    def show_line(self, stage: str, kernel: str, line: int) -> None:
        """Show a line of a stage, now or when its text is there."""
        self.model.show(stage=stage, kernel=kernel or None, target="")
        if self.model.loading:
            self._pending = line
        else:
            self.text.go_to_line(line)

    def _asked(self) -> None:
        with laid_out_once(self, self.header):
            if self.model.key != self._shown:
                self._clear()  # what the header no longer says must not stay under it
            self._show_choice()
        self._late.start()

    def _clear(self) -> None:
        self._shown = None
        self.text.set_document(EMPTY, "python", badge_numbers(EMPTY, None))
        self.strip.show_words("", "", False)

    def _let_go(self) -> None:
        """The text is long in coming: say so in its place."""
        if self.model.loading:
            self._clear()
            self._progressed()

    def _progressed(self) -> None:
        """Say how far a text is whose place is empty."""
        if not self.text.document.lines and self.model.loading and not self._late.isActive():
            words, share = self.model.progress
            if self._compilation is not None and self._compilation.kernels:
                self.waiting.show_progress(self._on_its_way(words or "is being made"), share)
            self.text.show_also(empty=self._empty())

    def _on_its_way(self, what: str) -> str:
        model = self.model
        of = f" of {model.kernel}" if self._of_kernel else ""
        title = f"{stage_title(model.stage, model.target or model.own_target)}{of}"
        return f"{title}\n{what if what != title else 'is being made'}"

    def _set_document(self) -> None:
        model, document = self.model, self.model.shown
        self._shown = model.key
        same_place = self.text.first_row if document.lines == self.text.document.lines else 0
        language = language_of(model.stage, model.target or model.own_target)
        self.text.set_document(document, language, badge_numbers(document, self._compilation))
        if model.diff is not None:
            self.text.show_also(diff=model.diff.marks, numbers=model.diff.numbers)
        title = stage_title(model.stage, model.target or model.own_target)
        self.text.setAccessibleName(f"{title} of {model.kernel or 'the model'}")
        self._hide_noise(self.quiet.isChecked())
        if language == "llvm" and model.diff is None:
            self.text.fold(metadata_regions(document))
        self._show_heat()
        self.text.verticalScrollBar().setValue(same_place)
        self._selected(self.selection.nodes, None)

    def _show_choice(self) -> None:
        model = self.model
        target = model.target or model.own_target
        self.stage.set_entries([(stage, stage_title(stage, target)) for stage in PANE_STAGES])
        self.stage.set_value(model.stage)
        if self._lists_files != (model.stage == LIBRARY):
            self._list_entries()
        named = model.file if self._lists_files else model.kernel
        self.kernel.set_value(named)
        self.kernel.setToolTip(plain_tip(named))
        self.target.set_value(target)
        self.target.setVisible(bool(model.key.target))
        self.quiet.setVisible(model.stage in _MACHINE)
        self._place_kernel()
        self.kernel.setVisible(self._of_kernel)
        self.text.show_also(empty=self._empty())
        if model.loading:
            self.coverage.setText("loading")

    @property
    def _of_kernel(self) -> bool:
        """Whether there is a kernel to choose: a model's stage is of none."""
        return self.model.stage not in WHOLE_STAGES and self.kernel.count() > 0

    def _empty(self) -> str:
        """What a pane without a text says; what went wrong is said by its bar."""
        if self.model.error:
            return ""
        if self._compilation is None or not self._compilation.nodes:
            return self._coming or "Open a sample or a file (Ctrl+O)\nto see its code here."
        return "Loading\u2026" if self.model.loading else "This stage has no text."

    def _place_kernel(self) -> None:
        self._kernel_row.fit(self.width(), self._of_kernel, bool(self.model.key.target))

    def resizeEvent(self, event) -> None:
        super().resizeEvent(event)
        if self.updatesEnabled():
            self._place_kernel()
        else:  # docks are being arranged: it goes through several sizes, and nobody sees them
            self._fitting.start()

    def _say_coverage(self) -> None:
        document = self.model.document
        if not document.lines or self.model.stage == LIBRARY:
            self.coverage.setText("")
            return
        noise = self.text.shown.noise if self.model.diff is None else None
        heat = f"  \u00b7  heat {self.costs.label}" if self.costs and self.costs.label else ""
        self.coverage.setText(f"{document.coverage_without(noise):.0%} linked{heat}")

    def _show_heat(self) -> None:
        model = self.model
        self.costs = None
        if self._run is not None and self._compilation is not None and not model.origin and not model.target:
            shown = model.file if model.stage == LIBRARY else model.kernel
            self.costs = costs_of(self.text.document, model.stage, shown, self._compilation, self._run)
        self.text.show_heat(*((self.costs.heat, self.costs.shares) if self.costs else (None, None)))

    def _hide_noise(self, on: bool) -> None:
        noisy = self.model.stage in _MACHINE and self.model.diff is None
        self.text.set_noise(directive_lines(self.text.document, self.text.shown.language) if on and noisy else None)

    def _compare(self, on: bool) -> None:
        if on:
            self.compare_wanted.emit(self, "stage")
        else:
            self.model.compare(None)

    def _menu(self) -> None:
        self._ask_menu(self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._ask_menu(event.globalPos())

    def _ask_menu(self, where: QPoint) -> None:
        menu = pane_menu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(where)

    def _clicked(self, line: int) -> None:
        document, stage = self.text.document, self.model.stage
        if stage == LIBRARY:
            self.library_line.emit(self, *document.place(line))
        else:
            self.selection.select(document.nodes(line), self, spot_of(document, stage, line))

    def _hovered(self, line: int) -> None:
        document = self.text.document
        spot = spot_of(document, self.model.stage, line) if line >= 0 else None
        self.selection.hover(document.nodes(line) if line >= 0 else (), self, spot)

    def _tip(self, line: int, column: int) -> str:
        said = line_tip(self.text.document, self.model.stage, self.text.shown.language, line, column)
        return "\n".join(part for part in (said, self.costs.words(line) if self.costs else "") if part)

    def _selected(self, nodes: frozenset[str], origin: object) -> None:
        spot = self.selection.spot if not self._stale else None
        nodes = nodes if not self._stale else frozenset()
        if self._compilation is not None and origin is not self:
            if nodes:
                self.model.follow(self._compilation, nodes)
            if spot is not None and (spot.library[0] or spot.file):
                self.model.follow_file(self._compilation, spot.library[0] or spot.file)
        document = self.text.document  # which may be another one by now
        exact = exact_lines(document, self.model.stage, spot) if spot is not None else None
        self.text.set_lit(document.lit_lines(nodes), origin is not self, exact)

    def _light(self, nodes: frozenset[str], _origin: object) -> None:
        document, spot = self.text.document, self.selection.hover_spot if not self._stale else None
        nodes = nodes if not self._stale else frozenset()
        if spot is not None:
            hovered = exact_lines(document, self.model.stage, spot)
        else:
            hovered = document.lit_lines(nodes) if nodes else np.zeros(document.lines, bool)
        self.text.show_also(hovered=hovered)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_D and not event.modifiers():
            self.compare.toggle()
        else:
            super().keyPressEvent(event)
