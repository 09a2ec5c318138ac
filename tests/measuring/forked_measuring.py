"""Processes that measure, for tests that are not about their times: forks of one that has loaded what they need.

A fresh interpreter has to load all of that first, and the compiler as well where nothing is in the cache, which takes
longer than a short run. What is timed in earnest has one of its own: most of tests/profiler, and whatever calls the
command line in a process, have the real ones.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from compiler.cache import producer, producer_versions
from compiler.language.library import default_library
from compiler.processes.child import live
from compiler.processes.frames import Channel
from compiler.processes.known_types import readable
from compiler.processes.nursery import Nursery
from compiler.processes.supervisor import Child, _ends, _path
from compiler.targets import get_target
from profiler.measure.cpu import answering, measuring

MODULES = (
    "compiler.loading", "compiler.pipeline", "compiler.program.execution", "compiler.passes.graph.run",
    "compiler.passes.fusion.run", "compiler.passes.kernel.run", "compiler.backend.emission", "compiler.backend.jit",
    "profiler.analysis.memory", "profiler.measure.counters", "profiler.measure.cpu.native",
    "profiler.measure.cpu.pinning", "profiler.measure.cpu.sampling", "profiler.measure.cpu.timing",
    "profiler.measure.machine", "profiler.measure.tree_memory", "profiler.model_records", "compiler.targets.nvptx",
    "compiler.targets.amdgpu", "llvmlite.binding", "platformdirs.unix", "psutil",
)  # fmt: skip

SAMPLED = 0.5  # seconds: a thousand samples tell where a test is to look

# In the nursery

LATER = ()
KNOWN = answering.KNOWN


def prepare() -> None:
    """Load what they need, and look once for all of them at the machine, at our own files and at what is asked."""
    for name in MODULES:
        import_module(name)
    import_module("profiler.measure.cpu.sampling").SECONDS = SAMPLED
    get_target("cpu")
    producer()
    producer_versions()
    default_library()
    for kind in KNOWN.values():
        readable(kind)


def serve(channel: Channel, page: str, errors: str) -> None:
    """Measure; the page and the file for what is written on the standard error are those of whoever asked."""
    os.dup2(os.open(errors, os.O_WRONLY | os.O_APPEND), 2)
    answering.serve(channel, str(os.open(page, os.O_RDWR)))
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(0)  # an interpreter that ends touches all that it shares with the others, which copies it


# Of those who ask

_nursery = Nursery(__name__)


class _Measuring:
    """What `measure_once` knows of a child, but for how there comes to be one."""

    channel: Channel

    def __init__(
        self, module: str, known: Mapping[str, Any], page: int, *, keep_errors: bool, descriptors: Sequence[int]
    ) -> None:
        assert module == "profiler.measure.cpu.child" and keep_errors and list(descriptors) == [page]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when it ends
        self.last_words = ""
        self._begin(known, page)

    def _begin(self, known: Mapping[str, Any], page: int) -> None:
        raise NotImplementedError

    def _ended(self, patience: float) -> int:
        raise NotImplementedError

    def end(self, patience: float = 0.0) -> int:
        """Hang up, give it so many seconds to leave, end it; its status."""
        status = self._ended(patience)
        with self._errors as file:
            file.seek(0)
            self.last_words = " ".join(file.read().decode(errors="replace").strip().rpartition("\n")[2].split())[:300]
        return status


class BornToMeasure(_Measuring):
    """A child of a nursery, for a process with threads."""

    def _begin(self, known: Mapping[str, Any], page: int) -> None:
        ours = f"/proc/{os.getpid()}/fd"
        self._born = _nursery.child(known, f"{ours}/{page}", f"{ours}/{self._errors.fileno()}")
        self.channel = self._born.channel

    def _ended(self, patience: float) -> int:
        return self._born.end(patience)


class ForkToMeasure(_Measuring):
    """A fork of this process, for one without other threads."""

    def _begin(self, known: Mapping[str, Any], page: int) -> None:
        with _ends() as (ours, theirs):
            self._pid = os.fork()
            if self._pid == 0:
                os.dup2(self._errors.fileno(), 2)
                _close_all_but(theirs.fileno(), page)
                live(answering.__name__, theirs, [str(page)], _path())
        self.channel = Channel(ours, known)

    def _ended(self, patience: float) -> int:
        self.channel.close()
        watched = os.pidfd_open(self._pid)
        if not select.select([watched], [], [], patience)[0]:
            os.kill(self._pid, signal.SIGKILL)
        os.close(watched)
        return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):
        if (descriptor := int(name)) > 2 and descriptor not in kept:
            with suppress(OSError):  # that of the list itself
                os.close(descriptor)


def measure_in_forks() -> None:
    """For another process, as a worker of a cluster is: runs that it is asked for are measured in forks."""
    measuring.Child = BornToMeasure


def measure_afresh() -> None:
    """And again in processes of their own."""
    measuring.Child = Child
