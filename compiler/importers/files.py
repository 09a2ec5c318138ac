"""A user's file read whole: with a bound on its size, and one line that says why where it cannot be read."""

from __future__ import annotations

import stat
from pathlib import Path

from compiler.errors import ParseError

_POINTER = b"version https://git-lfs.github.com/spec/"


def check_fetched(start: bytes, name: str) -> None:
    """Raise where a file is only Git's note of where it lies, which is what a clone without its large files has."""
    if start.startswith(_POINTER):
        raise ParseError(f"{name} is only a Git LFS pointer to the file: fetch it with `git lfs pull`")


def read_file(path: Path, most: int, name: str = "") -> bytes:
    """The bytes of a file of at most so many. A pipe or a device, which may never end, is none."""
    name = name or str(path)
    try:
        known = path.stat()
        if stat.S_ISDIR(known.st_mode):
            raise ParseError(f"{name} is a folder, not a file")
        if not stat.S_ISREG(known.st_mode):
            raise ParseError(f"{name} is not a file that can be read whole")
        if known.st_size > most:
            raise ParseError(f"{name} is too large to read: {known.st_size:,} bytes, and at most {most:,} are read")
        with path.open("rb") as opened:
            return opened.read(known.st_size)  # that much is set aside before anything is read
    except FileNotFoundError:
        raise ParseError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:  # ValueError: a name with a null in it
        raise ParseError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
