"""Opening sources: trust for Python files, recent ones, watching the file for changes, reading it for the editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QTimer, Signal

from app.controllers.messages import Message, Messages
from app.controllers.settings import Settings
from app.controllers.state import State
from app.sources import samples

SOURCES = (".py", ".mlir", ".onnx")
DATABASES = (".db", ".sqlite", ".sqlite3")
SUFFIXES = SOURCES + DATABASES


class OpenController(QObject):
    """`opened(source, text)` once a source may be used; `changed_on_disk` when somebody else wrote its file.

    A database is data: `database_opened(path)`, and whoever reads it finds out whether it is one.
    """

    opened = Signal(str, str)
    database_opened = Signal(str)
    changed_on_disk = Signal()

    def __init__(
        self, state: State, settings: Settings, messages: Messages, ask_trust: Callable[[str], bool], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._state, self._settings, self._messages, self._ask = state, settings, messages, ask_trust
        self._samples = {sample.name: sample.path for sample in samples()}  # parsed once: it takes 25 ms
        self._watcher = QFileSystemWatcher(self)
        self._watcher.fileChanged.connect(self._touched)
        self._settle = QTimer(self)
        self._settle.setSingleShot(True)
        self._settle.setInterval(150)  # editors write in steps; wait until they are done
        self._settle.timeout.connect(self._reload_if_there)

    def path(self, source: str) -> Path | None:
        """The file behind a source."""
        if source.startswith("sample:"):  # a sample may take a size after its name: sample:llama-32:8
            return self._samples.get(source.split(":")[1])
        return Path(source)

    def open(self, source: str) -> bool:
        """Open a sample or a file; False when it cannot be or the user says no."""
        path = self.path(source)
        if path is not None and path.suffix in DATABASES:
            return self._open_database(path)
        if path is None or path.suffix not in SOURCES:
            self._complain(f"{source}: not a .py, .mlir or .onnx file, nor a database of runs (.db)")
            return False
        if not source.startswith("sample:"):
            source = str(path.resolve())
        text = self._read(path)
        if text is None:
            return False
        if path.suffix == ".py" and not source.startswith("sample:") and not self._trusted(source):
            return False
        self._messages.clear("window")
        for watched in self._watcher.files():
            self._watcher.removePath(watched)
        self._watcher.addPath(str(path))
        self._settings.add_recent(source)
        self._state.source = source
        self.opened.emit(source, text)
        return True

    def _open_database(self, path: Path) -> bool:
        if not path.is_file():
            self._complain(f"there is no file {path}")
            return False
        self._messages.clear("window")
        self.database_opened.emit(str(path.resolve()))
        return True

    def read(self) -> str | None:
        """The text of the open source as it is on disk."""
        path = self.path(self._state.source)
        return self._read(path) if path else None

    def _trusted(self, source: str) -> bool:
        if self._settings.trusted(source) and self._settings.get("ask_trust", "once") == "once":
            return True
        if not self._ask(source):
            self._messages.log(f"{source} was not opened: it is Python code and was not trusted")
            return False
        self._settings.trust(source)
        return True

    def _read(self, path: Path) -> str | None:
        try:
            return "" if path.suffix == ".onnx" else path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            self._complain(f"there is no file {path}")
        except OSError as error:
            self._complain(f"cannot read {path}: {error.strerror or error}")
        return None

    def _complain(self, text: str) -> None:
        self._messages.post(Message("error", text, "window"))

    def _touched(self, path: str) -> None:
        self._settle.start()

    def _reload_if_there(self) -> None:
        path = self.path(self._state.source)
        if path is None:
            return
        if not path.exists():
            self._messages.post(Message("warning", f"{path} is gone from disk; what is on show stays", "window"))
            return
        if str(path) not in self._watcher.files():  # many editors replace the file: watch the new one
            self._watcher.addPath(str(path))
        self.changed_on_disk.emit()
