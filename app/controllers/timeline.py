"""Where time and memory go when compiling: the timeline of passes, the funnel of stages, the memory plan."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from app.controllers.compile import CompileFeature
from app.controllers.features import Dock, Feature
from app.controllers.panes import PanesFeature
from app.controllers.spread_work import Turns
from app.theme.look import Look
from app.viewmodels.state import State
from app.viewmodels.timeline.timeline import compile_timeline
from app.views.runs.funnel import FunnelView
from app.views.timeline.memory import MemoryView
from app.views.timeline.timeline import TimelineView


class TimelineFeature(Feature):
    """Views of the compilation as a whole."""

    keys = (
        "Timeline",
        (
            ("W  S", "zoom in, out"),
            ("A  D", "left, right"),
            ("F", "focus"),
            ("M or Shift+drag", "measure"),
            ("N  P", "next, previous event"),
            ("Ctrl+wheel or up, down", "move the lanes"),
            ("Space", "everything"),
        ),
    )

    def __init__(
        self, look: Look, state: State, compile_: CompileFeature, panes: PanesFeature, turns: Turns, window: QWidget
    ) -> None:
        super().__init__(window)
        self._state = state
        self.view, self.memory = TimelineView(look, state.selection), MemoryView(look, state.selection)
        self.funnel = FunnelView(look)
        self.docks = (
            Dock("timeline", "Timeline", self.view, 10),
            Dock("funnel", "Funnel", self.funnel, 20),
            Dock("memory", "Memory", self.memory, 40),
        )
        self.funnel.stage_clicked.connect(panes.show_stage)
        self.funnel.afresh_wanted.connect(compile_.compile_afresh)
        for show in (self._show_timeline, self._show_stages):
            state.compiled.connect(lambda _, show=show: turns.soon(show))

    def _show_timeline(self) -> None:
        if self._state.compilation is None:
            self.view.clear()
        else:
            self.view.set_timeline(compile_timeline(self._state.compilation))

    def _show_stages(self) -> None:
        self.memory.set_compilation(self._state.on_show)
        self.funnel.set_compilation(self._state.on_show)
