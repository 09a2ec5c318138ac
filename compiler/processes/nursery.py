"""A process that has loaded what children of one kind need, and forks each of them: born in milliseconds.

A child so born is as good as a fresh interpreter that loaded the same modules, as the nursery does nothing but load.
What it shares with its siblings is where things lie in memory, so nothing that is timed is born here. Forking is safe
where nothing else runs in the nursery, whose only other thread waits meanwhile; elsewhere than on Linux children start
afresh.
"""

from __future__ import annotations

import atexit
import gc
import os
import select
import signal
import socket
import struct
import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from time import monotonic
from typing import Any

from compiler.collector_pauses import rare_collection
from compiler.processes.frames import Channel
from compiler.processes.own_priority import OwnPriority
from compiler.processes.supervisor import Child, ForkedChild, environment

_NUMBER = struct.Struct("<i")
_STARTS = 5  # how often the process is started for one child, where it dies


@dataclass(frozen=True)
class Birth:
    """The first message to a child: its arguments, and what is around it, as the one who asked has it."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str


class Born:
    """A child of a nursery, as `Child` is one that was started afresh; it leads a process group."""

    def __init__(self, channel: Channel, told: socket.socket) -> None:
        self.channel = channel
        self._told = told  # its process id, and when it has ended its status
        self._heard = b""

    @property
    def begun(self) -> bool:
        """Whether there is a process: all that it needs first is loaded."""
        self._hear(0.0)
        return bool(self._heard)

    def kill(self) -> None:
        """End it now, with its group; not once it has ended, as its number may be another's."""
        self._hear(0.0)
        if len(self._heard) == _NUMBER.size:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(_NUMBER.unpack(self._heard)[0], signal.SIGKILL)
        elif not self._heard:  # not born yet: it will find that nobody is there
            self.channel.hang_up()

    def end(self, patience: float = 0.0) -> int:
        """Hang up, give it so many seconds to leave, end it; its status."""
        if patience:
            self.channel.hang_up()
            self._hear(patience)
        self.kill()
        self.channel.close()
        self._hear(None)
        self._told.close()
        return _NUMBER.unpack_from(self._heard, _NUMBER.size)[0] if len(self._heard) > _NUMBER.size else -signal.SIGKILL

    def _hear(self, seconds: float | None) -> None:
        """What the nursery says of it within a time; nothing more comes where the nursery is gone."""
        limit = None if seconds is None else monotonic() + seconds
        poll = select.poll()
        with suppress(OSError, ValueError):  # closed, once it has ended
            poll.register(self._told, select.POLLIN)
            while len(self._heard) < 2 * _NUMBER.size:
                if not poll.poll(None if limit is None else 1000 * max(limit - monotonic(), 0.0)):
                    return
                with suppress(BlockingIOError):  # another thread heard it
                    part = self._told.recv(2 * _NUMBER.size, socket.MSG_DONTWAIT)
                    if not part:
                        return
                    self._heard += part


class Nursery:
    """A process for children that run `serve(channel, *arguments)` of a module, once its `prepare` is done.

    While nobody asks it goes on to load what `LATER` of the module names, where it names something; such a module's
    `give_way` says how loading gives way to others. `keep_methods` has it find the methods of its records and the
    places of its modules in the cache, for those who wait until all of it is loaded; what methods its children call
    they leave there themselves (`compiler.processes.record_methods.keep_called`).
    """

    def __init__(self, module: str, keep_methods: bool = False) -> None:
        self._module = module
        self._keeps = ["keeps"] if keep_methods else []
        self._lock = threading.Lock()
        self._process: Child | ForkedChild | None = None
        self._door: socket.socket | None = None
        atexit.register(self.close)

    def start(self, fork: bool = False) -> None:
        """Have it load already, before the first child is wanted; as a fork of this process where that is a program of
        ours that has only begun, which is sooner."""
        if _forks():
            with self._lock:
                self._start(fork and threading.active_count() == 1)

    def close(self) -> None:
        """End it. Its children live on until whoever asked for them hangs up."""
        with self._lock:
            self._end()

    def child(self, known: Mapping[str, Any], *arguments: object) -> Child | Born:
        """A child of its own group; `known` are the messages it may send."""
        if not _forks():
            return Child(self._module, known, *arguments, group=True)
        ours, theirs = socket.socketpair()
        told, tells = socket.socketpair()
        try:
            self._ask([theirs.fileno(), tells.fileno()])
        except BaseException:
            ours.close()
            told.close()
            raise
        finally:
            theirs.close()
            tells.close()
        born = Born(Channel(ours, known), told)
        with suppress(OSError):  # whoever reads will find that it is gone
            born.channel.send(Birth(tuple(map(str, arguments)), environment(), _folder()))
        return born

    def _ask(self, descriptors: list[int]) -> None:
        """Ask for a child with these; the process is started when it is first wanted, and again where it died."""
        with self._lock:
            for left in range(_STARTS - 1, -1, -1):
                if self._process is not None and not self._process.alive:
                    self._end()
                door = self._start()
                try:
                    socket.send_fds(door, [b"+"], descriptors)
                    return
                except OSError:  # it died since
                    self._end()
                    if not left:
                        raise

    def _start(self, fork: bool = False) -> socket.socket:
        if self._door is None:
            self._process = (ForkedChild if fork else Child)(__name__, {}, self._module, *self._keeps)
            self._door = socket.socket(fileno=os.dup(self._process.channel.fileno()))
            self._door.setblocking(True)
        return self._door

    def _end(self) -> None:
        if self._process is not None and self._door is not None:
            self._door.close()
            self._process.end()
            self._process = self._door = None


def _forks() -> bool:
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


# Inside

KNOWN: dict[str, Any] = {}


def serve(channel: Channel, module: str, keeps: str = "") -> None:
    """Fork a child for each that asks, and tell of it; in the child, this is where it does its work."""
    last: list[Callable[[], object]] = []
    with rare_collection():
        if keeps:
            from compiler.processes.module_places import ModulePlaces  # not for whoever only asks for children
            from compiler.processes.record_methods import OURS, MethodsWhenCalled

            last.append(ModulePlaces(module).keep)
            MethodsWhenCalled(module, OURS)
        entry = import_module(module)
        # Where it gives way only this thread does: children are forked by the other, as they could never take it back.
        load = OwnPriority(entry.give_way).call if entry.LATER else _at_once
        load(entry.prepare)
        gc.freeze()  # all of it stays: not even the look that is due now walks it
    chores = [*(partial(load, partial(import_module, name)) for name in entry.LATER), *last]
    told: dict[int, tuple[int, socket.socket]] = {}  # of each child, by a descriptor that is ready when it ends
    poll = select.poll()
    poll.register(channel.fileno(), select.POLLIN)
    door = socket.socket(fileno=os.dup(channel.fileno()))
    while True:
        ready = [descriptor for descriptor, _ in poll.poll(0 if chores else None)]
        for descriptor in set(ready) & set(told):
            poll.unregister(descriptor)
            _tell_end(descriptor, *told.pop(descriptor))
        if channel.fileno() in ready:
            _, found, _, _ = socket.recv_fds(door, 1, 2)
            if len(found) < 2:
                return
            tells = socket.socket(fileno=found[1])
            if (pid := _forked()) == 0:
                for other in (door, tells, *(sibling for _, sibling in told.values())):
                    other.close()
                for descriptor in told:
                    os.close(descriptor)
                channel.close()
                return _live(entry, found[0])
            os.close(found[0])
            with suppress(OSError):
                tells.send(_NUMBER.pack(pid))
            watched = os.pidfd_open(pid)
            told[watched] = (pid, tells)
            poll.register(watched, select.POLLIN)
        elif chores and not ready:
            chores.pop(0)()


def _at_once(work: Callable[[], object]) -> object:
    return work()


def _forked() -> int:
    gc.freeze()  # what is shared stays so longer where no collection walks it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of native libraries, which have fork handlers
        pid = os.fork()
    with suppress(OSError):
        os.setpgid(pid, pid)  # on both sides: whoever comes first
    return pid


def _tell_end(descriptor: int, pid: int, tells: socket.socket) -> None:
    os.close(descriptor)
    _, status = os.waitpid(pid, 0)
    with tells, suppress(OSError):
        tells.send(_NUMBER.pack(os.waitstatus_to_exitcode(status)))


def _live(entry: Any, descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    os.set_inheritable(descriptor, False)  # what it starts itself must not keep the conversation alive
    channel = Channel(connection, {**entry.KNOWN, "Birth": Birth})
    with suppress(EOFError):
        birth: Birth = channel.receive().value
        os.environ.clear()
        os.environ.update(birth.environment)
        with suppress(OSError):
            os.chdir(birth.folder)
        entry.serve(channel, *birth.arguments)
