"""What tells one array's content from every other's: hashed once, and remembered for as long as its file stays.

The digest is one of the digests of pieces, so that several threads share the work, and a file is read piece by piece
rather than through its mapping: hashing makes nothing resident. What was hashed is noted beside the caches, one file
for each origin, in lines of offset, bytes and digest; by these notes an array is also found again by its digest.
"""

from __future__ import annotations

import hashlib
import os
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from compiler.cache import key_of, weights_folder
from compiler.constants.file_arrays import FileState, Place, array_at, place_of
from compiler.errors import ParseError

_PIECE = 4 << 20
_THREADED = 32 << 20  # bytes from which on threads are worth starting
_in_memory: dict[int, tuple[weakref.ref[np.ndarray], str]] = {}


def digest_of(array: np.ndarray) -> str:
    """The digest of an array's bytes, in hex."""
    place = place_of(array)
    if place is not None:
        known = _noted(place.file).get((place.offset, array.nbytes))
        if known is None:
            if not place.file.holds():
                raise ParseError(f"{place.file.path} was changed or removed while its arrays were in use")
            with open(place.file.path, "rb", buffering=0) as file:
                known = _hashed(array.nbytes, lambda at, size: os.pread(file.fileno(), size, place.offset + at))
            _note(place, array.nbytes, known)
        return known
    held = _in_memory.get(id(array))
    if held is not None and held[0]() is array:
        return held[1]
    packed = np.ascontiguousarray(array)
    data = packed.reshape(-1).view(np.uint8)
    made = _hashed(packed.nbytes, lambda at, size: data[at : at + size].data)
    if not array.flags.writeable:
        number = id(array)
        _in_memory[number] = weakref.ref(array, lambda _: _in_memory.pop(number, None)), made
    return made


def _hashed(size: int, read: Callable[[int, int], bytes | memoryview]) -> str:
    def piece(at: int) -> bytes:
        return hashlib.blake2b(read(at, min(_PIECE, size - at)), digest_size=32).digest()

    starts = range(0, size, _PIECE)
    if size < _THREADED:
        found = list(map(piece, starts))
    else:
        from concurrent.futures import ThreadPoolExecutor  # with it comes logging, for every process that measures

        with ThreadPoolExecutor(min(os.cpu_count() or 1, 8)) as pool:
            found = list(pool.map(piece, starts))
    return hashlib.blake2b(b"".join(found), digest_size=20).hexdigest()


# What was hashed before


def _notes(file: FileState) -> Path | None:
    try:
        folder = weights_folder()
    except OSError:  # a full disk, or one that is read-only
        return None
    return None if folder is None else folder / f"{key_of(file)}.digests"


def _note(place: Place, size: int, digest: str) -> None:
    notes = _notes(place.file)
    if notes is None:
        return
    with suppress(OSError):  # then it is hashed again next time
        fresh = not notes.exists()
        file = place.file
        with open(notes, "a", encoding="utf-8", errors="surrogateescape") as out:
            if fresh:
                out.write(f"{file.device} {file.inode} {file.size} {file.modified} {file.path}\n")
            out.write(f"{place.offset} {size} {digest}\n")


def _noted(file: FileState) -> dict[tuple[int, int], str]:
    notes = _notes(file)
    return {} if notes is None else {(offset, size): digest for offset, size, digest in _lines(notes)[1]}


def _lines(notes: Path) -> tuple[FileState | None, list[tuple[int, int, str]]]:
    """The file that notes are about, and what they say of it; nothing of notes that are damaged."""
    try:
        head, *rest = notes.read_text(encoding="utf-8", errors="surrogateescape").split("\n")
        device, inode, size, modified, path = head.split(" ", 4)
        found = [(int(a), int(b), c) for a, b, c in (line.split(" ") for line in rest if line)]
        return FileState(path, int(device), int(inode), int(size), int(modified)), found
    except (OSError, ValueError):
        return None, []


def _origins() -> Iterator[Path]:
    with suppress(OSError):
        folder = weights_folder()
        yield from sorted(folder.glob("*.digests")) if folder is not None else ()


def find_array(digest: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray | None:
    """The array with this digest, where a file that was hashed before still holds it."""
    wanted = int(np.prod(shape, dtype=object)) * dtype.itemsize
    for notes in _origins():
        file, found = _lines(notes)
        for offset, size, each in found:
            if file is not None and each == digest and size == wanted and file.holds():
                return array_at(Place(file, offset), dtype, shape)
    return None
