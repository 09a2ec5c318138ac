"""The commands over the database, as scripts see them: exit status, one line on stderr, one JSON document on stdout."""

import json

import pytest

import app.cli
from app.cli import main

SCALE = """
from compiler import Graph, TensorType, ops

DIMS = {"M": 8}

def build():
    graph = Graph("scale", inputs=[TensorType("f32", ("M", 64))])
    with graph:
        graph.output(ops.exp(graph.inputs[0]) * 2)
    return graph
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A database with two real runs of one source, IR kept; the second is of fewer calls."""
    folder = tmp_path_factory.mktemp("kept")
    (folder / "scale.py").write_text(SCALE)
    database = folder / "traces.db"
    for repeat in ("48", "24"):
        assert (
            main(["run", str(folder / "scale.py"), "--repeat", repeat, "--db", str(database), "--tag", f"r{repeat}"])
            == 0
        )
    return database


@pytest.fixture
def kernelglass(capfd, tmp_path, monkeypatch, kept):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNELGLASS_DB", str(kept))
    known = dict.fromkeys((*app.cli.COMMANDS, "runs", "compare", "report", "export"))
    monkeypatch.setattr(app.cli, "COMMANDS", tuple(known))
    capfd.readouterr()

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return status, out, err

    return run


def assert_one_line(result, status, *words):
    got, out, err = result
    assert (got, out) == (status, ""), err
    assert err.startswith("kernelglass: ") and err.count("\n") == 1
    for word in words:
        assert word in err


def document(result):
    status, out, err = result
    assert (status, err) == (0, "")
    return json.loads(out)


def test_runs_lists_newest_first_with_medians_and_tags(kernelglass):
    status, out, err = kernelglass("runs")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].split()[0] == "2" and lines[2].split()[0] == "1" and "r48" in lines[2] and "finished" in lines[1]
    rows = document(kernelglass("runs", "--json"))["runs"]
    assert [row["id"] for row in rows] == [2, 1] and rows[0]["median"] > 0 and rows[0]["dims"] == {"M": 8}
    assert [row["id"] for row in document(kernelglass("runs", "--tag", "r48", "--json"))["runs"]] == [1]
    assert document(kernelglass("runs", "--status", "failed", "--json"))["runs"] == []


def test_compilations_are_listed_too(kernelglass):
    rows = document(kernelglass("runs", "--compilations", "--json"))["compilations"]
    assert [row["id"] for row in rows] == [2, 1] and rows[0]["kernels"] == 1
    assert "c2" in kernelglass("runs", "--compilations")[1]


def test_no_database_yet_is_no_runs(kernelglass, monkeypatch, tmp_path):
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "none.db"))
    assert kernelglass("runs") == (0, "no runs\n", "")
    assert not (tmp_path / "none.db").exists()


def test_tag_note_pin_search_delete_and_vacuum(kernelglass, kept, tmp_path):
    import shutil

    copy = tmp_path / "copy.db"
    shutil.copy(kept, copy)
    assert kernelglass("runs", "--db", copy, "tag", "mine", "1", "2")[0] == 0
    assert document(kernelglass("runs", "tag", "mine", "1", "--remove", "--db", copy, "--json"))["runs"] == [1]
    assert kernelglass("runs", "note", "mine", "a note", "--db", copy)[0] == 0
    assert kernelglass("runs", "pin", "2", "--db", copy)[0] == 0
    row = document(kernelglass("runs", "--db", copy, "--pinned", "--json"))["runs"][0]
    assert (row["id"], row["note"], row["pinned"], row["tags"]) == (2, "a note", True, ["mine", "r24"])
    assert "scale" in kernelglass("runs", "search", "mo.exp", "--db", copy)[1]
    assert_one_line(kernelglass("runs", "delete", "2", "--db", copy), 2, "pinned")
    assert kernelglass("runs", "pin", "2", "--off", "--db", copy)[0] == 0
    assert document(kernelglass("runs", "delete", "1", "2", "--db", copy, "--json"))["deleted"] == [1, 2]
    sizes = document(kernelglass("runs", "vacuum", "--db", copy, "--json"))
    assert sizes["after"] <= sizes["before"]
    assert kernelglass("runs", "--db", copy)[1] == "no runs\n"


def test_compare_states_the_verdict_and_the_test(kernelglass):
    status, out, err = kernelglass("compare", "1", "2")
    assert (status, err) == (0, "") and "verdict" in out and "Mann-Whitney" in out
    found = document(kernelglass("compare", "r48", "latest", "--json"))
    assert [side["run"] for side in found["sides"]] == [1, 2] and found["kernels"][0]["matched"] == "what it computes"
    assert document(kernelglass("compare", "c1", "c2", "--format", "json"))["kernels"][0]["differs_at"] == ""


@pytest.mark.parametrize("kind", ["text", "md", "html", "csv", "json"])
def test_compare_writes_every_format_to_a_file(kernelglass, tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    assert kernelglass("compare", "1", "2", "--format", kind, "-o", path) == (0, "", "")
    assert path.stat().st_size > 100


def test_compare_fails_a_ci_job_with_status_5(kernelglass, kept, tmp_path):
    import shutil

    from profiler.machine import this_machine
    from profiler.records import RunRequest, RunResult
    from profiler.store import open_store, queries, writer

    copy = tmp_path / "copy.db"
    shutil.copy(kept, copy)
    with open_store(copy) as store:
        for level in (1000_000, 1200_000):
            run = writer.begin_run(store, RunRequest("x"), this_machine())
            times = tuple(level + i % 7 for i in range(60))
            writer.finish_run(store, run, RunResult("finished", times, (5,) * 12, conditions={"threads": 1}), 1)
        assert queries.find_run(store, "latest") == 4
    status, out, err = kernelglass("compare", "3", "4", "--fail-if-slower", "5%", "--db", copy)
    assert (
        status == 5
        and "slower" in out
        and err.startswith("kernelglass: run 4 is 20.0% slower")
        and err.count("\n") == 1
    )
    assert kernelglass("compare", "3", "4", "--fail-if-slower", "25%", "--db", copy)[0] == 0
    assert kernelglass("compare", "4", "3", "--fail-if-slower", "5%", "--db", copy)[0] == 0


def test_report_writes_one_html_file(kernelglass, tmp_path):
    path = tmp_path / "r.html"
    assert kernelglass("report", "1", "-o", path) == (0, "", "")
    text = path.read_text()
    assert text.startswith("<!doctype html>") and "Time of a call" in text and len(text) < 2_000_000
    assert document(kernelglass("report", "latest", "-o", path, "--json"))["run"] == 2
    assert kernelglass("report", "1", "-o", tmp_path / "r.md")[0] == 0
    assert (tmp_path / "r.md").read_text().startswith("# ")


@pytest.mark.parametrize("kind", ["perfetto", "csv", "json", "md", "html", "script"])
def test_export_writes_every_format(kernelglass, tmp_path, kind):
    path = tmp_path / "out"
    assert kernelglass("export", "1", "--format", kind, "-o", path) == (0, "", "")
    assert path.stat().st_size > 100
    if kind in ("json", "perfetto"):
        assert kernelglass("export", "1", "--format", kind)[1].strip() == path.read_text().strip()
        assert document(kernelglass("export", "1", "--format", kind, "--json"))["format"] == kind


@pytest.mark.parametrize(
    "arguments, words",
    [
        (("runs", "nonsense"), "nonsense"),
        (("runs", "delete"), "ID"),
        (("runs", "delete", "99"), "no run 99"),
        (("runs", "tag", "12", "1"), "not a tag"),
        (("runs", "--db", "no/such/file.db"), "no database"),
        (("compare", "1"), "two"),
        (("compare", "1", "c1"), "of a kind"),
        (("compare", "1", "nonesuch"), "nonesuch"),
        (("compare", "1", "2", "--fail-if-slower", "much"), "percentage"),
        (("report", "1"), "-o"),
        (("report", "99", "-o", "x.html"), "99"),
        (("report", "1", "-o", "no/such/folder/x.html"), "cannot write"),
        (("export", "1", "--format", "pickle"), "perfetto"),
        (("run", "sample:mlp", "--no-db", "--tag", "x"), "--no-db"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(kernelglass, arguments, words):
    assert_one_line(kernelglass(*arguments), 2, words)


def test_a_file_that_is_not_a_database_is_one_line_and_untouched(kernelglass, tmp_path):
    path = tmp_path / "x.db"
    path.write_text("hello")
    for arguments in (("runs",), ("compare", "1", "2"), ("report", "1", "-o", tmp_path / "r.html"), ("runs", "vacuum")):
        assert_one_line(kernelglass(*arguments, "--db", path), 2, "not a database")
    assert path.read_text() == "hello"


def test_a_crashing_kernel_is_status_5_and_a_kept_run(kernelglass, tmp_path):
    (tmp_path / "kernels").mkdir()
    head = '@kernel("crash")\ndef crash(out: Tensor, x: Tensor):\n'
    kernel = head + "    out[position((index(1) << 44, 0))] = x[position((0, 0))]\n"
    (tmp_path / "kernels" / "crash.py").write_text(kernel)
    custom = "ops.custom('crash', graph.inputs, graph.inputs[0].type)"
    path = tmp_path / "crash.py"
    path.write_text(SCALE.replace("ops.exp(graph.inputs[0]) * 2", custom) + "\nLIBRARY = 'kernels'\n")
    database = tmp_path / "t.db"
    assert_one_line(kernelglass("run", path, "--db", database), 5, "SIG", "crash", "run 1")
    row = document(kernelglass("runs", "--db", database, "--json"))["runs"][0]
    assert row["status"] == "failed" and row["signal"].startswith("SIG") and "crash" in row["kernel"]


def test_compile_keeps_the_compilation_with_db(kernelglass, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    database = tmp_path / "t.db"
    assert kernelglass("compile", tmp_path / "scale.py", "--db", database)[0] == 0
    rows = document(kernelglass("runs", "--compilations", "--db", database, "--json"))["compilations"]
    assert len(rows) == 1 and rows[0]["source"].endswith("scale.py")


def test_run_checks_stage_by_stage(kernelglass, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    found = document(kernelglass("run", tmp_path / "scale.py", "--no-db", "--repeat", "2", "--stages", "--json"))
    assert found["stages"]["first"] is None and {node["node"] for node in found["stages"]["nodes"]} >= {
        "exp_0",
        "mul_0",
    }
