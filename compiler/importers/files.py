"""A user's files: read whole, with a bound on their size and one line where they cannot be; and what folders are."""

from __future__ import annotations

import stat
from pathlib import Path

from compiler.errors import ParseError

_POINTER = b"version https://git-lfs.github.com/spec/"


def check_fetched(start: bytes, name: str) -> None:
    """Raise where a file is only Git's note of where it lies, which is what a clone without its large files has."""
    if start.startswith(_POINTER):
        raise ParseError(f"{name} is only a Git LFS pointer to the file: fetch it with `git lfs pull`")


def hub_repository(folder: Path) -> Path | None:
    """Where the Hugging Face hub keeps what a folder is a snapshot of: REPOSITORY/snapshots/REVISION/...

    The files of a snapshot are links to REPOSITORY/blobs.
    """
    place = folder.resolve()
    for each in (place, *place.parents):
        if each.parent.name == "snapshots":
            return each.parents[1]
    return None


def folder_name(folder: Path) -> str:
    """What the model in a folder is called: a snapshot's own name is a digest, its repository's says which model."""
    repository = hub_repository(folder)
    if repository is not None and repository.name.startswith("models--"):
        return repository.name.rpartition("--")[2]
    return folder.resolve().name


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
