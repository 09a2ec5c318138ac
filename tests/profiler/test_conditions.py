"""What a run is timed under, and that it says so: niceness, processors, and the coverage its interval really has."""

import os

import numpy as np
import profiled_graphs as graphs
import pytest

from profiler.analysis.statistics import summarise
from profiler.measure.cpu.native import lost_time
from profiler.measure.cpu.pinning import places_for, scheduling, spread_out
from profiler.measure.measuring import measure
from profiler.records import FINISHED, MeasureRequest


def measured(**more):
    arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    outcome = measure(MeasureRequest("two", budget=0.05, count=False, **more), graphs.two_kernels(), arrays)
    assert outcome.result.status == FINISHED
    return outcome.result


@pytest.mark.parametrize(
    "threads, pin, places",
    [(2, None, (0, 1)), (1, None, ()), (1, True, (0,)), (2, False, ()), (3, None, ()), (3, True, ())],
)
def test_threads_get_a_processor_each_where_there_is_one_for_each(threads, pin, places, monkeypatch):
    monkeypatch.setattr("profiler.measure.cpu.pinning._TOPOLOGY", "/nowhere/{}")
    assert places_for(threads, (0, 1), pin) == places


def test_cores_are_filled_before_processors_that_share_one(tmp_path, monkeypatch):
    for cpu, siblings in enumerate(("0,1", "0,1", "2,3", "2,3")):
        (tmp_path / str(cpu)).write_text(siblings)
    monkeypatch.setattr("profiler.measure.cpu.pinning._TOPOLOGY", str(tmp_path / "{}"))
    assert spread_out((0, 1, 2, 3)) == [0, 2, 1, 3]


def test_a_run_says_how_it_was_scheduled():
    usable = sorted(os.sched_getaffinity(0))
    result = measured(threads=1, pin=True)
    assert result.conditions["nice"] == scheduling()["nice"] == os.getpriority(os.PRIO_PROCESS, 0)
    assert result.conditions["affinity"] == usable and result.conditions["pinned"] == spread_out(usable)[:1]
    assert measured(threads=1).conditions["pinned"] == []
    assert sorted(os.sched_getaffinity(0)) == usable


def test_an_interval_says_the_coverage_it_has():
    assert summarise([1, 2, 3]).coverage == 0.75 and summarise([1, 2]).coverage == 0.5
    assert summarise(list(range(1, 30))).coverage == 0.95
    rng = np.random.default_rng(1)
    held = sum((s := summarise(rng.integers(1, 1000, 3))).low <= 500e-9 <= s.high for _ in range(2000))
    assert held / 2000 == pytest.approx(0.75, abs=0.03)


def test_what_threads_on_one_processor_lost_is_put_down_to_every_call():
    spans = np.array([100, 100, 100, 100])
    clocks = np.array([[[0, 0], [0, 0]], [[400, 200], [400, 200]]])  # of two threads only one ran at a time
    assert lost_time(spans, clocks, 4).tolist() == [100, 100, 100, 100]
    spans = np.array([100, 100, 3100, 100])
    clocks = np.array([[[0, 0], [0, 0]], [[3400, 400], [3400, 3400]]])  # one thread was interrupted for 3000
    assert lost_time(spans, clocks, 4).tolist() == [0, 0, 3000, 0]
