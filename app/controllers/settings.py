"""What is remembered between sessions: theme, sizes, recent files, layouts, trust. One INI file, in a folder."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from platformdirs import user_config_dir
from PySide6.QtCore import QByteArray, QSettings

from app.sources import CODE
from app.trust import content_digest

FOLDER_VARIABLE = "KERNELGLASS_CONFIG"
LAST_SESSION = "last session"  # the arrangement the window was closed with
_RECENT = 20
_TRUSTED, _TRUSTED_MOST = "trusted_content", 500


def settings_folder() -> Path:
    """Where settings live: `KERNELGLASS_CONFIG`, else the user's configuration folder."""
    return Path(os.environ.get(FOLDER_VARIABLE) or user_config_dir("kernelglass"))


class Settings:
    """Typed access to the settings file; a value that does not read is its default."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or settings_folder()
        self._store = QSettings(str(self.folder / "window.ini"), QSettings.Format.IniFormat)

    def get(self, key: str, default: Any) -> Any:
        """The value of a key, kept as JSON so that its type survives."""
        text = self._store.value(key)
        if not isinstance(text, str):
            return default
        try:
            value = json.loads(text)
        except ValueError:
            return default
        if isinstance(default, float) and isinstance(value, int):
            return float(value)
        return value if type(value) is type(default) or default is None else default

    def set(self, key: str, value: Any) -> None:
        """Remember a value."""
        self._store.setValue(key, json.dumps(value))

    def recent(self) -> list[str]:
        """Sources opened lately, newest first."""
        return [entry for entry in self.get("recent", []) if isinstance(entry, str)]

    def add_recent(self, source: str) -> None:
        """Put a source on top of the recent ones."""
        self.set("recent", [source, *(entry for entry in self.recent() if entry != source)][:_RECENT])

    def trusted(self, path: str) -> bool:
        """Whether the user has allowed this file to run code, as it is now."""
        return content_digest(path) in self._trusted()

    def trust(self, path: str) -> None:
        """Allow a file to run code from now on, as long as it and what it imports from beside it stay as they are."""
        digest = content_digest(path) if Path(path).suffix in CODE and not path.startswith("sample:") else ""
        if digest:
            self.set(_TRUSTED, [*(known for known in self._trusted() if known != digest), digest][-_TRUSTED_MOST:])

    def trusted_count(self) -> int:
        """How many files are trusted."""
        return len(self._trusted())

    def forget_trust(self) -> None:
        """No Python file is trusted any more."""
        self.set(_TRUSTED, [])

    def _trusted(self) -> list[str]:
        return [entry for entry in self.get(_TRUSTED, []) if isinstance(entry, str) and entry]

    def layout_names(self) -> list[str]:
        """Names of the layouts the user saved."""
        return sorted(name for name in self.get("layouts", {}) if name != LAST_SESSION)

    def layout(self, name: str) -> dict[str, QByteArray]:
        """The window states of a saved layout; empty when there is none."""
        saved = self.get("layouts", {}).get(name, {})
        return {key: QByteArray.fromBase64(value.encode()) for key, value in saved.items()}

    def save_layout(self, name: str, states: dict[str, QByteArray]) -> None:
        """Keep window states under a name."""
        layouts = self.get("layouts", {})
        layouts[name] = {key: bytes(state.toBase64().data()).decode() for key, state in states.items()}
        self.set("layouts", layouts)

    def remove_layout(self, name: str) -> None:
        """Forget a layout."""
        layouts = self.get("layouts", {})
        layouts.pop(name, None)
        self.set("layouts", layouts)

    def sync(self) -> bool:
        """Write to disk; False when that did not work (a full disk, a folder that cannot be written)."""
        self._store.sync()
        return self._store.status() == QSettings.Status.NoError

    def problem(self) -> str:
        """Why nothing can be remembered, in words; empty when all is well. Writes to find out."""
        path = self.folder / "window.ini"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as probe:  # QSettings says only that it failed, not why
                probe.write(b" " * 4096)
                probe.flush()
            if path.exists() and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            return (
                f"settings cannot be written to {self.folder} ({error.strerror or error}): "
                "what you change lasts until the window is closed"
            )
        return "" if self.sync() else f"settings cannot be written to {path}: it is not a settings file"
