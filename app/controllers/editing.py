"""Editing sources: which text is in the editor, drafts that survive a crash, and the timing of edited kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.controllers.compiling import CompileController
from app.controllers.messages import Message, Messages
from app.controllers.state import State
from app.viewmodels.compilation import Compilation
from app.viewmodels.requests import EditTiming, Failure, TimeEditRequest
from app.viewmodels.text.edits import Edits
from app.views.text.source_pane import SourcePane

_SETTLE = 400  # milliseconds after the last key before a draft is written


class EditController(QObject):
    """Between the editor and the drafts. `language` and `read` are the open source's."""

    def __init__(
        self, state: State, compiler: CompileController, messages: Messages, pane: SourcePane, folder: Path,
        language: Callable[[], str], parent: QObject,
    ) -> None:  # fmt: skip
        super().__init__(parent)
        self._state, self._compiler, self._messages, self._pane = state, compiler, messages, pane
        self._language = language
        self.edits = Edits(folder)
        self.pairs = 8  # of processes in which original and edit are timed in turns
        self._title = ""
        self._time_after = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_SETTLE)
        self._timer.timeout.connect(self.keep)
        pane.text_edited.connect(self._edited)
        pane.key_chosen.connect(self.show)
        pane.revert_wanted.connect(self.revert)
        pane.strip.time_wanted.connect(self.time)
        state.compiled.connect(self._compiled)
        compiler.edit_timed.connect(self._timed)
        compiler.progressed.connect(self._progress)

    def open(self, source: str, title: str, text: str) -> None:
        """Another source: its text, or what was left of an edit of it."""
        self.keep()
        self.edits.open(source)
        self._title = title
        restored = self.edits.restored("")
        self.edits.load("", text)
        self._pane.strip.hide()
        self._pane.set_entries([("", title)], self.edits.edited())
        self._pane.which.set_value("")
        self.show("")
        if restored:
            self._messages.post(
                Message("info", "an edit that was not saved is back; Ctrl+Enter compiles it, Revert drops it", "source")
            )

    def show(self, key: str) -> None:
        """Put a text into the editor, as it was left."""
        buffer = self.edits.get(key)
        if buffer is not None:
            self._pane.which.set_value(key)
            self._pane.set_text(buffer.text, "python" if key else self._language(), buffer.original)

    def reload(self, text: str) -> None:
        """The file was read again: its text takes the place of an edit."""
        self.edits.change("", text)
        self.edits.saved("")
        self._refresh()
        if not self._pane.key:
            self.show("")

    def revert(self, key: str) -> None:
        """Drop one edit."""
        if self.edits.get(key) is not None:
            self.edits.revert(key)
            self.keep()
            self._refresh()
            self.show(key)

    def saved(self, key: str = "") -> None:
        """The text is on disk now."""
        self.edits.saved(key)
        self.keep()
        self._refresh()
        if self._pane.key == key:
            self.show(key)

    def keep(self) -> None:
        """Write the drafts."""
        self._timer.stop()
        if self._title and not self.edits.keep():
            self._messages.post(Message("warning", "the edit cannot be kept on disk; save it elsewhere", "source"))

    def titles(self) -> list[str]:
        """What is edited and not saved, in words."""
        return [f"kernel {key}" if key else self._title for key in self.edits.edited()]

    def time_after_compile(self, kernel: str) -> None:
        """Once the compilation under way is there, time this kernel against the generated one."""
        self._time_after = kernel

    def time(self, kernel: str) -> None:
        """Time an edited kernel against the generated one."""
        compilation = self._state.compilation
        if compilation is None or kernel not in dict(compilation.choices.sources):
            return
        if compilation.choices.target != "cpu":
            words = f"{kernel} replaces the original; timing both needs the CPU as target"
            self._pane.strip.show_progress(kernel, words)
            return
        self._pane.strip.show_progress(kernel, f"timing {kernel} as generated and as edited\u2026")
        self._compiler.time_edit(TimeEditRequest(kernel, self.pairs))

    def _edited(self, key: str, text: str) -> None:
        if self.edits.get(key) is None:
            return
        before = set(self.edits.edited())
        self.edits.change(key, text)
        if before != set(self.edits.edited()):
            self._refresh()
        self._timer.start()

    def _compiled(self, compilation: Compilation) -> None:
        generated = {kernel.name: kernel.source for kernel in compilation.kernels}
        replaced = dict(compilation.choices.sources)
        restored = [name for name in generated if self.edits.restored(name)]
        for name, source in generated.items():
            known = self.edits.get(name)
            if name not in replaced or known is None:
                self.edits.load(name, source)
        self._refresh()
        key = self._pane.key
        self.show(key if key in generated else "")
        if restored:
            self._messages.log(f"edits that were not saved are back: {', '.join(restored)}")
        kernel, self._time_after = self._time_after, ""
        if kernel in replaced:
            QTimer.singleShot(0, lambda: self.time(kernel))

    def _timed(self, value: EditTiming | Failure) -> None:
        if isinstance(value, Failure):
            self._messages.log(f"timing the edit failed: {value.message}", value.detail)
            self._pane.strip.show_failure(value.message)
        else:
            self._pane.strip.show_timing(value)

    def _progress(self, words: str, _done: float) -> None:
        if words.startswith("timing the "):
            self._pane.strip.words.setText(words)

    def _refresh(self) -> None:
        compilation = self._state.compilation
        same = compilation is not None and compilation.source == self._state.source
        kernels = [(k.name, f"kernel {k.name}") for k in compilation.kernels] if compilation and same else []
        self._pane.set_entries([("", self._title), *kernels], self.edits.edited())
