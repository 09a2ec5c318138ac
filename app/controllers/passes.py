"""Stepping through the passes of a kernel: lists made on demand and kept, each step shown as a difference in a pane."""

from __future__ import annotations

from app.controllers.compilations import Compilations
from app.controllers.features import Feature, Shared
from app.controllers.panes import PanesFeature
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import seconds, size
from app.viewmodels.frame.messages import Message
from app.viewmodels.requests import Failure, PassesRequest
from app.viewmodels.text.ir_pane import Against, TextKey
from app.viewmodels.text.passes import PassStep, arrow, trace_steps
from app.views.text.passes import PassesView


class PassesFeature(Feature):
    """Between the list of passes, which the explorer shows, and the pane that shows what each did."""

    def __init__(self, shared: Shared, compiler: Compilations, panes: PanesFeature) -> None:
        super().__init__(shared)
        self._compiler, self._panes = compiler, panes
        self.view = PassesView(self._look)
        self._known: dict[str, tuple[PassStep, ...]] = {}
        self._wanted = ""
        self.view.kernel_wanted.connect(self.show_kernel)
        self.view.pass_chosen.connect(self.show_step)
        self._state.compiled.connect(self._compiled)
        self._state.selection.changed.connect(self._selected)

    def show_kernel(self, kernel: str) -> None:
        """List the passes of a kernel: at once where they are known, else when they have been run."""
        compilation = self._state.on_show
        self._wanted = kernel
        if not kernel:
            self.view.set_steps("", trace_steps(compilation.passes))
        elif kernel in self._known:
            self.view.set_steps(kernel, self._known[kernel])
        else:
            self.view.set_loading(kernel)
            self._compiler.passes(PassesRequest(kernel), lambda value: self._arrived(compilation, kernel, value))

    def show_step(self, step: PassStep) -> None:
        """Show what a pass changed, in the pane with the keyboard; a pass without a text shows its stage."""
        pane = self._panes.workbench.step_pane()
        if step.step < 0 or pane is None:
            self._panes.show_stage(step.stage, step.kernel)
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
                self.view.set_steps("", trace_steps(compilation.passes))
                self.view.bar.show_message(Message("error", value.message, "passes"))
            return
        self._known[kernel] = value
        if self._wanted == kernel:
            self.view.set_steps(kernel, value)

    def _compiled(self, compilation: Compilation) -> None:
        self._known = {}
        self.view.set_kernels([kernel.name for kernel in compilation.kernels])
        self._turns.soon(self._list_again)

    def _list_again(self) -> None:
        known = self._state.on_show.kernel_table
        self.show_kernel(self._wanted if self._wanted in known and self.view.isVisible() else "")

    def _selected(self, nodes: frozenset[str], _origin: object) -> None:
        """While a kernel's passes are on show, they follow the selection to another kernel."""
        compilation = self._state.compilation
        if compilation is None or not self._wanted or not self.view.isVisible():
            return
        kernels = compilation.kernels_of(nodes)
        if kernels and self._wanted not in kernels:
            self.show_kernel(kernels[0])


def _words(step: PassStep) -> str:
    where = f" on {step.scope}" if step.scope and step.scope != "module" else ""
    figures = [seconds(step.seconds) if step.seconds else "", f"{step.ops} ops" if step.ops else ""]
    figures.append(arrow(step.bytes_before, step.bytes_after, size))
    return "  \u00b7  ".join([f"{step.name}{where}", *(figure for figure in figures if figure)])
