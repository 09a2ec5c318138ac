"""Hardware counters without a GPU: what is counted on which chip, how launches add up, what is said without them."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from compiler.errors import UnavailableError
from profiler.counted import KINDS, CountedLaunch, counted_at, total
from profiler.measure.cuda import cupti, range_counters
from profiler.measure.cuda.range_counters import RangeCounters, Schedule

ROOT = Path(__file__).parents[2]
TRY = "from profiler.measure.cuda.range_counters import Schedule; Schedule('GH100').close()"


@pytest.fixture(scope="module")
def library():
    """A libcupti that answers. Some call themselves without end where there is no driver, and take their process along:
    another one tries it."""
    try:
        cupti.library("counters")
    except UnavailableError as missing:
        pytest.skip(str(missing))
    if subprocess.run([sys.executable, "-c", TRY], cwd=ROOT, capture_output=True).returncode == -signal.SIGSEGV:
        pytest.skip("this libcupti crashes where there is no driver")


@pytest.fixture
def chips(library):
    """Makes schedules: they need no device."""
    made = []

    def make(chip):
        made.append(Schedule(chip))
        return made[-1]

    yield make
    for schedule in made:
        schedule.close()


@pytest.mark.parametrize("chip", ["GV100", "TU102", "GA100", "AD102", "GH100", "GB100", "GB202"])
def test_every_counter_is_had_in_few_passes(chips, chip):
    schedule = chips(chip)
    assert set(schedule.metrics) == {kind.field for kind in KINDS}
    assert 1 <= schedule.passes <= 2


def test_a_chip_whose_memory_is_the_hosts_has_the_other_counters(chips):
    assert set(chips("GA10B").metrics) == {kind.field for kind in KINDS} - {"dram_read", "dram_written"}


def test_an_unknown_chip_is_an_error_in_one_line(chips):
    with pytest.raises(UnavailableError, match="there are no counters: "):
        chips("XX999")


def test_a_machine_without_cupti_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr(cupti, "_places", lambda: [])
    cupti.library.cache_clear()
    with pytest.raises(UnavailableError, match="there are no counters: libcupti is not on this machine"):
        RangeCounters(0, 0)


class _One(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)]


def answering(status, monkeypatch):
    """A library whose every function gives this status, and which has no range profiler."""

    class Old:
        def __getattr__(self, name):
            if name.startswith("cuptiRange"):
                raise AttributeError(name)
            return lambda _: status

    monkeypatch.setattr(cupti, "library", lambda _: Old())


def test_a_driver_that_forbids_counters_is_told_how_to_allow_them(monkeypatch):
    answering(35, monkeypatch)
    with pytest.raises(UnavailableError, match="run as root, or load the driver with NVreg_RestrictProfiling"):
        RangeCounters(0, 0)


def test_a_library_without_the_range_profiler_says_which_has_it(monkeypatch):
    answering(0, monkeypatch)
    with pytest.raises(UnavailableError, match=r"has no cuptiRangeProfilerEnable; one of CUDA 12\.6 or newer does"):
        cupti.ask("cuptiRangeProfilerEnable", _One(), what="counters")


def test_launches_of_a_kernel_add_up_and_shares_are_means():
    found = (
        CountedLaunch(0, "a", 100.0, 20.0, 0.5, 0.25, 0.0, 0.5, 3.0),
        CountedLaunch(1, "b", 7.0, 7.0),
        CountedLaunch(2, "a", 300.0, 80.0, 0.7, 0.75, 0.0, 0.1, 1.0),
    )
    both = total(found, "a")
    assert both is not None
    assert (both.dram_read, both.dram_written, both.dram_bytes, both.bank_conflicts) == (400.0, 100.0, 500.0, 4.0)
    assert (both.l2_hits, both.occupancy) == (pytest.approx(0.6), 0.5)
    assert counted_at(found)(1) is found[1] and counted_at(found)(3) is None
    assert total(found, "b").l2_hits is None and total((), None) is None
    assert CountedLaunch(0, "a", 1.0).dram_bytes is None


def test_every_pass_begins_with_the_caches_as_timed_calls_find_them(monkeypatch):
    """Whatever comes before a pass is neither counted nor forgotten."""
    done: list[str] = []

    def call(function, /, **_):
        done.append(function.removeprefix("cuptiRangeProfiler"))
        return SimpleNamespace(all=done.count("Stop") == 2, dropped=0)

    monkeypatch.setattr(range_counters, "_call", call)
    counters = RangeCounters.__new__(RangeCounters)
    counters._ranges, counters._schedule = 1, object()
    monkeypatch.setattr(RangeCounters, "_configured", lambda *_: None)
    monkeypatch.setattr(RangeCounters, "_read", lambda *_: [{}])
    launches = [lambda: done.append("launch")]
    found = counters.count(launches, synchronize=lambda: done.append("wait"), before=lambda: done.append("before"))
    once = ["before", "Start", "PushRange", "launch", "wait", "PopRange", "Stop"]
    assert done == [*once, *once, "DecodeData"] and found == [{}]
