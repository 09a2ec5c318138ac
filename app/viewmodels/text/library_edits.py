"""Edits of the kernel library: they apply to the compilations of this session, whatever is open, and can be saved as a
package. The library's own files are never written.

What is compiled is a package in a folder named after its content, so that whoever runs that compilation later, in
whichever process, reads what was compiled.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from app.viewmodels.compilation import EDITED_LIBRARY
from app.viewmodels.text.edits import Edits
from compiler.language.packages import write_package

_PREFIX = "library:"  # no kernel's name has a colon
_MOST = 50  # packages kept: those before were of compilations long gone


def is_library(key: str) -> bool:
    """Whether what is edited is a file of the kernel library."""
    return key.startswith(_PREFIX)


def library_key(path: str) -> str:
    """The key of a file of the library: files there are known by their names."""
    return f"{_PREFIX}{Path(path).name}"


def file_name(key: str) -> str:
    """The name of the file that a key stands for."""
    return key.removeprefix(_PREFIX)


class LibraryEdits(Edits):
    """The buffers of the library's files. `applied` are the texts that compilations take in place of the originals."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "drafts")
        self._packages = folder / EDITED_LIBRARY
        self.open("the kernel library")
        self.applied: dict[str, str] = {}
        self._good: dict[str, str] = {}  # what was applied when something compiled last
        self._in_package: dict[str, str] = {}  # texts that were saved

    def open_file(self, path: str) -> str:
        """Begin to edit a file; its key. OSError or ValueError where it cannot be read."""
        key = library_key(path)
        if self.get(key) is None:
            self.load(key, Path(path).read_text(encoding="utf-8"))
        return key

    def files(self) -> list[str]:
        """The keys of the files that were opened."""
        return sorted(self._buffers)

    def choose(self, key: str) -> bool:
        """The next compilation takes this file as it is edited, and no file that was reverted; whether it is new."""
        before = self.applied.get(key)
        wanted = {*self.applied, *([key] if is_library(key) else [])} & set(self.edited())
        self.applied = {k: self._buffers[k].text if k == key else self.applied[k] for k in sorted(wanted)}
        return key in self.applied and self.applied[key] != before

    def compiled(self, good: bool) -> None:
        """What cannot be compiled does not stay chosen; its text stays in the editor."""
        if good:
            self._good = dict(self.applied)
        else:
            self.applied = dict(self._good)

    def folders(self) -> tuple[str, ...]:
        """The package with what is applied, for a compilation; nothing where nothing is. OSError where it cannot be
        written."""
        if not self.applied:
            return ()
        texts = {file_name(key): text for key, text in self.applied.items()}
        content = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
        folder = self._packages / hashlib.sha256(content.encode()).hexdigest()[:24]
        if not folder.exists():
            fresh = folder.with_suffix(".new")
            shutil.rmtree(fresh, ignore_errors=True)
            write_package(fresh, texts)
            fresh.rename(folder)  # whole, or not at all
            self._clear_old()
        return (str(folder),)

    def unsaved(self) -> list[str]:
        """The keys of files that are edited and in no package as they are."""
        return [key for key in self.edited() if self._in_package.get(key) != self._buffers[key].text]

    def save_package(self, folder: Path) -> list[str]:
        """Write every edited file as a package that `--library` takes; the names of its files."""
        texts = {file_name(key): self._buffers[key].text for key in self.edited()}
        write_package(folder, texts)
        self._in_package = {key: self._buffers[key].text for key in self.edited()}
        return sorted(texts)

    def drop(self) -> None:
        """Forget every edit, here, on disk and in the compilations to come."""
        super().drop()
        self.applied, self._good = {}, {}

    def _clear_old(self) -> None:
        known = sorted(self._packages.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in known[_MOST:]:
            shutil.rmtree(old, ignore_errors=True)
