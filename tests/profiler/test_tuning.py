"""Tuning: what is measurably faster is found and kept, what is wrong is dropped, what is stale is not used."""

import random
from dataclasses import replace

import numpy as np
import pytest

from compiler import Graph, TensorType, load_library, ops
from compiler.options import CompileOptions, Tuned
from compiler.pipeline import compile_graph
from profiler.analysis.verdicts import FASTER, Verdict
from profiler.measure.machine import this_machine
from profiler.records import MeasureRequest, request_from_json, request_to_json
from profiler.store import open_store
from profiler.store.importing import import_runs
from profiler.store.tuned import forget_tuned, tuned_rows
from profiler.tuning.candidates import Variations, tunables
from profiler.tuning.kept import keep_row, tuned_for
from profiler.tuning.records import Row, Subject
from profiler.tuning.search import Tuning

pytestmark = pytest.mark.usefixtures("measured_in_forks")

KERNEL = """
from kernels.language import *
from kernels.parallel import split


@kernel("magnitude")
def magnitude(out: FusedOutput, x: FusedInput):
    times = choice("times", 400, (CANDIDATES,))
    begin, end = split(out.shape[0])
    for i in range(begin, end):
        v = abs(x[i])
        if times < 0:
            v = v + f32(1)
        if times == 13:
            error("thirteen is not built")
        for _ in range(times):
            v = sqrt(v * v)
        out[i] = v
"""
SIZE = 2048


def subject(folder, candidates):
    folder.mkdir(exist_ok=True)
    (folder / "magnitude.py").write_text(KERNEL.replace("CANDIDATES", candidates))
    with Graph("magnitude", inputs=[TensorType("f32", (SIZE,))]) as graph:
        graph.output(ops.custom("magnitude", [graph.inputs[0]], [TensorType("f32", (SIZE,))]))
    request = MeasureRequest("magnitude", threads=1, options=CompileOptions(), libraries=(str(folder),))
    arrays = [np.random.default_rng(0).normal(size=SIZE).astype(np.float32)]
    return Subject(request, graph, arrays, 1e-4, load_library(folder))


def tuning(what, budget=600.0, **more):
    return Tuning(what, budget, draw=random.Random(1), seconds=0.02, **more)


@pytest.fixture
def proved(tmp_path):
    """A kernel for which something faster was found, as tuning leaves it."""
    what = subject(tmp_path / "kernels", "0, -1, 13")
    model = compile_graph(what.graph, CompileOptions(), what.library)
    (tunable,) = tunables(model)
    best = (("times", 0),)
    verdict = Verdict(0.1, 0.09, 0.12, 0.001, FASTER, True)
    return what, Row(tunable, FASTER, best, verdict, 1, (), Variations(model).definitions(tunable, best))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    """A real one: one candidate does nearly none of the work, one is wrong, one cannot be built."""
    what = subject(tmp_path_factory.mktemp("tuned") / "kernels", "0, -1, 13")
    made = tuning(what)
    states = list(made.run())
    return what, made, states


@pytest.mark.slow
def test_the_faster_candidate_is_found_with_its_ratio(tuned):
    _, made, states = tuned
    (row,) = made.state.rows
    assert row.faster and row.best == (("times", 0),) and row.verdict.verdict == FASTER
    assert row.verdict.low <= row.verdict.ratio <= row.verdict.high < 0.5
    assert row.tunable.defaults == (("times", 400),)
    assert states[-1].words == "done"
    assert any(state.words.startswith("proving magnitude_kernel: pair 1 of 8") for state in states)


@pytest.mark.slow
def test_a_wrong_candidate_is_dropped_and_said(tuned):
    (row,) = tuned[1].state.rows
    told = "\n".join(row.dropped)
    assert "times -1: its results are wrong: relative error" in told
    assert "times 13: thirteen is not built" in told


def test_a_compilation_uses_what_was_kept_here_and_nothing_that_is_stale(proved, tmp_path):
    what, row = proved
    path = tmp_path / "traces.db"
    with open_store(path) as store:
        keep_row(store, what.request, row)
        (kept,) = tuned_rows(store, this_machine().fingerprint, "cpu")
        assert (kept.kernel, kept.choices, kept.defaults) == ("magnitude_kernel", row.best, row.tunable.defaults)
        assert tuned_rows(store, "another machine") == tuned_rows(store, target="sm_90a") == []

    def found(library=what.library, device=None, target="cpu"):
        return tuned_for(path, device, target, lambda: library)

    assert found() == found(device="cpu") != ()
    assert found(target="sm_90a") == ()
    model = compile_graph(what.graph, CompileOptions(tuned=found()), what.library)
    assert model.tuned == {"magnitude_kernel": {"times": 0}}
    changed = subject(tmp_path / "changed", "0, -1, 13, 14").library  # the definition is another one
    assert found(changed) == ()
    with open_store(path) as store:
        forget_tuned(store, [(kept.problem, kept.fingerprint)])
    assert found() == ()


def test_what_was_tuned_is_imported_with_the_runs_of_its_machine(proved, tmp_path):
    what, row = proved
    with open_store(tmp_path / "other.db") as other:
        keep_row(other, what.request, row)
    with open_store(tmp_path / "traces.db") as store:
        for _ in range(2):
            import_runs(store, tmp_path / "other.db")
            assert [row.choices for row in tuned_rows(store)] == [(("times", 0),)]


@pytest.mark.slow
def test_nothing_is_kept_without_a_verdict_and_the_default_stays(tmp_path):
    made = tuning(subject(tmp_path / "kernels", "401"))
    list(made.run())
    (row,) = made.state.rows
    assert not row.faster and row.best == () and row.tried == 1


def test_where_all_candidates_are_wrong_that_is_said(tmp_path):
    made = tuning(subject(tmp_path / "kernels", "-1"))
    list(made.run())
    (row,) = made.state.rows
    assert (row.best, row.words) == ((), "no candidate could be used")
    assert len(row.dropped) == 1 and row.dropped[0].startswith("times -1: its results are wrong")


def test_stopping_leaves_what_is_known(tmp_path):
    made = tuning(subject(tmp_path / "kernels", "0"))
    for state in made.run():
        if state.words.startswith("round 1"):
            break
    (row,) = made.state.rows
    assert (row.tunable.kernel, row.tried, row.faster) == ("magnitude_kernel", 1, False)
    assert row.words == "being tried", "a row with candidates does not say that it was not tried"


def test_cancelling_ends_it_at_once(tmp_path):
    asked = []
    made = tuning(subject(tmp_path / "kernels", "0"), cancelled=lambda: bool(asked))
    with pytest.raises(KeyboardInterrupt):
        for state in made.run():
            asked += [True] if state.words.startswith("round 1") else []
    assert [row.tunable.kernel for row in made.state.rows] == ["magnitude_kernel"]


def test_no_time_is_said(tmp_path):
    made = tuning(subject(tmp_path / "kernels", "0"), budget=1.0)
    states = list(made.run())
    assert [row.words for row in states[-1].rows] == ["not tried: the time was over"]


def test_a_run_request_keeps_its_choices_as_text(proved):
    what, row = proved
    chosen = (Tuned(row.tunable.problem, (("times", 0), ("tile", (8, 3)))),)
    request = replace(what.request, options=CompileOptions(tuned=chosen))
    assert request_from_json(request_to_json(request)) == request
    assert "tuned" not in request_to_json(what.request)
