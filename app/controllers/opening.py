"""Opening sources: trust for Python files, recent ones, watching the file for changes, reading it for the editor."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFileDialog, QFileIconProvider, QLineEdit, QListView, QMenu, QMessageBox, QWidget

from app.controllers.features import Command, Feature, Shared
from app.controllers.settings import Settings
from app.sources import CODE, SUFFIXES, WAYS, checkpoint_folder, is_language_model, is_text, source_path, watched_file
from app.views.frame.toolbar import ChoiceBar
from app.views.frame.welcome import WelcomePage
from app.views.parts.file_dialog import file_dialog
from app.views.parts.later import next_turn, one_shot, polishing
from app.views.parts.path_completion import PathCompleter
from app.views.parts.plain import message_box
from compiler.errors import ParseError
from compiler.importers.files import read_file
from compiler.importers.llama.graph_choice import divided, shown_graph, with_graph
from compiler.printable import printable

_MOST_BYTES = 64 << 20  # of a text that an editor shows
DATABASES = (".db", ".sqlite", ".sqlite3")
_PARTS = {"lookInCombo": "Folder", "fileNameEdit": "File name", "fileTypeCombo": "Kind of file", "sidebar": "Places",
          "listView": "Files", "treeView": "Files in detail"}  # fmt: skip
"""What Qt leaves without a name for screen readers in the dialog that files are chosen with."""
_PATTERNS = " ".join((*(f"*{suffix}" for suffix in SUFFIXES), "config.json", "*.safetensors"))
_CLOSED = 40  # milliseconds after which what a dialog lay over is on the screen again


def can_open(path: str) -> bool:
    """Whether a file or folder is of a kind that the window opens, by its name and what lies in it."""
    return path.endswith(SUFFIXES + DATABASES) or checkpoint_folder(Path(path)) is not None


def _offered(name: str) -> bool:
    """Whether a file is offered while its path is typed."""
    return name.endswith((*SUFFIXES, *DATABASES, ".safetensors")) or name == "config.json"


class OpeningFeature(Feature):
    """The state has the source once it may be used; `changed_on_disk` when somebody else wrote its file.

    A database is data: `visit(path)`, and whoever reads it finds out whether it is one.
    """

    changed_on_disk = Signal()
    keys = ("File", (("Ctrl+1..9", "open a recent source"),))

    def __init__(
        self, shared: Shared, settings: Settings, welcome: WelcomePage, choices: ChoiceBar,
        visit: Callable[[str], None],
    ) -> None:  # fmt: skip
        super().__init__(shared)
        self._settings, self._welcome, self._choices, self._visit = settings, welcome, choices, visit
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self._touched)
        self._settle = one_shot(self, self._reload_if_there, 150)  # editors write in steps; wait until they are done
        self.commands = (
            Command("browse", "&Open...", "&File", 10, self.browse, "Ctrl+O"),
            Command("fill_recent", "Open re&cent", "&File", 11, self._fill_recent, submenu=True),
        )
        for position in range(9):
            QShortcut(QKeySequence(f"Ctrl+{position + 1}"), self._window, lambda p=position: self.open_recent(p))
        welcome.open_wanted.connect(self.open)
        welcome.browse_wanted.connect(self.browse)
        choices.source_chosen.connect(self.open)
        choices.graph_chosen.connect(self.open_graph)
        self._state.opened.connect(self._opened)
        self._dialog: QFileDialog | None = None

    def open(self, source: str, in_turns: bool = False) -> bool:
        """Open a sample or a file; False when it cannot be or the user says no. `in_turns`: who was asked sees the
        question go before anything else changes."""
        path = source_path(source)
        if path is not None and path.suffix in DATABASES:
            return self._open_database(path)
        if path is not None and not source.startswith("sample:"):
            path = checkpoint_folder(path) or path
        if path is None or not can_open(str(path)):
            self._complain(f"{source}: cannot be opened; use {WAYS}, or a database of runs (.db)")
            return False
        name, graph = divided(source)
        if graph and not is_language_model(source):
            self._complain(f"{name} has one graph: {graph} is one of a language model's")
            return False
        if not source.startswith("sample:"):
            # A file keeps its name: what a link leads to may tell neither its kind nor what lies beside it.
            named = path.resolve() if os.path.isdir(path) else path.parent.resolve() / path.name
            source = f"{named}{source.removeprefix(name)}"
        text = self._read(path)
        if text is None:
            return False
        asks = path.suffix in CODE and not source.startswith("sample:") and not self._is_trusted(source)
        if asks and not self._trusts(source):
            return False
        if asks and in_turns:  # to take the question away and to show another source are felt together
            next_turn(self, lambda: self._show(source, path, text))
        else:
            self._show(source, path, text)
        return True

    def _show(self, source: str, path: Path, text: str) -> None:
        self._messages.clear("window")
        for watched in self._watcher.files():
            self._watcher.removePath(watched)
        self._watcher.addPath(str(watched_file(path)))
        self._settings.add_recent(source)
        self._state.open(source, text)

    def open_graph(self, graph: str) -> None:
        """Open another graph of the language model that is open."""
        if not self.open(with_graph(self._state.source, graph)):
            self._choices.set_graph(shown_graph(self._state.source))

    def open_recent(self, position: int) -> None:
        """Open the recent source at a position."""
        recent = self._settings.recent()
        if position < len(recent):
            self.open(recent[position])

    def restore(self) -> None:
        """Open what was open when the window was closed last, where the user wants that."""
        last = self._settings.get("last_source", "")
        path = source_path(last) if last and self._settings.get("restore", True) else None
        if path is not None and os.path.exists(path):
            self.open(last)

    def browse(self) -> None:
        """Choose a file and open it. The dialog is made once, and shown in turns of its own: together that is felt.
        Who asks again while it comes is not asked again once it was answered."""
        if self._dialog is not None and self._dialog.isVisible():
            self._dialog.activateWindow()
            return
        for step in (self._load_icons, self.make_dialog, self._clear_name, self._create_dialog, self._show_dialog):
            self._turns.soon(step)

    def _create_dialog(self) -> None:
        self.make_dialog().create()

    def _show_dialog(self) -> None:
        self.make_dialog().open()

    def _load_icons(self) -> None:
        """Those of files and folders, which the first dialog loads."""
        icons = QFileIconProvider()
        for kind in (QFileIconProvider.IconType.Folder, QFileIconProvider.IconType.File):
            icons.icon(kind)

    def ahead(self) -> Iterator[Callable[[], object]]:
        """The dialog that files are chosen with."""
        yield self._load_icons
        yield self.make_dialog
        dialog = self.make_dialog()
        yield from polishing(dialog)
        yield dialog.create  # not winId, which makes windows of all the docks

    def make_dialog(self) -> QFileDialog:
        """The dialog that files are chosen with. Made before there is a style sheet: under one Qt takes more than twice
        as long for it, in one step that is felt."""
        if self._dialog is None:
            kinds = f"Graphs and models ({_PATTERNS});;Databases of runs (*.db *.sqlite *.sqlite3)"
            dialog = self._dialog = file_dialog(self._window, "Open", kinds=kinds)
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
            # Once it is closed, and what it lay over painted: that and opening what was chosen are felt together.
            dialog.fileSelected.connect(
                lambda path: QTimer.singleShot(_CLOSED, self, lambda: self.open(path, in_turns=True))
            )
            if (field := dialog.findChild(QLineEdit)) is not None:
                PathCompleter(field, lambda: dialog.directory().absolutePath(), _offered)
            self._name_parts(dialog)
        return self._dialog

    def _clear_name(self) -> None:
        """Nothing is chosen yet. For Qt an empty name is the folder itself, which it selects, and keeps selected beside
        whatever is written into a field that has no focus."""
        dialog = self.make_dialog()
        field, files = dialog.findChild(QLineEdit), dialog.findChild(QListView, "listView")
        if field is not None and files is not None:
            field.clear()
            files.clearSelection()

    def _name_parts(self, dialog: QFileDialog) -> None:
        """Say what each part of the dialog is, to those who cannot see it."""
        for part in dialog.findChildren(QWidget):
            if not part.accessibleName():
                part.setAccessibleName(_PARTS.get(part.objectName(), part.toolTip()))

    def _fill_recent(self, menu: QMenu) -> None:
        """The sources opened lately, into the menu that is about to be shown."""
        menu.clear()
        for position, source in enumerate(self._settings.recent()[:9]):
            name = source.removeprefix("sample:").replace("&", "&&")
            menu.addAction(f"{name}\tCtrl+{position + 1}", lambda p=position: self.open_recent(p))
        if menu.isEmpty():
            menu.addAction("Nothing has been opened yet").setEnabled(False)

    def _opened(self, _text: str) -> None:
        self._window.setWindowTitle(f"{printable(self._state.title)} - Kernelglass")
        source = self._state.source
        self._choices.set_source(source, self._state.title)
        self._choices.set_graph(shown_graph(source) if is_language_model(source) else "")
        self._welcome.set_recent(self._settings.recent())

    def _open_database(self, path: Path) -> bool:
        if not os.path.isfile(path):
            self._complain(f"there is no file {path}")
            return False
        self._messages.clear("window")
        self._visit(str(path.resolve()))
        return True

    def read(self) -> str | None:
        """The text of the open source as it is on disk."""
        path = source_path(self._state.source)
        return self._read(path) if path else None

    def _is_trusted(self, source: str) -> bool:
        return self._settings.trusted(source) and self._settings.get("ask_trust", "once") == "once"

    def _trusts(self, source: str) -> bool:
        if not self.ask_trust(source):
            self._messages.log(f"{source} was not opened: it may run code and was not trusted")
            return False
        self._settings.trust(source)
        return True

    def ask_trust(self, path: str) -> bool:
        """Ask before a file is opened that is code, or may carry some."""
        box = message_box(
            self._window, QMessageBox.Icon.Warning, "Trust this file?",
            f"This is {CODE[Path(path).suffix]}: {printable(Path(path).name)}",
            f"{printable(path)}\n\nTrust it only if you know where it came from; if it changes, you are asked again. "
            "MLIR and ONNX files and weights are never run.",
        )  # fmt: skip
        trust = box.addButton("Trust and open", QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))  # Enter in haste must not run it
        box.exec()
        return box.clickedButton() is trust

    def _read(self, path: Path) -> str | None:
        try:
            if is_text(path):
                return read_file(path, _MOST_BYTES).decode("utf-8", errors="replace")
            return "" if path.stat() else None
        except FileNotFoundError:
            self._complain(f"there is no file {path}")
        except ParseError as error:
            self._complain(error.message)
        except OSError as error:
            self._complain(f"cannot read {path}: {error.strerror or error}")
        return None

    def _complain(self, text: str) -> None:
        self._messages.say("error", text, "window")

    def _touched(self, path: str) -> None:
        self._settle.start()

    def _reload_if_there(self) -> None:
        path = source_path(self._state.source)
        if path is None:
            return
        if not os.path.exists(path):
            self._messages.say("warning", f"{path} is gone from disk; what is on show stays", "window")
            return
        if str(file := watched_file(path)) not in self._watcher.files():  # many editors replace it: watch the new one
            self._watcher.addPath(str(file))
        self.changed_on_disk.emit()
