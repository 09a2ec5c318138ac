"""The time of a source over its runs: what is put together, where it changed, and how often that is said in error."""

import numpy as np
import pytest
import records_for_tests as made

from compiler.errors import ExecutionError
from profiler.analysis.history import change_points, history
from profiler.records import MeasuredRun
from profiler.report.write import export_run
from profiler.store import writer


def test_histories_without_a_change_hardly_ever_have_one():
    rng = np.random.default_rng(1)
    assert sum(bool(change_points(np.exp(0.02 * rng.standard_normal(30)))) for _ in range(300)) <= 8


@pytest.mark.parametrize("factor", [1.05, 0.9])
def test_a_change_is_found_where_it_is(factor):
    rng = np.random.default_rng(2)
    for _ in range(20):
        values = np.exp(0.01 * rng.standard_normal(30))
        values[18:] *= factor
        place, ratio, p = min(change_points(values), key=lambda found: found[2])
        assert abs(place - 18) <= 1 and ratio == pytest.approx(factor, abs=0.02) and p <= 0.01


def test_two_changes_and_an_outlier():
    rng = np.random.default_rng(3)
    values = 1e-3 * np.exp(0.005 * rng.standard_normal(45))
    values[15:] *= 1.2
    values[30:] *= 1.2
    values[7] *= 5
    assert [place for place, _, _ in change_points(values)] == [15, 30]


def test_too_few_runs_tell_nothing():
    assert change_points([1, 1, 1, 9, 9, 9]) == [] == change_points([]) == change_points([1.0])


def a_run(store, level, commit=None, yardstick=None, **more):
    run = writer.begin_run(store, made.request("model.py", **more), made.MACHINE)
    conditions = {"threads": 1} | ({"commit": commit} if commit else {})
    conditions |= {"yardstick": yardstick} if yardstick else {}
    writer.finish_run(store, run, MeasuredRun("finished", (level,) * 6, (6,), conditions=conditions))
    return run


def test_a_history_has_the_runs_under_the_same_conditions(store):
    runs = [a_run(store, 1000 + at % 3 + 500 * (at >= 12)) for at in range(24)]
    a_run(store, 9000, dims={"M": 3})
    writer.keep_check(store, runs[0], False, ["wrong"])
    writer.tag_runs(store, [runs[2]], "v2")
    found = history(store, "model.py", runs[5])
    assert [moment.run for moment in found.moments] == runs[1:] and found.others == 1
    assert found.moments[1].label == "v2" and found.moments[2].label == f"run {runs[3]}"
    (change,) = found.changes
    assert change.run == runs[12] and change.ratio == pytest.approx(1.5, abs=0.01)
    page = export_run(store, runs[5], "html")
    assert ("Over time" in page and f"From run {runs[12]} on: +49.9%" in page) or "+50.0%" in page


def test_a_change_says_how_much_of_it_is_the_machines(store):
    for at in range(36):
        a_run(store, 1000 + at % 3 + 500 * (at >= 12) + 500 * (at >= 24), yardstick=60e3 * (1.5 if at >= 12 else 1.0))
    machine, program = history(store, "model.py").changes
    assert machine.machine == pytest.approx(1.5) and program.machine == pytest.approx(1.0)
    assert machine.words.endswith("from run 13 on (the machine itself: +50.0%)") and program.words.endswith("run 25 on")
    assert "(the machine itself: +50.0%)." in export_run(store, 30, "html")


def test_runs_of_a_commit_or_tag_are_one_moment(store):
    commits = ["a" * 40, "b" * 40, "c" * 40]
    runs = [a_run(store, 1000 + at % 3 + 500 * (at >= 12), commit=commits[at // 6]) for at in range(18)]
    bare = a_run(store, 1500)
    writer.tag_runs(store, runs[:6], "v1")
    writer.tag_runs(store, runs[12:], "v2")
    found = history(store, "model.py", by="commit")
    assert [moment.label for moment in found.moments] == ["a" * 10, "b" * 10, "c" * 10]
    assert [moment.runs for moment in found.moments] == [tuple(runs[at : at + 6]) for at in (0, 6, 12)]
    assert found.moments[0].median == pytest.approx(1001e-9) and found.others == 1
    (change,) = found.changes
    assert (change.at, change.run) == (2, runs[12]) and change.ratio == pytest.approx(1.5, abs=0.01)
    assert [moment.label for moment in history(store, "model.py", by="tag").moments] == ["v1", "v2"]
    assert len(history(store, "model.py").moments) == 19 and bare == history(store, "model.py").moments[-1].run


def test_without_a_commit_there_is_no_history_by_commit(store):
    a_run(store, 1000)
    with pytest.raises(ExecutionError, match=r"no run of model\.py under these conditions has a commit"):
        history(store, "model.py", by="commit")


def test_a_source_without_runs_has_no_history(store):
    with pytest.raises(ExecutionError, match="no finished run of nothing"):
        history(store, "nothing.py")
