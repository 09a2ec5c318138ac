"""Large arrays that were made in memory, put into files by their content so that other processes map the same pages."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from compiler.cache import weights_folder
from compiler.constants.digests import digest_of
from compiler.constants.file_arrays import MappedFile, place_of

_UNUSED_SECONDS = 7 * 86400  # after so long without being asked for, a kept array goes


def shared_array(array: np.ndarray) -> np.ndarray:
    """The same array, lying in a file; itself where no file can be written."""
    if place_of(array) is not None:
        return array
    try:
        folder = weights_folder()
        if folder is None:
            return array
        place = folder / f"{digest_of(array)}.bytes"
        if not (place.exists() and place.stat().st_size == array.nbytes):
            _write(place, array)
        found = place.stat()
        os.utime(place, ns=(time.time_ns(), found.st_mtime_ns))  # the last use; the other time says what the file holds
        made = MappedFile(place).array(array.dtype, array.shape, 0)
    except OSError:
        return array
    _drop_unused(place.parent)
    return made


def _write(place: Path, array: np.ndarray) -> None:
    waiting = place.with_suffix(f".{os.getpid()}.tmp")
    try:
        with open(waiting, "wb") as file:
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        os.replace(waiting, place)
    finally:
        waiting.unlink(missing_ok=True)


def _drop_unused(folder: Path) -> None:
    now = time.time()
    for path in folder.glob("*.bytes"):
        with suppress(OSError):
            if now - max(path.stat().st_atime, path.stat().st_mtime) > _UNUSED_SECONDS:
                path.unlink()
