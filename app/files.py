"""Writing files whole or not at all: a full disk never leaves half a file, nor takes away the one that was there."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from compiler.errors import ExecutionError


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write beside the place and rename; ExecutionError says in one line why that was not possible."""
    data = content.encode() if isinstance(content, str) else content
    target = Path(path)
    if target.is_symlink() or (target.exists() and not target.is_file()):
        target = target.resolve()
    waiting = ""
    try:
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced, only written
            target.write_bytes(data)
            return
        handle, waiting = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(waiting, target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        os.replace(waiting, target)
    except OSError as error:
        if waiting:
            with contextlib.suppress(OSError):
                os.unlink(waiting)
        raise ExecutionError(f"cannot write {path}: {error.strerror or error}") from None


def check_place(path: str | Path) -> None:
    """Raise at once where a file could not be written there, before there is anything to write."""
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not target.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        if not os.access(target if target.exists() else target.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ExecutionError(f"cannot write {path}: {error.strerror or error}") from None


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now
