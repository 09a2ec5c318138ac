"""Two runs made in turns: one session, one fate."""

import profiled_graphs as graphs
import pytest

from profiler.analysis.compare import compare_runs
from profiler.measure.ceilings.cpu_probes import LIBRARY
from profiler.measure.in_turns import Contender, run_in_turns
from profiler.records import FINISHED, MeasureRequest
from profiler.store import queries

pytestmark = pytest.mark.usefixtures("measured_in_forks")


def request(budget):
    return MeasureRequest("known", threads=1, libraries=(str(LIBRARY),), count=False, budget=budget)


def test_runs_made_in_turns_are_two_runs_of_one_session(store):
    side = Contender(request(0.2), *graphs.known_cost(200))
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
    good = Contender(request(0.1), *graphs.known_cost(200))
    bad = Contender(
        MeasureRequest("bad", libraries=(str(tmp_path),), budget=0.1), graphs.custom("crash"),
        [graphs.array(64, 64)],
    )  # fmt: skip
    with pytest.raises(Exception, match="the second run failed: it crashed with SIG"):
        run_in_turns(store, (good, bad))
    assert [queries.run_row(store, run)["status"] for run in (1, 2)] == ["failed", "failed"]
