"""A child process from inside: how every one of them begins."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

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
    _serve(module, socket.socket(fileno=int(descriptor)), arguments)


def live(module: str, connection: socket.socket, arguments: Sequence[str], path: Sequence[str]) -> NoReturn:
    """The same in a fork of another program, of which nothing is to be left but what it has loaded: not what it does on
    a signal and in the end, nor its input and output."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        sys.unraisablehook = sys.__unraisablehook__
        atexit._clear()
        sys.argv, sys.path[:] = ["-c", module, *arguments], path
        _serve(module, _without_input_and_output(connection), arguments)
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        status = 0
    except BaseException:
        from traceback import print_exc

        print_exc()
    finally:
        os._exit(status)


def _without_input_and_output(connection: socket.socket) -> socket.socket:
    """Read nothing, print on the standard error, or nowhere where that is closed; the connection, which may have had
    the number of what is closed."""
    taken = []
    while (descriptor := os.dup(connection.fileno())) <= 2:
        taken.append(descriptor)
    if (before := connection.detach()) <= 2:
        taken.append(before)
    else:
        os.close(before)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in {0, *taken}:
        os.dup2(nothing, number)
    if nothing > 2:
        os.close(nothing)
    os.dup2(2, 1)
    return socket.socket(fileno=descriptor)


def _serve(module: str, connection: socket.socket, arguments: Sequence[str]) -> None:
    from compiler.processes.frames import Channel

    entry = import_module(module)
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
