"""The graph: its picture, folding, heat and export. The scene is made in a thread, the layout in a process."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.controllers.features import Command, Feature, Shared
from app.controllers.jobs import Worker
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.messages import Messages
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.heat import node_samples
from app.viewmodels.graph.layout import Layout
from app.viewmodels.graph.scene import Scene
from app.viewmodels.requests import Failure
from app.viewmodels.runs.run_figures import launch_times
from app.views.graph.panel import GraphPanel
from app.views.parts.file_dialog import path_to_save
from app.views.parts.later import Thread, one_shot

_LARGE, _AFTER = 500, 30  # nodes of a model that takes long to be shown elsewhere, and milliseconds for that


class GraphFeature(Feature):
    """The panel with the graph of what is compiled."""

    keys = (
        "Graph",
        (
            ("Space", "fit everything"),
            ("F", "focus the selection"),
            ("+ -", "zoom"),
            ("arrows", "walk along the edges"),
            ("Shift+arrows", "pan"),
            ("N  P", "next, previous node"),
            ("Enter", "collapse or expand here"),
            ("U", "unfold or fold a repeated layer"),
            ("X or Menu", "what can be done here: fuse, cut, fold"),
            ("double click", "collapse or expand a group"),
            ("Ctrl+click", "add to the selection"),
        ),
    )

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        state = self._state
        self.model = GraphModel()
        self.panel = GraphPanel(self._look, self.model, state.selection)
        self.bars = {"graph": self.panel.bar}
        self.layouts = Layouts(self.model, self._messages, self)
        view = self.panel.view
        self.commands = (
            Command("export_graph", "Export graph as &SVG or PNG...", "&File", 20, self.export),
            Command("graph_fit", "&Fit the whole graph", "&Graph", 10, view.fit),
            Command("graph_focus", "F&ocus the selection", "&Graph", 11, view.focus),
            Command("graph_toggle", "Collapse or e&xpand here", "&Graph", 20, view.toggle_here),
            Command("graph_layers", "&Unfold or fold the layer here", "&Graph", 21, view.toggle_layer_here),
            Command("graph_collapse", "&Collapse all kernels", "&Graph", 22, lambda: self.model.collapse_all(True)),
            Command("graph_expand", "&Expand all kernels", "&Graph", 23, lambda: self.model.collapse_all(False)),
            Command("graph_fold", "Fold &repeated layers", "&Graph", 24, lambda: self.model.fold_repeats(True)),
            Command("graph_unfold", "Unfold repeated &layers", "&Graph", 25, lambda: self.model.fold_repeats(False)),
            Command(
                "graph_modules",
                "Fold by &modules",
                "&Graph",
                26,
                lambda: self.panel.fold_by("layers" if self.model.folds.by_module else "modules"),
                ticked=lambda: self.model.folds.by_module,
            ),
            Command("graph_minimap", "Show the &minimap", "&Graph", 32, self.toggle_map, ticked=lambda: view.show_map),
            Command("export_graph", "Export as &SVG or PNG...", "&Graph", 31, self.export),
        )
        self.panel.export_wanted.connect(self.export)
        state.opened.connect(lambda _: view.reset_view())
        state.compiled.connect(self._compiled)
        self.when_run(self._ran)

    def toggle_map(self) -> None:
        """Show the minimap, or not; it comes only where the graph is larger than its view."""
        view = self.panel.view
        view.show_map = not view.show_map
        view.update()

    def export(self) -> None:
        """Write the graph as SVG or PNG."""
        kinds = "Vector (*.svg);;Picture (*.png)"
        path, _ = path_to_save(self._window, "Export graph", "graph.svg", kinds)
        if path:
            good = self.panel.save_png(path) if path.endswith(".png") else self.panel.save_svg(path)
            text = f"exported {path}" if good else f"cannot write {path}"
            self._messages.say("info" if good else "error", text, "" if good else "graph")

    def preview(self, compilation: Compilation, title: str) -> None:
        """Show a graph that is not compiled yet, under a title that says so."""
        self.model.set_compilation(compilation)
        self.panel.title.setText(title)

    def stop(self) -> None:
        """End the layout's process."""
        self.layouts.stop()

    def _compiled(self, compilation: Compilation) -> None:
        self.model.set_compilation(compilation)
        self.panel.title.setText(compilation.name)
        self.panel.show_folding()

    def _ran(self) -> None:
        if (run := self._state.run) is not None:
            self.model.set_times(launch_times(run), node_samples(run.sampling))


class Layouts(QObject):
    """From a graph to its picture; newer requests win."""

    def __init__(self, model: GraphModel, messages: Messages, parent: QObject) -> None:
        super().__init__(parent)
        self._model, self._messages = model, messages
        self._worker: Worker | None = None
        self._thread = Thread(self)
        self._begin = one_shot(self, self._make)
        self._job = 0
        self._closed = False
        model.relayout.connect(self.lay_out)

    def warm_up(self) -> None:
        """Start the process."""
        if not self._closed and (self._worker is None or not self._worker.alive):
            self._worker = Worker("layout", self)

    def lay_out(self) -> None:
        """Ask for a layout of the model as it is now."""
        self.warm_up()
        if self._worker is None:
            return
        self._worker.drop(self._job)
        # A thread at work slows down what the window does meanwhile, so that of a large model has its turn first.
        nodes = self._model.compilation.nodes if self._model.compilation is not None else ()
        self._begin.start(_AFTER if len(nodes) > _LARGE else 0)

    def _make(self) -> None:
        if self._closed:
            return
        generation, make = self._model.work()

        def work(cancelled) -> tuple[Scene, object]:
            scene = make()
            return scene, scene.request(generation)

        self._thread.start(work, self._place)

    def stop(self) -> None:
        """End the process."""
        self._closed = True
        self._thread.cancel()
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def _place(self, made: tuple[Scene, object]) -> None:
        scene, request = made
        self.warm_up()
        if self._worker is not None:
            self._job = self._worker.submit(request, lambda value: self._done(scene, value))

    def _done(self, scene: Scene, value: Layout | Failure) -> None:
        if isinstance(value, Failure):
            self._messages.failure(value, "graph")
        else:
            self._model.set_scene(scene, value)
