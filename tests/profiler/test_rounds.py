"""Two processes that take turns block by block: nobody times beside the other, and a machine that changes its speed
changes it for both."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import profiled_graphs as graphs
import pytest

from compiler.errors import ExecutionError
from profiler.analysis.undisturbed import Times
from profiler.analysis.verdicts import CANNOT_TELL, SAME, SLOWER, compare_times
from profiler.measure.in_turns import Contender, run_in_turns
from profiler.measure.measuring import measure_once
from profiler.measure.outcome import Outcome
from profiler.measure.rounds import ROUNDS, measured_by_rounds
from profiler.records import FINISHED, MeasuredRun, MeasureRequest
from profiler.store import open_store, queries

pytestmark = pytest.mark.usefixtures("measured_in_forks")


class Sides:
    """Sides that note when they time: (side, beginning, end)."""

    def __init__(self, block: float = 0.001) -> None:
        self.block = block
        self.timed: list[tuple[int, float, float]] = []

    def side(self, number: int, clean: int = 100, fails_after: int | None = None, prepares: float = 0.0):
        def measured(turn, cancelled) -> Outcome:
            time.sleep(prepares)
            blocks = 0
            while turn(clean * blocks):
                begun = time.perf_counter()
                if blocks == fails_after:
                    raise ExecutionError("it crashed")
                time.sleep(self.block)
                self.timed.append((number, begun, time.perf_counter()))
                blocks += 1
            return Outcome(MeasuredRun(FINISHED, error=str(number)))

        return measured


def test_each_times_once_a_round_and_never_beside_the_other():
    sides = Sides()
    found = measured_by_rounds([sides.side(0), sides.side(1, prepares=0.05)], 10.0, 1)
    assert [outcome.result.error for outcome in found] == ["0", "1"]
    assert len(sides.timed) == 2 * ROUNDS
    ordered = sorted(sides.timed, key=lambda each: each[1])
    assert all(before[2] <= after[1] for before, after in itertools.pairwise(ordered))
    rounds = [tuple(side for side, *_ in ordered[at : at + 2]) for at in range(0, len(ordered), 2)]
    assert all(sorted(each) == [0, 1] for each in rounds) and len(set(rounds)) == 2, "the order is drawn"


def test_the_budget_ends_rounds_that_take_long_and_undisturbed_calls_are_waited_for():
    slow, lonely = Sides(0.05), Sides(0.02)
    measured_by_rounds([slow.side(0), slow.side(1)], 0.01, 0)
    assert len(slow.timed) == 2 * 3
    measured_by_rounds([lonely.side(0, clean=0), lonely.side(1)], 0.01, 0)
    assert len(lonely.timed) > 2 * ROUNDS


@pytest.mark.parametrize("after", [0, 2])
def test_a_side_that_fails_does_not_keep_the_other_waiting(after):
    sides, begun, threads = Sides(), time.monotonic(), threading.active_count()
    with pytest.raises(ExecutionError, match="it crashed"):
        measured_by_rounds([sides.side(0), sides.side(1, fails_after=after)], 10.0, 0)
    assert time.monotonic() - begun < 5 and threading.active_count() <= threads


def test_rounds_that_nobody_wants_any_more_end():
    sides = Sides(0.05)
    begun = time.monotonic()
    measured_by_rounds([sides.side(0), sides.side(1)], 100.0, 0, lambda: time.monotonic() - begun > 0.3)
    assert time.monotonic() - begun < 2


def test_processes_of_a_pair_time_equally_many_blocks(tmp_path):
    with open_store(tmp_path / "t.db") as store:
        arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
        contender = Contender(MeasureRequest("two", budget=0.4), graphs.two_kernels(), arrays)
        runs = run_in_turns(store, (contender, contender), 2)
        first, second = (queries.run_row(store, run)["conditions"] for run in runs)
    assert first["turns"] == second["turns"] and first["turns"]["rounds"] is True
    assert first["processes"] == second["processes"] and min(first["processes"]) >= 3


def taken(rng: np.random.Generator, speeds: list[np.ndarray], slower: float) -> Times:
    """Ten calls a block at each block's speed."""
    values = [speed * slower * rng.normal(1e6, 5e3, 10) for process in speeds for speed in process]
    blocks, processes = (10,) * len(values), tuple(len(process) for process in speeds)
    return Times(np.concatenate(values), blocks, processes, np.zeros(10 * len(values)))


@pytest.mark.parametrize(("slower", "expected"), [(1.0, SAME), (1.03, SLOWER)])
def test_a_machine_that_is_fast_for_a_while_and_slow_for_a_while(slower, expected):
    """It takes one and a half times as long in half of the rounds, and in a tenth of them for one side alone: where the
    middle of a process lies is chance, that of the rounds is not."""
    rng = np.random.default_rng(5)
    found: Counter[str] = Counter()
    for _ in range(20):
        shared = [_stretches(rng) for _ in range(8)]
        own = [np.where(rng.random(ROUNDS) < 0.2, _stretches(rng), speeds) for speeds in shared]
        found[compare_times(taken(rng, shared, 1.0), taken(rng, own, slower), turns=True, rounds=True).verdict] += 1
    assert found == {expected: 20}


def _stretches(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(ROUNDS) < 0.5, 1.0, 1.5)


def test_processes_one_after_the_other_cannot_be_told_apart_on_such_a_machine():
    rng = np.random.default_rng(6)
    one, two = ([_stretches(rng) for _ in range(8)] for _ in range(2))
    assert compare_times(taken(rng, one, 1.0), taken(rng, two, 1.0), turns=True).verdict == CANNOT_TELL


def test_a_side_that_fails_before_its_first_turn_is_the_one_that_is_named(tmp_path):
    arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    fine = Contender(MeasureRequest("two", budget=0.4), graphs.two_kernels(), arrays)
    broken = replace(fine, arrays=arrays[:1])
    for sides, name in (((fine, broken), "the second"), ((broken, fine), "the first")):
        with open_store(tmp_path / "t.db") as store, pytest.raises(ExecutionError, match=f"{name} run failed: "):
            run_in_turns(store, sides, 1)


def test_time_that_others_have_does_not_count(tmp_path):
    """A limit of three seconds, of which each side waits for more: the other takes that long to begin."""
    arrays = [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    fine = Contender(MeasureRequest("two", budget=0.2, time_limit=3.0), graphs.two_kernels(), arrays)

    def late(*given, turn, **options):
        def slow_turn(clean: int) -> bool:
            time.sleep(0 if clean else 3.5)
            return turn(clean)

        return measure_once(*given, turn=slow_turn, **options)

    with open_store(tmp_path / "t.db") as store:
        runs = run_in_turns(store, (fine, replace(fine, measure_once=late)), 1)
        assert [queries.run_row(store, run)["status"] for run in runs] == [FINISHED] * 2
