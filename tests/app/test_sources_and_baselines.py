"""A file is kept by its whole path: two of a name in two folders have baselines of their own."""

from command_line import assert_one_line, document

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


RELU = """
from compiler import Graph, TensorType, ops


def build():
    with Graph("g", [TensorType("f32", (8,))]) as g:
        g.output(ops.relu(g.inputs[0]))
    return g
"""


def test_a_baseline_of_another_graph_is_not_taken_unless_it_is_named(kernelglass, tmp_path):
    for name, op in (("one", "relu"), ("two", "exp"), ("three", "relu")):
        (tmp_path / f"{name}.py").write_text(RELU.replace("relu", op))
        assert kernelglass("run", tmp_path / f"{name}.py", "--repeat", 5, "--processes", 1)[0] == 0
    kernelglass("runs", "pin", 1)
    two, out = tmp_path / "two.py", tmp_path / "report.md"
    refused = (2, f"{two} has no baseline", "run 1", "another graph", "runs pin")
    assert_one_line(kernelglass("compare", "baseline", "2"), *refused)
    assert_one_line(kernelglass("compare", "baseline", "2", "--fail-if-slower", "5%"), *refused)
    assert_one_line(kernelglass("report", "2", "baseline", "-o", out), *refused)
    assert "different graphs" in kernelglass("compare", "1", "2")[1]
    # The same graph in a file elsewhere, as after a checkout to another folder, is compared.
    assert document(kernelglass("compare", "baseline", "3", "--json"))["sides"][0]["run"] == 1
