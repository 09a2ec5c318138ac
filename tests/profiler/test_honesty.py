"""The verdicts on real runs in new processes: hardly ever wrong about a run and itself, and 3 % slower is found.

These take minutes, and other programs may run meanwhile: verdicts have to hold then too.
"""

import argparse
import importlib.util
import itertools
import sys
from pathlib import Path

import profiled_graphs as graphs
import pytest
from recorded_runs import run_and_record

from profiler.analysis.compare import compare_runs
from profiler.analysis.verdicts import SAME, SLOWER
from profiler.measure.ceilings.cpu_probes import LIBRARY
from profiler.measure.in_turns import Contender, run_in_turns
from profiler.records import FINISHED, MeasureRequest


def _benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("kg_benchmark_verdicts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def request(**more):
    return MeasureRequest("known", threads=1, libraries=(str(LIBRARY),), count=False, **more)


def judged(comparison):
    """The verdict on the kernel of known cost, and those on the others."""
    (known,) = [k for k in comparison.kernels if "multiply_rounds" in k.names[0][0]]
    return known.verdicts[1], [k.verdicts[1].verdict for k in comparison.kernels if k is not known]


@pytest.mark.slow
@pytest.mark.parametrize("processes", [5])
def test_a_run_compared_with_itself_100_times_in_new_processes_shows_no_difference(store, processes):
    module = _benchmark()
    graph, arrays = graphs.two_kernels(), [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    runs = module.runs_of(
        store, MeasureRequest("two", budget=1.0, processes=processes, count=False), graph, arrays, 101
    )
    tally = module.compared(store, itertools.pairwise(runs), print)
    print({name: f"{tally.same(name)} of {tally.comparisons}" for name in tally.called})
    assert tally.comparisons == 100 and len(tally.called) == 3
    assert all(tally.same(name) >= 95 for name in tally.called) and tally.unlikely <= 5


@pytest.mark.slow
def test_a_kernel_made_3_percent_slower_is_found_across_processes(store):
    runs = []
    for rounds in (20_000, 20_600):
        run, outcome = run_and_record(store, request(processes=5, budget=3.0), *graphs.known_cost(rounds))
        assert outcome.result.status == FINISHED
        runs.append(run)
    verdict, others = judged(compare_runs(store, runs))
    print(verdict)
    assert verdict.verdict == SLOWER and verdict.ratio == pytest.approx(1.03, abs=0.01)
    assert set(others) == {SAME}


@pytest.mark.slow
def test_a_kernel_made_3_percent_slower_is_found_in_turns(store):
    sides = [Contender(request(budget=3.0), *graphs.known_cost(rounds)) for rounds in (20_000, 20_600)]
    runs = run_in_turns(store, (sides[0], sides[1]))
    comparison = compare_runs(store, runs)
    assert "in turns" in comparison.test
    verdict, others = judged(comparison)
    print(verdict)
    assert verdict.verdict == SLOWER and verdict.ratio == pytest.approx(1.03, abs=0.01)
    assert set(others) == {SAME}


@pytest.mark.slow
def test_beside_busy_programs_verdicts_are_right_or_say_that_they_cannot_tell(store):
    module = _benchmark()
    options = argparse.Namespace(source=module.KNOWN, dim=[], threads=None, processes=5, budget=0.3)
    with module.busy_loops(2):
        module.make_runs(store, (module.contender(options, 1.0), module.contender(options, 1.5)), 9)
    same, changed = module.scores(store, 1.5, print)
    print(same, changed, sep="\n")
    assert same.pairs == 7 and changed.pairs == 8
    assert same.wrong == changed.wrong == 0 and changed.right >= 7 and same.covered + changed.covered >= 14
