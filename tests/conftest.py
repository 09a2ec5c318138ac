"""What every test gets: caches and databases of its own, never the user's, in memory; how many examples Hypothesis
tries."""

from __future__ import annotations

import atexit
import builtins
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A script's background has Ctrl+C turned off, and programs leave it so; those under test are to hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

sys.path.append(str(Path(__file__).parent / "measuring"))  # children of tests find it on their path as well

FULL = "full"
RARELY = 50_000  # new objects between two looks for rubbish: IR is made of thousands of small ones that stay
QUICK_PART = 3  # of this many examples that a test asks for, one is tried, unless with --hypothesis-profile=full
FEWEST = 20
IN_MEMORY = "/dev/shm"  # a file system without a disk, where Linux has one
TEMPORARY = "PYTEST_DEBUG_TEMPROOT"  # pytest's own name for the place of its temporary folders
ENOUGH_MEMORY = 8 << 30  # several times what a whole run leaves there until it ends

# NumPy's OpenBLAS starts a thread for every core as it is loaded, which looks for work for a while before it sleeps: a
# sixth of the processor time in which a process that measures starts, and these tests start hundreds of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

IMPORT = builtins.__import__  # as Python has it: Qt, once it is loaded, puts one of its own in its place

gc.disable()  # until everything is collected: nothing that importing makes becomes rubbish


def _has_memory() -> bool:
    return (
        os.path.ismount(IN_MEMORY)
        and psutil.virtual_memory().available >= ENOUGH_MEMORY
        and (psutil.disk_usage(IN_MEMORY).free >= ENOUGH_MEMORY)
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Databases wait for the disk at every commit, and taking a folder away may take a disk milliseconds."""
    if TEMPORARY not in os.environ and _has_memory():
        os.environ[TEMPORARY] = IN_MEMORY
    if config.getoption("--hypothesis-profile", None) == FULL:
        from hypothesis import settings

        settings.register_profile(FULL, settings.get_profile("default"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Qt reads the source of each module that is imported, for switches that nobody here turns, and makes an import in
    a function take five times as long: PyTorch does a million of them for the models of these tests."""
    builtins.__import__ = IMPORT


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fewer examples in the quick set; those of `@example` are always tried, and slow tests try all."""
    if config.getoption("--hypothesis-profile", None) is not None:
        return
    from hypothesis import is_hypothesis_test, settings

    scaled = set()
    for item in items:
        test = getattr(item, "function", None)
        if test is None or test in scaled or not is_hypothesis_test(test) or item.get_closest_marker("slow"):
            continue
        own = getattr(test, "_hypothesis_internal_use_settings", None) or settings()
        fewer = min(own.max_examples, max(own.max_examples // QUICK_PART, FEWEST))
        test._hypothesis_internal_use_settings = settings(own, max_examples=fewer)
        scaled.add(test)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Thousands of tests stay to the end: no look for rubbish need walk through them."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(RARELY, *gc.get_threshold()[1:])


_sessions: list[pytest.Session] = []


def pytest_sessionfinish(session: pytest.Session) -> None:
    _sessions.append(session)


@atexit.register  # before any of those of the program, and so called after them
def _end_as_the_program_does() -> None:
    """Without taking a window apart (`app/cli/interrupts.py`): Python and Qt do it in no order, and crash after every
    test has passed. Processes of tests that run side by side end with the one that started them."""
    if _sessions and "PySide6.QtWidgets" in sys.modules and "PYTEST_XDIST_WORKER" not in os.environ:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(int(_sessions[-1].exitstatus))


@pytest.fixture(autouse=True, scope="session")
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each process of a test run has its own database; what one of them compiled is in the cache for all."""
    folder = tmp_path_factory.mktemp("kernelglass")
    together = tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_CACHE", str(together / "cache"))
        patch.setenv("KERNELGLASS_DB", str(folder / "traces.db"))
        patch.setenv("XDG_DATA_HOME", str(together / "data"))  # where the key of the cache is kept
        yield


@pytest.fixture(scope="module")
def measured_in_forks() -> Iterator[None]:
    """Runs of this process are measured by processes that have loaded what they need as they begin."""
    with pytest.MonkeyPatch.context() as patch:
        if sys.platform == "linux":
            from forked_measuring import BornToMeasure

            patch.setattr("profiler.measure.cpu.measuring.Child", BornToMeasure)
        yield
