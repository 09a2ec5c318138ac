"""Texts of stages for panes: asked for once, indexed off the window's thread when large, kept while they are recent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from app.controllers.compiling import CompileController
from app.jobs import Thread
from app.state import State
from app.viewmodels.compilation import Compilation, LineText
from app.viewmodels.ir_pane import IrPaneModel
from app.viewmodels.requests import Failure, StageRequest
from app.viewmodels.text_document import TextDocument, index_text

_KEPT = 256 << 20  # bytes of text kept
_INLINE = 1 << 20  # a text below this is indexed at once: under a millisecond
Key = tuple[int, str, str, str]


class TextStore(QObject):
    """A cache of documents by compilation, stage, kernel and target."""

    def __init__(self, state: State, compiler: CompileController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state, self._compiler = state, compiler
        self._documents: OrderedDict[Key, TextDocument] = OrderedDict()

    def fetch(self, pane: IrPaneModel) -> None:
        """Bring a pane the text it wants; an answer that comes after it changed its mind is dropped."""
        wanted, compilation = pane.key, self._state.compilation
        if compilation is None:
            return

        def arrived(value: TextDocument | Failure) -> None:
            if pane.key != wanted or self._state.compilation is not compilation:
                return
            if isinstance(value, Failure):
                pane.set_error(value.message)
            else:
                pane.set_document(value)

        self.document(compilation, wanted, arrived)

    def document(self, compilation: Compilation, key: tuple[str, str, str], done: Callable[[Any], None]) -> None:
        """A document of the current or the previous compilation."""
        full = (id(compilation), *key)
        if full in self._documents:
            self._documents.move_to_end(full)
            done(self._documents[full])
            return
        stage, kernel, target = key
        previous = compilation is self._state.previous

        def arrived(value: LineText | Failure) -> None:
            if isinstance(value, Failure):
                done(value)
            elif len(value.text) < _INLINE:
                keep(index_text(value))
            else:
                thread = Thread(self)
                thread.start(lambda cancelled: index_text(value, cancelled), keep)

        def keep(document: TextDocument) -> None:
            self._documents[full] = document
            self._trim()
            done(document)

        self._compiler.text(StageRequest(stage, kernel, target), arrived, previous)

    def cached(self) -> list[tuple[Key, TextDocument]]:
        """What is in memory for the current compilation, for finding everywhere."""
        now = id(self._state.compilation)
        return [(key, document) for key, document in self._documents.items() if key[0] == now]

    def _trim(self) -> None:
        alive = {id(self._state.compilation), id(self._state.previous)}
        for key in [key for key in self._documents if key[0] not in alive]:
            del self._documents[key]
        while sum(len(document.data) for document in self._documents.values()) > _KEPT and len(self._documents) > 1:
            self._documents.popitem(last=False)
