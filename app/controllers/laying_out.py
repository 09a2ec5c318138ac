"""From a graph to its picture: the scene is made in a thread, the layout in a process; newer requests win."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.controllers.jobs import Thread, Worker
from app.controllers.messages import Messages
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.layout import Layout
from app.viewmodels.graph.scene import Scene
from app.viewmodels.requests import Failure


class LayoutController(QObject):
    """Serves one graph model."""

    def __init__(self, model: GraphModel, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._messages = model, messages
        self._worker: Worker | None = None
        self._thread = Thread(self)
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
