"""Turns on a machine: what is timed there has it for itself, whichever worker and whoever asked.

Two locks on files of the user's that the system lets go of when their process ends. Whoever times closes the gate, so
that nobody begins any more, and waits until those who are in the room have left it; the others go through the gate into
the room, which many may share. Where there are no such locks everybody goes at once.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import sleep

from compiler.errors import ExecutionError

FOLDER_VARIABLE = "KERNELGLASS_TURNS"
"""The folder of the locks, where it is to be another than the user's own of this machine."""
_PAUSE = 0.02  # seconds between two looks at a lock that another has


@contextmanager
def alone_here(unwanted: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """For what is timed: nothing else of ours is done on this machine until the block ends."""
    with ExitStack() as stack:
        _take(stack, "gate", False, unwanted)
        _take(stack, "room", False, unwanted)
        yield


@contextmanager
def beside_others() -> Iterator[None]:
    """For what is only compiled: beside others of its kind, and never beside what is timed."""
    with ExitStack() as stack:
        with ExitStack() as gate:
            _take(gate, "gate", True)
            _take(stack, "room", True)
        yield


def _take(stack: ExitStack, name: str, shared: bool, unwanted: Callable[[], bool] = lambda: False) -> None:
    try:
        import fcntl
    except ImportError:
        return
    folder = _folder()
    if folder is None:
        return
    how = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    try:
        file = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:  # a full disk, or a folder that cannot be written, is no reason to do nothing at all
        return
    stack.callback(os.close, file)
    while True:
        try:
            return fcntl.flock(file, how)
        except BlockingIOError:
            if unwanted():
                raise ExecutionError("nobody waits for it any more") from None
            sleep(_PAUSE)


def _folder() -> str | None:
    """The user's own folder for this; None where that name is taken by somebody else."""
    named = os.environ.get(FOLDER_VARIABLE)
    path = named or os.path.join(tempfile.gettempdir(), f"kernelglass-turns-{os.geteuid()}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        found = os.lstat(path)
    except OSError:
        return None
    return path if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() else None
