"""A child process from outside: how every one of them is started, talked with, watched and ended.

A child is a fresh interpreter that runs `serve` of the module it is named after (`compiler.processes.child`), with this
program's own folder first on its path and one descriptor to talk over: what it or a kernel prints goes to its standard
error and never between the messages. A worker that only needs what this process has loaded may be a fork of it.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from compiler.processes.child import live
from compiler.processes.frames import Channel

_ROOT = Path(__file__).resolve().parents[2]
_START = "from compiler.processes.child import main; main()"


def environment() -> dict[str, str]:
    """What a child finds around it: what we have, and on its path what is on ours, this program's own folder first.

    With `-P` and without the empty entry that stands for the folder one works in: that may have an `app` or a `numpy`
    of its own, which must not be taken for ours.
    """
    return {**os.environ, "PYTHONPATH": os.pathsep.join(_path())}


def _path() -> list[str]:
    return [str(_ROOT), *filter(None, sys.path)]


@contextmanager
def _ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Our end and a child's of a conversation, while the child is started; where it cannot be, neither is left."""
    ours, theirs = socket.socketpair()
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # it never hears Ctrl+C, not even at first
    try:
        yield ours, theirs
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


class Child:
    """A process that runs `serve(channel, *arguments)` of a module; `known` are the messages it may send.

    `group` lets it lead a process group, so that whatever it starts is ended with it; `session` a session of its own.
    `keep_errors` keeps what it writes on its standard error (`last_words`). `descriptors` stay open in it, under the
    same numbers.
    """

    def __init__(
        self, module: str, known: Mapping[str, Any], *arguments: object, group: bool = False, session: bool = False,
        keep_errors: bool = False, more: Mapping[str, str] | None = None, descriptors: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self._errors = tempfile.TemporaryFile() if keep_errors else None  # noqa: SIM115  closed when it ends
        self.errors = ""
        """The end of what it wrote on its standard error, once it has ended, where that was kept."""
        self._leads = group or session
        with _ends() as (ours, theirs):
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, module, str(theirs.fileno()), *map(str, arguments)],
                stdin=subprocess.DEVNULL, stderr=self._errors, pass_fds=[theirs.fileno(), *descriptors],
                env={**environment(), **(more or {})}, process_group=0 if group else None, start_new_session=session,
            )  # fmt: skip
        self.channel = Channel(ours, known)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def last_words(self) -> str:
        """The last line of those errors."""
        return " ".join(self.errors.rpartition("\n")[2].split())[:300]

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.poll() is None

    def kill(self) -> None:
        """End it now, with its group where it leads one; not once it was waited for, as its number may be another's."""
        if self.process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                (os.killpg if self._leads else os.kill)(self.pid, signal.SIGKILL)

    def end(self, patience: float = 0.0) -> int:
        """Hang up, give it so many seconds to leave, end it; its status."""
        self.channel.close()
        if patience and self.alive:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        self.kill()
        status = self.process.wait()
        if self._errors is not None:
            with self._errors as file:
                file.seek(max(file.seek(0, os.SEEK_END) - 4000, 0))
                self._errors, self.errors = None, file.read().decode(errors="replace").strip()
        return status

    def end_measured(self) -> Any:
        """Wait until it leaves by itself, and tell what it used: the resources as `wait4` has them."""
        _, status, usage = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.channel.close()
        return usage


class ForkedChild:
    """A process that runs `serve(channel, *arguments)` of a module as a `Child` does, but as a fork of this one.

    No interpreter is started, and what is loaded here is loaded there. For programs with a single thread.
    """

    def __init__(self, module: str, known: Mapping[str, Any], *arguments: object) -> None:
        with _ends() as (ours, theirs):
            self.pid = os.fork()
            if self.pid == 0:
                ours.close()
                live(module, theirs, list(map(str, arguments)), _path())
        self.channel = Channel(ours, known)
        self._waited = False

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        if not self._waited:
            self._waited = os.waitpid(self.pid, os.WNOHANG)[0] != 0
        return not self._waited

    def kill(self) -> None:
        """End it now; not once it was waited for, as its number may be another's."""
        if not self._waited:
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Hang up and end it."""
        self.channel.close()
        self.kill()
        if not self._waited:
            os.waitpid(self.pid, 0)
            self._waited = True


def status_name(status: int) -> str:
    """How a process ended: its signal's name, or its status."""
    return signal.Signals(-status).name if status < 0 else f"status {status}"


class Fork:
    """A copy of this process that runs `serve(channel)`; it has everything loaded that we have.

    `unwanted` are descriptors of ours that it must not keep open.
    """

    def __init__(
        self,
        serve: Callable[[Channel], None],
        known: Mapping[str, Any],
        back: Mapping[str, Any],
        unwanted: Sequence[int],
    ) -> None:
        ours, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of native libraries, which have fork handlers
            self.pid = os.fork()
        if self.pid == 0:
            try:
                for descriptor in (ours.fileno(), *unwanted):
                    os.close(descriptor)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                serve(Channel(theirs, back))
            finally:
                os._exit(0)
        theirs.close()
        self.channel = Channel(ours, known)

    def end(self) -> None:
        """Hang up and end it."""
        self.channel.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
