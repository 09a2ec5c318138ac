"""Arrays that lie in files: mapped, never read whole, and told to another process by where they are.

An array from `LARGE` bytes on is large: what a compilation gives never depends on its elements. Nobody folds it, looks
for a repeated number in it or compares it with another but by where it lies, so that compiling reads none of it.
"""

from __future__ import annotations

import mmap
import os
import stat
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from compiler.errors import ParseError

LARGE = 1 << 20


@dataclass(frozen=True)
class FileState:
    """A file as it was when it was mapped; one that differs in any of this may hold something else."""

    path: str
    device: int
    inode: int
    size: int
    modified: int

    def holds(self) -> bool:
        """Whether the file is still the same."""
        try:
            return state_of(self.path) == self
        except OSError:
            return False


@dataclass(frozen=True)
class Place:
    """Where an array lies: a file, and the first byte in it."""

    file: FileState
    offset: int


class FileArray(np.ndarray):
    """A read-only array that is the content of a part of a file; `place` is None for what was computed from one."""

    place: Place | None

    def __array_finalize__(self, made_from: Any) -> None:
        self.place = None


def state_of(path: str | os.PathLike[str]) -> FileState:
    """A file as it is now; OSError where there is none."""
    found = os.stat(path)
    return FileState(
        os.path.abspath(os.fspath(path)), found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    )  # fmt: skip


class MappedFile:
    """A file whose parts are taken as arrays. Its pages are the system's: nothing is read before it is used."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for whoever writes to it
                raise ParseError(f"{os.fspath(path)} is not a file that can be mapped")
            with open(path, "rb") as file:
                self.state = state_of(path)
                self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if self.state.size else b""
        except (OSError, ValueError) as error:
            raise ParseError(f"cannot read {os.fspath(path)}: {getattr(error, 'strerror', None) or error}") from None

    def array(self, dtype: np.dtype, shape: tuple[int, ...], offset: int) -> np.ndarray:
        """The array of this type from byte `offset` on: a part of the file where it is large, else a copy of it.

        A processor wants elements at whole multiples of their size: one that does not lie so is copied as well.
        """
        count = prod(shape)
        size = count * dtype.itemsize
        if min(shape, default=0) < 0 or offset < 0 or offset + size > self.state.size:
            raise ParseError(f"{self.state.path}: an array of {size} bytes at {offset} is not within the file")
        if not count:
            return np.zeros(shape, dtype)
        if size < LARGE or offset % dtype.alignment:
            made = np.frombuffer(self.data[offset : offset + size], dtype).reshape(shape).copy()
            made.flags.writeable = False
            return made
        made = np.frombuffer(self.data, dtype, count, offset).reshape(shape).view(FileArray)
        made.place = Place(self.state, offset)
        return made


_opened: dict[FileState, MappedFile] = {}
_MOST_OPENED = 64


def array_at(place: Place, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """The array at a place that another process told of; a ParseError where the file is no longer what it was."""
    if not place.file.holds():
        raise ParseError(f"{place.file.path} was changed or removed while its arrays were in use; open it again")
    known = _opened.get(place.file)
    if known is None:
        if len(_opened) >= _MOST_OPENED:
            _opened.clear()
        known = _opened[place.file] = MappedFile(place.file.path)
    return known.array(dtype, shape, place.offset)


def place_of(array: np.ndarray) -> Place | None:
    """Where an array lies in a file; None for one in memory."""
    return array.place if isinstance(array, FileArray) else None


def is_large(array: np.ndarray) -> bool:
    """Whether no compilation looks into it."""
    return array.nbytes >= LARGE


def identity(array: np.ndarray) -> tuple[Any, ...]:
    """What two large arrays share when they are the same bytes at the same place; that is all that is asked of them."""
    place = place_of(array)
    where = array.__array_interface__["data"][0] if place is None else place
    return array.dtype.str, array.dtype.name, array.shape, where
