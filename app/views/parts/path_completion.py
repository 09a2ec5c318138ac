"""Completing a path while it is typed. Folders are read in a thread, and no more of one than a list can show: what Qt
has for this lists a folder on the window's thread, which a folder of some hundred files makes felt."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QStringListModel
from PySide6.QtWidgets import QCompleter, QLineEdit, QListView

from app.views.parts.later import Thread

_MOST = 2000  # names of one folder that are offered


class PathCompleter(QCompleter):
    """Offers the folders, and the files that are `wanted`, that go on from what a field has; `base` is where a path
    begins that does not say so."""

    def __init__(self, field: QLineEdit, base: Callable[[], str], wanted: Callable[[str], bool]) -> None:
        super().__init__(field)
        self._base, self._wanted = base, wanted
        self._names = QStringListModel(self)
        self._thread = Thread(self)
        self._read: tuple[str, bool] | None = None  # the folder as it is typed, and whether with hidden entries
        self.setModel(self._names)
        if isinstance(popup := self.popup(), QListView):
            popup.setUniformItemSizes(True)  # else it measures every name of a folder, each time it is shown
        field.setCompleter(self)
        field.textEdited.connect(self._typed)

    def _typed(self, text: str) -> None:
        """Another folder is on the way: read it, then complete what is there by then."""
        head, _, last = text.rpartition("/")
        wanted = (f"{head}/" if "/" in text else "", last.startswith("."))
        if wanted == self._read:
            return
        self._read = wanted
        self._names.setStringList([])
        folder = Path(self._base(), Path(wanted[0]).expanduser())
        self._thread.start(lambda cancelled: _entries(folder, *wanted, self._wanted, cancelled), self._offer)

    def _offer(self, names: list[str]) -> None:
        self._names.setStringList(names)
        field = self.widget()
        if isinstance(field, QLineEdit) and field.hasFocus() and names:
            self.setCompletionPrefix(field.text())
            if self.completionCount() and self.currentCompletion() != field.text():
                self.complete()


def _entries(
    folder: Path, head: str, hidden: bool, wanted: Callable[[str], bool], cancelled: Callable[[], bool]
) -> list[str]:
    """The names in a folder as they would be typed; nothing where it cannot be read."""
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if cancelled():
                    return []
                if entry.name.startswith(".") != hidden:
                    continue
                if entry.is_dir():
                    found.append(f"{head}{entry.name}/")
                elif wanted(entry.name):
                    found.append(f"{head}{entry.name}")
    except OSError:
        return []
    return sorted(found)[:_MOST]
