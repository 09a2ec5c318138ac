"""Where inside the kernels the time goes: the hottest lines, and the way from one of them to every pane."""

from __future__ import annotations

from app.controllers.features import Command, Dock, Feature, Shared
from app.controllers.runs import RunsFeature
from app.viewmodels.compilation import MODEL_STAGES
from app.viewmodels.text.flame import FlameCell, flame_cells
from app.viewmodels.text.sampled_costs import HotSpot, hot_spots, line_in_stage
from app.views.frame.workbench import Workbench
from app.views.runs.hottest import HottestView
from compiler.options import STAGE_TABLE


class HottestFeature(Feature):
    """The list of hottest lines; choosing one shows it in all panes that are not locked."""

    def __init__(self, shared: Shared, runs: RunsFeature, workbench: Workbench) -> None:
        super().__init__(shared)
        self._workbench = workbench
        self.view = HottestView(self._look, self._number)
        self.docks = (Dock("hottest", "Hottest lines", self.view, 55),)
        self.commands = (
            Command("sample", "Run and &sample", "&Run", 11, lambda: runs.run(sample=True), "Shift+F5"),
        )  # fmt: skip
        self.view.chosen.connect(self.jump)
        self.view.flame.chosen.connect(self._chosen)
        self._state.selection.changed.connect(lambda nodes, _: self.view.flame.light(nodes))
        self.when_compiled(self._show)
        self.when_run(self._show)

    def jump(self, spot: HotSpot, exact: tuple[str, int] = ("", 0), nodes: tuple[str, ...] = ()) -> None:
        """Show a line in every pane: the line of its stage that most samples of this one were taken at, or the `exact`
        one in panes of its stage. `nodes` are what is selected, those of the line where none are given."""
        run = self._state.run
        if run is None or run.sampling is None:
            return
        for pane in self._workbench.panes:
            model = pane.model
            if model.locked or model.origin or model.step >= 0 or model.target or model.stage in MODEL_STAGES:
                continue
            known = STAGE_TABLE.get(model.stage)
            stage = (known.same_as if known is not None else "") or model.stage
            line = exact[1] - 1 if stage == exact[0] else line_in_stage(run.sampling, spot, model.stage)
            if line >= 0:
                pane.show_line(model.stage, spot.kernel, line)
        if nodes or spot.line.nodes:
            self._state.selection.select(nodes or spot.line.nodes, self)

    def _chosen(self, cell: FlameCell) -> None:
        """A cell of the flame: its node in the graph, its line or its instruction in every pane."""
        nodes = (cell.node,) if cell.node else ()
        if cell.spot is not None:
            self.jump(cell.spot, (cell.stage, cell.line), nodes)
        elif nodes:
            self._state.selection.select(nodes, self)

    def _number(self, node: str) -> int:
        compilation = self._state.compilation
        return compilation.number(node) if compilation is not None and node else 0

    def _show(self) -> None:
        run = self._state.run
        found = run.sampling if run is not None else None
        if found is None:
            self.view.show_spots([], [], "")
            return
        from profiler.report.heat import sampling_words

        about = {name: getattr(found, name) for name in ("note", "inside", "samples", "mapped", "waiting", "period")}
        about |= {name: getattr(found, name) for name in ("calls", "slowdown", "lost")}
        self.view.show_spots(hot_spots(found), flame_cells(found), sampling_words(about, micro="\u00b5s"))
