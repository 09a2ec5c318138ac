"""Texts of stages for panes: asked for once, indexed off the window's thread when large, kept while they are recent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer

from app.controllers.compilations import Compilations
from app.viewmodels.compilation import LineText
from app.viewmodels.requests import Failure, Progress, StageRequest
from app.viewmodels.state import State
from app.viewmodels.text.diff import DiffDocument, diff_documents, diff_sides
from app.viewmodels.text.ir_pane import CURRENT, GIVEN, PREVIOUS, Against, IrPaneModel, TextKey
from app.viewmodels.text.text_document import TextDocument, index_text
from app.views.parts.later import NEXT, in_thread

_KEPT = 256 << 20  # bytes of text kept
_INLINE = 1 << 20  # a text below this is indexed at once: under a millisecond
_QUICK = 400  # lines on both sides together that are compared at once
_STORED = -1  # stands for a compilation's number: a stored one's is in the key itself
Key = tuple[int, TextKey]
Done = Callable[[Any], None]
Told = Callable[[Progress], None]
Stored = Callable[[int, TextKey, Callable[[Any], None]], None]


class TextStore(QObject):
    """A cache of documents by compilation and key. `stored` asks the database for a text of a stored compilation."""

    def __init__(self, state: State, compiler: Compilations, stored: Stored, parent: QObject) -> None:
        super().__init__(parent)
        self._state, self._compiler, self._stored = state, compiler, stored
        self._documents: OrderedDict[Key, TextDocument] = OrderedDict()
        self._waiting: dict[Key, list[tuple[Done, Told]]] = {}
        compiler.ended.connect(lambda good: None if good else self._ask_again())  # a process may have gone with it

    def fetch(self, pane: IrPaneModel) -> None:
        """Bring a pane the text it wants; an answer that comes after it changed its mind is dropped."""
        wanted, compilation = pane.request, self._state.compilation
        if compilation is None:
            if self._state.source:
                pane.set_error(f"{self._state.title} is not compiled", "unavailable")
            return

        def stale() -> bool:
            return pane.request != wanted or self._state.compilation is not compilation

        def arrived(value: TextDocument | Failure) -> None:
            if stale():
                return
            if isinstance(value, Failure):
                pane.set_error(value.message, value.kind)
            elif wanted[1] is None:
                pane.set_document(value)
            else:
                self.document(wanted[1].key, lambda other: beside(value, other), told)

        def told(progress: Progress) -> None:
            if not stale():
                pane.set_progress(progress.stage, progress.done)

        def beside(document: TextDocument, other: TextDocument | Failure) -> None:
            if stale():
                return
            if isinstance(other, Failure):
                pane.set_error(f"nothing to compare with: {other.message}")
                return
            assert wanted[1] is not None
            self._compare(document, other, wanted[1], lambda diff: show(document, diff))

        def show(document: TextDocument, diff: DiffDocument | str) -> None:
            if stale():
                return
            if isinstance(diff, str):
                pane.set_error(diff)
            else:
                pane.set_document(document, diff)

        self.document(wanted[0], arrived, told)

    def give(self, key: TextKey, text: LineText) -> None:
        """Hand over a text that nobody else has, in place of one of the same key."""
        self._documents[self._full(key)] = index_text(text)
        self._trim()

    def cancel(self, pane: IrPaneModel) -> None:
        """Nobody wants a pane's text any more; others that are on their way come all the same."""
        wanted = [key for key in (pane.key, pane.against.key if pane.against else None) if key is not None]
        dropped = [entry for key in wanted for entry in self._waiting.pop(self._full(key), ())]
        for done, _ in dropped:
            done(Failure("not loaded: cancelled", kind="cancelled"))
        if dropped:
            self._compiler.end_reading()
            self._ask_again()

    def forget_stored(self) -> None:
        """Read texts of the database anew: what was deleted from it has left its numbers to others."""
        for full in [full for full in self._documents if full[1].is_stored]:
            del self._documents[full]

    def leave_database(self) -> None:
        """Another database is open, whose compilations have the same numbers and other texts."""
        self.forget_stored()
        for full in [full for full in self._waiting if full[1].is_stored]:
            for done, _ in self._waiting.pop(full):
                done(Failure("not loaded: the database that has this text was left", kind="unavailable"))

    def _ask_again(self) -> None:
        """Ask anew for what is still waited for; a text of a compilation that was replaced is nobody's any more."""
        alive = {CURRENT: self._state.number, PREVIOUS: self._state.previous_number}
        for full in list(self._waiting):
            number, key = full
            if number == alive.get(key.origin):
                self._ask(full)
            elif number != _STORED:
                del self._waiting[full]

    def document(self, key: TextKey, done: Done, told: Told = lambda _: None) -> None:
        """A document of the current, the previous or a stored compilation; or a Failure."""
        full = self._full(key)
        if full in self._documents:
            self._documents.move_to_end(full)
            done(self._documents[full])
            return
        self._waiting.setdefault(full, []).append((done, told))
        self._ask(full)

    def _ask(self, full: Key) -> None:
        key = full[1]

        def answer(value: TextDocument | Failure) -> None:
            # A turn for each: two panes that are compared with each other wait for the same text, and fill together.
            for turn, (done, _) in enumerate(self._waiting.pop(full, ())):
                if turn:
                    QTimer.singleShot(turn * NEXT, self, lambda done=done: done(value))
                else:
                    done(value)

        def told(progress: Progress) -> None:
            for _, tell in self._waiting.get(full, ()):
                tell(progress)

        def arrived(value: LineText | Failure) -> None:
            if isinstance(value, Failure):
                answer(value)
            elif len(value.text) < _INLINE:
                keep(index_text(value))
            else:
                in_thread(self, lambda cancelled: index_text(value, cancelled), keep)

        def keep(document: TextDocument) -> None:
            self._documents[full] = document
            self._trim()
            answer(document)

        if key.origin.startswith(GIVEN):
            answer(Failure("this text is gone: it was handed over once", kind="unavailable"))
        elif key.is_stored:
            self._stored(int(key.origin[1:]), key, arrived)
        else:
            request = StageRequest(key.stage, key.kernel, key.target, key.step)
            self._compiler.text(request, arrived, told, key.origin == PREVIOUS)

    def _compare(
        self, document: TextDocument, other: TextDocument, against: Against, done: Callable[[Any], None]
    ) -> None:
        def work(_cancelled: object) -> DiffDocument | str:
            try:
                if against.side == "before":
                    return diff_sides(document, other)[0]
                return diff_sides(other, document)[1] if against.side else diff_documents(other, document)
            except ValueError as error:
                return str(error)

        if document.lines + other.lines <= _QUICK:
            done(work(None))
        else:
            in_thread(self, work, done)

    def _full(self, key: TextKey) -> Key:
        if key.is_stored or key.origin.startswith(GIVEN):
            return _STORED, key
        return self._state.previous_number if key.origin == PREVIOUS else self._state.number, key

    def _trim(self) -> None:
        alive = {self._state.number, self._state.previous_number, _STORED}
        for key in [key for key in self._documents if key[0] not in alive]:
            del self._documents[key]
        while sum(len(document.data) for document in self._documents.values()) > _KEPT and len(self._documents) > 1:
            self._documents.popitem(last=False)
