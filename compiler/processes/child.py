"""A child process from inside: how every one of them begins."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module

from compiler.collector_pauses import end_without_collection


def main() -> None:
    """Run `serve` of the module named on the command line, talking over the descriptor that follows it.

    What a library or a kernel prints goes to the standard error; when to stop is the parent's to say, not Ctrl+C's.
    """
    module, descriptor, *arguments = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_without_collection()
    with suppress(OSError):
        os.dup2(2, 1)
    from compiler.processes.frames import Channel

    entry = import_module(module)
    connection = socket.socket(fileno=int(descriptor))
    os.set_inheritable(connection.fileno(), False)  # what it starts itself must not keep the conversation alive
    try:
        if hasattr(entry, "prepare"):
            entry.prepare()
        entry.serve(Channel(connection, entry.KNOWN), *arguments)
    except (EOFError, ConnectionError):
        if not _hung_up(connection):
            raise


def _hung_up(connection: socket.socket) -> bool:
    """Whether the parent is gone, or wants nothing more: no mistake of the child's then, and nobody to tell."""
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def end_with_parent() -> None:
    """A kernel that never ends must not outlive a parent that was killed; Linux sees to it when asked."""
    if sys.platform.startswith("linux"):
        import ctypes

        set_parent_death_signal = 1
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)
