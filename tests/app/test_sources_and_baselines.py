"""A file is kept by its whole path: two of a name in two folders have baselines of their own."""

from app.cli.commands.compare import _runs
from app.sources import stored_name
from profiler.measure.machine import this_machine
from profiler.records import MeasuredRun, MeasureRequest
from profiler.store import open_store, queries, writer


def a_run(store, source):
    run = writer.begin_run(store, MeasureRequest(stored_name(source)), this_machine())
    writer.finish_run(store, run, MeasuredRun("finished", (1000,) * 6, (6,), conditions={"threads": 1}))
    return run


def test_baselines_of_two_folders_do_not_collide(tmp_path, monkeypatch):
    with open_store(tmp_path / "t.db") as store:
        runs = {}
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
            monkeypatch.chdir(tmp_path / folder)
            runs[folder] = a_run(store, "model.py"), a_run(store, "model.py")
            writer.pin_run(store, runs[folder][0])
        assert queries.find_run(store, "baseline:model.py") == runs["two"][0]
        monkeypatch.chdir(tmp_path / "one")
        assert queries.find_run(store, "baseline:model.py") == runs["one"][0]
        assert [row["id"] for row in queries.list_runs(store, queries.RunFilter(source="model.py"))] == [2, 1]
        for folder, (pinned, other) in runs.items():
            assert _runs(store, ("baseline", str(other))) == [pinned, other], folder
    assert stored_name("sample:mlp") == "sample:mlp"
