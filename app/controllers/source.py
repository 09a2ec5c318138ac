"""The open source: its text in the editor, saving it, drafts that survive a crash, and timing edited kernels; and files
of the kernel library, whose edits apply to this session's compilations and can be saved as a package."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QAbstractButton, QMessageBox

from app.controllers.compilations import Compilations
from app.controllers.features import Command, Feature, Shared
from app.controllers.opening import OpeningFeature
from app.controllers.settings import Settings
from app.sources import source_path
from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.event import Event
from app.viewmodels.requests import EditTiming, Failure, TimeEditRequest
from app.viewmodels.text.edits import Edits
from app.viewmodels.text.library_edits import LibraryEdits, file_name, is_library, library_key
from app.views.parts.file_dialog import path_to_save
from app.views.parts.later import one_shot
from app.views.parts.plain import message_box
from app.views.text.source_pane import SourcePane
from compiler.errors import CompilerError
from compiler.printable import printable

_SETTLE = 400  # milliseconds after the last key before a draft is written


class SourceFeature(Feature):
    """Between the editor, the file and the drafts. `compile_wanted` when another text is to be compiled."""

    compile_wanted = Signal()

    def __init__(self, shared: Shared, compiler: Compilations, settings: Settings, opening: OpeningFeature) -> None:
        super().__init__(shared)
        self._compiler, self._settings, self._opening = compiler, settings, opening
        self.pane = SourcePane(self._look)
        self.bars = {"source": self.pane.bar}
        self.edits = Edits(settings.folder / "drafts")
        self.library = LibraryEdits(settings.folder)
        self.pairs = 8  # of processes in which original and edit are timed in turns
        self.erred = Event()  # a mistake is marked in the editor, which should be in sight
        self._title = ""
        self._time_after = ""
        self._failed_at = ""  # where a failure is on show, until something compiles
        self._timer = one_shot(self, self.keep, _SETTLE)
        self.commands = (
            Command("reload", "&Reload from disk", "&File", 13, self.reload, "Ctrl+R"),
            Command("save_source", "&Save edited source", "&File", 14, self.save, "Ctrl+S"),
            Command("revert_edit", "Re&vert the edited text", "&Edit", 30, lambda: self.revert(self.pane.key)),
            Command("save_source_as", "Save edited source &as...", "&File", 15, self.save_as, "Ctrl+Shift+S"),
            Command("save_package", "Save edited kernel &library as a package...", "&File", 16, self.save_package),
        )
        self.pane.text_edited.connect(self._edited)
        self.pane.key_chosen.connect(self.show)
        self.pane.revert_wanted.connect(self.revert)
        self.pane.compile_wanted.connect(lambda *_: self.compile_wanted.emit())
        self.pane.strip.time_wanted.connect(self.time)
        opening.changed_on_disk.connect(self._changed_on_disk)
        self._state.opened.connect(self._opened)
        self._state.compiled.connect(self._compiled)
        compiler.failed.connect(self._failed)
        compiler.edit_timed.connect(self._timed)
        compiler.progressed.connect(self._progress)

    @property
    def graph_text(self) -> str | None:
        """The edited text of the graph's source; nothing where it is as the file has it."""
        graph = self.edits.get("")
        return graph.text if graph is not None and graph.edited else None

    def choose_edit(self) -> None:
        """The next compilation takes the kernel in the editor as it is there; one edited anew is timed then."""
        if self.library.choose(self.pane.key):
            self._time_after = self.pane.key
        if not (kernel := self.pane.key) or is_library(kernel):
            return
        chosen = self._state.choices.sources
        edit = ((kernel, self.pane.text),) if self.pane.edited else ()
        if edit and edit[0] not in chosen:
            self._time_after = kernel
        self._state.choose(sources=(*(entry for entry in chosen if entry[0] != kernel), *edit))

    def show(self, key: str) -> None:
        """Put a text into the editor, as it was left."""
        buffer = self._of(key).get(key)
        if buffer is not None:
            self.pane.which.set_value(key)
            self.pane.set_text(buffer.text, "python" if key else self._state.language, buffer.original)

    def revert(self, key: str) -> None:
        """Drop one edit."""
        if self._of(key).get(key) is not None:
            self._of(key).revert(key)
            self.keep()
            self._refresh()
            self.show(key)

    def saved(self, key: str = "") -> None:
        """The text is on disk now."""
        self.edits.saved(key)
        self.keep()
        self._refresh()
        if self.pane.key == key:
            self.show(key)

    def keep(self) -> None:
        """Write the drafts."""
        self._timer.stop()
        kept = self.library.keep()
        if self._title and not (self.edits.keep() and kept):
            self._messages.say("warning", "the edit cannot be kept on disk; save it elsewhere", "source")

    def titles(self) -> list[str]:
        """What is edited and not saved, in words."""
        own = [f"kernel {key}" if key else self._title for key in self.edits.edited()]
        return own + [f"kernel library {file_name(key)}" for key in self.library.unsaved()]

    def _of(self, key: str) -> Edits:
        return self.library if is_library(key) else self.edits

    def edit_library(self, path: str, line: int = 0) -> None:
        """Put a file of the kernel library into the editor, at a line."""
        try:
            key = self.library.open_file(path)
        except (OSError, ValueError) as error:
            self._messages.say("error", f"{path} cannot be edited: {error}", "source")
            return
        self._refresh()
        self.show(key)
        self.pane.editor.go_to_line(line)

    def libraries(self) -> tuple[str, ...]:
        """The package of edited files of the kernel library that compilations take now, if there is one."""
        try:
            return self.library.folders()
        except OSError as error:
            self._messages.say("error", f"the edit of the kernel library is not compiled: {error}", "source")
            return ()

    def time(self, kernel: str) -> None:
        """Time an edited kernel against the generated one, or the model without and with an edited library."""
        compilation = self._state.compilation
        edited = dict(compilation.choices.sources) if compilation is not None else {}
        if compilation is None or kernel not in (self.library.applied if is_library(kernel) else edited):
            return
        name = file_name(kernel)
        if compilation.choices.target != "cpu":
            words = f"{name} replaces the original; timing both needs the CPU as target"
            self.pane.strip.show_progress(kernel, words)
            return
        how = "the model with the original and with the edited " if is_library(kernel) else ""
        words = f"timing {how}{name}\u2026" if how else f"timing {name} as generated and as edited\u2026"
        self.pane.strip.show_progress(kernel, words)
        package = self.libraries()[0] if is_library(kernel) else ""
        self._compiler.time_edit(TimeEditRequest(kernel, self.pairs, package))

    # Files -------------------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read the source again, in place of an edit, and compile it."""
        text = self._opening.read()
        if text is not None:
            self._settings.trust(self._state.source)  # who trusted a file and has it open trusts what is written to it
            self.edits.change("", text)
            self.edits.saved("")
            self._refresh()
            if not self.pane.key:
                self.show("")
            self.compile_wanted.emit()

    def save_package(self) -> None:
        """Write the edited files of the kernel library as a package, a folder that `--library` takes."""
        if not self.library.edited():
            words = "no file of the kernel library is edited: a pane of the kernel library has Edit in its menu"
            self._messages.say("info", words, "source")
            return
        path, _ = path_to_save(self._window, "Save as a package of kernels (a folder)", "my_kernels")
        if not path:
            return
        try:
            names = ", ".join(self.library.save_package(Path(path)))
        except (OSError, CompilerError) as error:
            self._messages.say("error", f"no package is written: {error}", "source")
            return
        self._messages.say("info", f"wrote {names} to {path}; --library {path} compiles with it", "source")

    def save(self) -> None:
        """Write the edited text to its file; a sample is never written over, and a kernel has no file yet."""
        if is_library(self.pane.key) or (not self.edits.edited() and self.library.unsaved()):
            self.save_package()
            return
        path = source_path(self._state.source)
        own = path is not None and not self._state.is_sample and path.suffix in (".py", ".mlir") and path.exists()
        if path is None or self.pane.key or not own:
            self.save_as()
            return
        known = self.edits.get("")
        if known is not None and known.original != self._opening.read() and not self.ask_overwrite(path):
            return
        if self.write(str(path), self.pane.text, "source"):
            self._settings.trust(str(path))
            self.saved()

    def save_as(self) -> None:
        """Write the edited text to a file the user chooses; a graph's file is then the one that is open."""
        source = self._state.source
        name = self._state.title.replace("-", "_") + "_edited.py" if self._state.is_sample else source
        path, _ = path_to_save(self._window, "Save source", name)
        if not path or not self.write(path, self.pane.text, "source"):
            return
        self._settings.trust(path)
        if self.pane.key:
            return
        self.saved()
        if path != source and path.endswith((".py", ".mlir")):
            self._opening.open(path)

    def _changed_on_disk(self) -> None:
        """Somebody wrote the open file; what was saved from here is known already."""
        known = self.edits.get("")
        if known is not None and known.original == self._opening.read():
            return
        if self.pane.edited:
            words = "the file changed on disk; your edit is kept (Ctrl+R reloads)"
            self._messages.say("warning", words, "source")
        else:
            self.reload()

    # Questions ---------------------------------------------------------------------------------------------------

    def may_close(self) -> bool:
        """Ask what becomes of edits that are not saved; False where the user wants to stay."""
        titles = self.titles()
        if not titles:
            return True
        answer = self.ask_edits(titles)
        if answer == "save":
            self.save()
            return not self.titles() or self.may_close()
        if answer == "discard":
            self.edits.drop()
            self.library.drop()
        return answer in ("keep", "discard")

    def ask_edits(self, titles: list[str]) -> str:
        """What to do with unsaved edits: save, keep (they come back next time), discard or stay."""
        box = message_box(
            self._window, QMessageBox.Icon.Question, "Unsaved edits",
            f"Edited and not saved: {printable(', '.join(titles))}.",
            "Kept edits are in the editor again when this source is opened next time.",
        )  # fmt: skip
        roles = QMessageBox.ButtonRole
        buttons: dict[QAbstractButton, str] = {
            box.addButton("Keep for next time", roles.AcceptRole): "keep",
            box.addButton("Save...", roles.ActionRole): "save",
            box.addButton("Discard", roles.DestructiveRole): "discard",
            box.addButton(QMessageBox.StandardButton.Cancel): "stay",
        }
        box.exec()
        return buttons.get(box.clickedButton(), "stay")

    def ask_overwrite(self, path: Path) -> bool:
        """Ask before a file is written over that somebody else changed since it was read."""
        box = message_box(
            self._window, QMessageBox.Icon.Warning, "The file changed on disk",
            f"{printable(path.name)} was changed by another program since it was opened here.",
            "Saving writes your text over that change.",
        )  # fmt: skip
        over = box.addButton("Write over it", QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        box.exec()
        return box.clickedButton() is over

    # What happened -----------------------------------------------------------------------------------------------

    def _opened(self, text: str) -> None:
        """Another source: its text, or what was left of an edit of it."""
        self.keep()
        self.edits.open(self._state.source)
        self._title = self._state.title
        restored = self.edits.restored("")
        self.edits.load("", text)
        self.pane.strip.hide()
        self.pane.set_entries([("", self._title), *self._library_entries()], self._edited_keys())
        self.pane.which.set_value("")
        self.show("")
        if restored:
            words = "an edit that was not saved is back; Ctrl+Return compiles it, Revert drops it"
            self._messages.say("info", words, "source")

    def _failed(self, failure: Failure) -> None:
        """Compiling failed: say so where the user is looking, and go to the line."""
        self.library.compiled(good=False)
        key = library_key(failure.file)
        if failure.line and self.library.get(key) is not None and key != self.pane.key:
            self.show(key)
        edited = file_name(self.pane.key).removesuffix(".py") if is_library(self.pane.key) else self.pane.key
        known = Path(failure.file).stem
        in_source = bool(failure.line) and (known in self.pane.which.itemText(0) or known == edited)
        in_source |= bool(edited) and failure.message.startswith(f"{edited}:")  # of the kernel as a whole
        self._failed_at = "source" if in_source else "window"
        self._messages.failure(failure, self._failed_at)
        if in_source:
            self.erred.emit()
            self.pane.editor.mark_error(failure.line)

    def _edited(self, key: str, text: str) -> None:
        edits = self._of(key)
        if edits.get(key) is None:
            return
        before = set(edits.edited())
        edits.change(key, text)
        if before != set(edits.edited()):
            self._refresh()
        self._timer.start()

    def _compiled(self, compilation: Compilation) -> None:
        generated = {kernel.name: kernel.source for kernel in compilation.kernels}
        replaced = dict(compilation.choices.sources)
        self.library.compiled(good=True)
        self._forget_trouble(bool(replaced or self.library.applied))
        restored = [name for name in generated if self.edits.restored(name)]
        for name, source in generated.items():
            known = self.edits.get(name)
            if name not in replaced or known is None:
                self.edits.load(name, source)
        self._refresh()
        key = self.pane.key
        self.show(key if key in generated or self.library.get(key) is not None else "")
        if restored:
            self._messages.log(f"edits that were not saved are back: {', '.join(restored)}")
        kernel, self._time_after = self._time_after, ""
        if kernel in replaced or kernel in self.library.applied:
            QTimer.singleShot(0, lambda: self.time(kernel))

    def _forget_trouble(self, edited: bool) -> None:
        """It compiled: what was wrong before is so no more, and an edit that is gone has no times."""
        self.pane.editor.mark_error(0)
        if self._failed_at:
            self._messages.clear(self._failed_at)
            self._failed_at = ""
        if not edited:
            self.pane.strip.hide()

    def _timed(self, value: EditTiming | Failure) -> None:
        if isinstance(value, Failure):
            self._messages.log(f"timing the edit failed: {value.message}", value.detail)
            self.pane.strip.show_failure(value.message)
        else:
            self.pane.strip.show_timing(value)

    def _progress(self, words: str, _done: float) -> None:
        if words.startswith("timing the "):
            self.pane.strip.words.setText(words)

    def _refresh(self) -> None:
        compilation = self._state.compilation
        same = compilation is not None and compilation.source == self._state.source
        kernels = [(k.name, f"kernel {k.name}") for k in compilation.kernels] if compilation and same else []
        self.pane.set_entries([("", self._title), *kernels, *self._library_entries()], self._edited_keys())

    def _library_entries(self) -> list[tuple[str, str]]:
        return [(key, f"kernel library {file_name(key)}") for key in self.library.files()]

    def _edited_keys(self) -> list[str]:
        return [*self.edits.edited(), *self.library.edited()]
