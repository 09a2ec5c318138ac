"""The verdicts on real runs in new processes: hardly ever wrong about a run and itself, and 3 % slower is found.

These take minutes, and other programs may run meanwhile: verdicts have to hold then too.
"""

import argparse
import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import profiled_graphs as graphs
import pytest
from recorded_runs import run_and_record

from compiler import Graph, TensorType, ops
from compiler.targets import get_target
from profiler.analysis.compare import compare_runs
from profiler.analysis.verdicts import SAME, SLOWER
from profiler.measure.ceilings.cpu_probes import LIBRARY
from profiler.measure.in_turns import Contender, run_in_turns
from profiler.records import FINISHED, MeasureRequest
from profiler.store import queries


def _benchmark():
    path = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("kg_benchmark_verdicts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def known_cost(rounds):
    """Three kernels: a softmax, `rounds` dependent multiply-adds of known cost, a sum."""
    lanes = get_target("cpu").simd_bytes // 4
    graph = Graph("known", inputs=[TensorType("f32", (64, 64)), TensorType("f32", (3 * lanes,))])
    with graph:
        x, y = graph.inputs
        result = TensorType("f32", (lanes,))
        chain = ops.custom("kg.multiply_rounds", [y], result, rounds=rounds, chains=1)
        graph.output(ops.softmax(x, axis=1), chain, ops.sum(x, axis=0))
    return graph, [graphs.array(64, 64), np.full(3 * lanes, 1 / 128, np.float32)]


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
        run, outcome = run_and_record(store, request(processes=5, budget=3.0), *known_cost(rounds))
        assert outcome.result.status == FINISHED
        runs.append(run)
    verdict, others = judged(compare_runs(store, runs))
    print(verdict)
    assert verdict.verdict == SLOWER and verdict.ratio == pytest.approx(1.03, abs=0.01)
    assert set(others) == {SAME}


@pytest.mark.slow
def test_a_kernel_made_3_percent_slower_is_found_in_turns(store):
    sides = [Contender(request(budget=3.0), *known_cost(rounds)) for rounds in (20_000, 20_600)]
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


def test_runs_made_in_turns_are_two_runs_of_one_session(store):
    side = Contender(request(budget=0.2), *known_cost(200))
    a, b = run_in_turns(store, (side, side))
    rows = [queries.run_row(store, run) for run in (a, b)]
    assert [row["status"] for row in rows] == [FINISHED] * 2
    turns = [row["conditions"]["turns"] for row in rows]
    assert turns[0] == turns[1] and len(turns[0]["first"]) == 8 == len(rows[0]["conditions"]["processes"])
    found = compare_runs(store, [a, b])
    assert found.differences == () or [d.what for d in found.differences] == ["kernels taken from the cache"]
    assert found.verdicts[1].method == "turns" and "sign-flip" in found.test


def test_a_side_that_fails_fails_both_runs(store, tmp_path):
    (tmp_path / "bad.py").write_text(graphs.KERNELS)
    good = Contender(request(budget=0.1), *known_cost(200))
    bad = Contender(
        MeasureRequest("bad", libraries=(str(tmp_path),), budget=0.1), graphs.custom("crash"),
        [graphs.array(64, 64)],
    )  # fmt: skip
    with pytest.raises(Exception, match="the second run failed: it crashed with SIG"):
        run_in_turns(store, (good, bad))
    assert [queries.run_row(store, run)["status"] for run in (1, 2)] == ["failed", "failed"]
