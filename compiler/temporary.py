"""Folders for the time of a task. One whose process was killed stays behind, and the next task takes it away.

Each holds a file that names its process, so that nobody's folder is taken from it while it works.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "kernelglass-"
_OWNER = ".kernelglass-owner"


@contextmanager
def temporary_folder(what: str, within: str | None = None) -> Iterator[str]:
    """A folder of this process that is gone after the block."""
    folder = make_folder(what, within)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_folder(what: str, within: str | None = None, clear: bool = True) -> str:
    """A folder that its maker takes away, or the next one who makes a folder, once this process is gone. Who has no
    time to `clear` what others left has done so before."""
    from compiler.processes.identity import process_mark

    if within is None and clear:
        clear_abandoned()
    folder = tempfile.mkdtemp(prefix=f"{PREFIX}{what}-", dir=within)
    with open(os.path.join(folder, _OWNER), "w", encoding="utf-8") as file:
        file.write(process_mark())
    return folder


def clear_abandoned() -> int:
    """Take away folders of ours whose process is gone, and nothing else; how many there were."""
    cleared = 0
    with suppress(OSError):
        for entry in os.scandir(tempfile.gettempdir()):
            if entry.name.startswith(PREFIX) and _abandoned(entry):
                shutil.rmtree(entry.path, ignore_errors=True)  # links in it are removed, not followed
                cleared += 1
    return cleared


def _abandoned(entry: os.DirEntry[str]) -> bool:
    """Whether a folder is the user's own, names its process, and that process is gone."""
    from compiler.processes.identity import is_alive

    try:
        found, owner = entry.stat(follow_symlinks=False), Path(entry.path, _OWNER)
        if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "geteuid") and found.st_uid != os.geteuid()):
            return False
        if not stat.S_ISREG(owner.lstat().st_mode):
            return False
        return not is_alive(owner.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
