"""Stepping through the passes of a kernel: lists made on demand and kept, each step shown as a difference in a pane."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.controllers.compiling import CompileController
from app.controllers.messages import Message
from app.controllers.state import State
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.requests import Failure, PassesRequest
from app.viewmodels.text.ir_pane import Against, TextKey
from app.viewmodels.text.passes import PassStep, arrow, trace_steps
from app.views.text.ir_pane import IrPane
from app.views.text.passes import PassesView


class PassesController(QObject):
    """Between the list of passes and the pane that shows them."""

    def __init__(
        self, state: State, compiler: CompileController, view: PassesView, pane: Callable[[], IrPane | None],
        show_stage: Callable[[str, str], None], parent: QObject,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._state, self._compiler, self._view = state, compiler, view
        self._pane, self._show_stage = pane, show_stage
        self._known: dict[str, tuple[PassStep, ...]] = {}
        self._wanted = ""
        view.kernel_wanted.connect(self.show_kernel)
        view.pass_chosen.connect(self.show_step)
        state.compiled.connect(self._compiled)
        state.selection.changed.connect(self._selected)

    def show_kernel(self, kernel: str) -> None:
        """List the passes of a kernel: at once where they are known, else when they have been run."""
        compilation = self._state.compilation
        if compilation is None:
            return
        self._wanted = kernel
        if not kernel:
            self._view.set_steps("", trace_steps(compilation.passes))
        elif kernel in self._known:
            self._view.set_steps(kernel, self._known[kernel])
        else:
            self._view.set_loading(kernel)
            self._compiler.passes(PassesRequest(kernel), lambda value: self._arrived(compilation, kernel, value))

    def show_step(self, step: PassStep) -> None:
        """Show what a pass changed, in the pane with the keyboard; a pass without a text shows its stage."""
        pane = self._pane()
        if step.step < 0 or pane is None:
            self._show_stage(step.stage, step.kernel)
            return
        key = TextKey(step.stage, step.kernel, step=step.step)
        before = TextKey(step.stage, step.kernel, step=step.before)
        against = Against(before, "") if step.before >= 0 else None
        pane.model.show_key(key, _words(step), against)

    def _arrived(self, compilation: Compilation, kernel: str, value: tuple[PassStep, ...] | Failure) -> None:
        if compilation is not self._state.compilation:
            return
        if isinstance(value, Failure):
            if self._wanted == kernel:
                self._view.set_steps("", trace_steps(compilation.passes))
                self._view.bar.show_message(Message("error", value.message, "passes"))
            return
        self._known[kernel] = value
        if self._wanted == kernel:
            self._view.set_steps(kernel, value)

    def _compiled(self, compilation: Compilation) -> None:
        self._known = {}
        self._view.set_kernels([kernel.name for kernel in compilation.kernels])
        wanted = self._wanted if self._wanted in compilation.kernel_table and self._view.isVisible() else ""
        self.show_kernel(wanted)

    def _selected(self, nodes: frozenset[str], _origin: object) -> None:
        """While a kernel's passes are on show, they follow the selection to another kernel."""
        compilation = self._state.compilation
        if compilation is None or not self._wanted or not self._view.isVisible():
            return
        kernels = compilation.kernels_of(nodes)
        if kernels and self._wanted not in kernels:
            self.show_kernel(kernels[0])


def _words(step: PassStep) -> str:
    where = f" on {step.scope}" if step.scope and step.scope != "module" else ""
    figures = [seconds(step.seconds) if step.seconds else "", f"{step.ops} ops" if step.ops else ""]
    figures.append(arrow(step.bytes_before, step.bytes_after, size))
    return "  \u00b7  ".join([f"{step.name}{where}", *(figure for figure in figures if figure)])
