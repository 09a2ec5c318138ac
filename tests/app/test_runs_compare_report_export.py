"""The commands over the database, as scripts see them: exit status, one line on stderr, one JSON document on stdout."""

import json
import shutil

import pytest
from command_line import SCALE, assert_one_line, document

from app.cli.main import main


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
def kernelglass(kernelglass, monkeypatch, kept):
    """The command line over that database."""
    monkeypatch.setenv("KERNELGLASS_DB", str(kept))
    return kernelglass


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


@pytest.fixture
def copy(kept, tmp_path):
    """A database of one's own to change."""
    path = tmp_path / "copy.db"
    shutil.copy(kept, path)
    return path


def listed(kernelglass, copy, *arguments):
    return document(kernelglass("runs", "--db", copy, *arguments, "--json"))["runs"]


def test_a_tag_is_put_on_and_taken_off(kernelglass, copy):
    assert kernelglass("runs", "--db", copy, "tag", "mine", "1", "2") == (0, "put mine on 1, 2\n", "")
    assert [row["id"] for row in listed(kernelglass, copy, "--tag", "mine")] == [2, 1]
    said = document(kernelglass("runs", "tag", "mine", "1", "--remove", "--db", copy, "--json"))
    assert said == {"tag": "mine", "runs": [1], "removed": True}
    assert [row["id"] for row in listed(kernelglass, copy, "--tag", "mine")] == [2]
    assert document(kernelglass("compare", "1", "mine", "--db", copy, "--json"))["sides"][1]["run"] == 2
    for words in ("12", "latest", "latest~1", "baseline", "baseline:x", "c3", "two words", ""):
        assert_one_line(kernelglass("runs", "tag", words, "1", "--db", copy), 2, "not a tag")


def test_a_note_is_written_and_taken_away(kernelglass, copy):
    assert document(kernelglass("runs", "note", "1", "a note", "--db", copy, "--json")) == {"run": 1, "note": "a note"}
    assert listed(kernelglass, copy)[1]["note"] == "a note" and "(a note)" in kernelglass("runs", "--db", copy)[1]
    assert kernelglass("runs", "note", "1", "", "--db", copy) == (0, "noted on run 1\n", "")
    assert listed(kernelglass, copy)[1]["note"] == ""


def test_a_baseline_is_pinned_stands_for_itself_and_is_kept(kernelglass, copy):
    assert document(kernelglass("runs", "pin", "1", "--db", copy, "--json")) == {"run": 1, "pinned": True}
    assert [row["id"] for row in listed(kernelglass, copy, "--pinned")] == [1]
    assert "1*" in kernelglass("runs", "--db", copy)[1].split()
    assert document(kernelglass("compare", "baseline", "latest", "--db", copy, "--json"))["sides"][0]["run"] == 1
    assert_one_line(kernelglass("runs", "delete", "1", "--db", copy), 2, "pinned")
    assert kernelglass("runs", "pin", "2", "--db", copy)[0] == 0  # a source has one baseline
    assert [row["id"] for row in listed(kernelglass, copy, "--pinned")] == [2]
    assert document(kernelglass("runs", "pin", "2", "--off", "--db", copy, "--json"))["pinned"] is False
    assert_one_line(kernelglass("compare", "baseline", "latest", "--db", copy), 2, "pin one")


def test_ir_is_searched(kernelglass, copy):
    hits = document(kernelglass("runs", "search", "mo.exp", "--db", copy, "--json"))["hits"]
    assert {hit["compilation"] for hit in hits} == {1, 2} and "mo" in {hit["stage"] for hit in hits}
    assert "scale" in kernelglass("runs", "search", "mo.exp", "--db", copy)[1]
    assert kernelglass("runs", "search", "nonesuch", "--db", copy) == (0, "nothing found\n", "")


def test_runs_are_deleted_and_the_space_given_back(kernelglass, copy):
    assert document(kernelglass("runs", "delete", "1", "latest", "--db", copy, "--json")) == {
        "deleted": [1, 2], "compilations": [],
    }  # fmt: skip
    assert kernelglass("runs", "--db", copy)[1] == "no runs\n"
    assert kernelglass("runs", "--compilations", "--db", copy)[1] == "no compilations\n"
    sizes = document(kernelglass("runs", "vacuum", "--db", copy, "--json"))
    assert sizes["after"] < sizes["before"]
    assert "before" in kernelglass("runs", "vacuum", "--db", copy)[1]


def test_deleting_is_all_or_nothing(kernelglass, copy):
    assert_one_line(kernelglass("runs", "delete", "1", "99", "--db", copy), 2, "99")
    assert_one_line(kernelglass("runs", "delete", "1", "c2", "--db", copy), 2, "belongs to run 2")
    assert len(listed(kernelglass, copy)) == 2


def test_a_compilation_without_runs_is_deleted_by_its_name(kernelglass, copy, tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    assert kernelglass("compile", tmp_path / "scale.py", "-O", "1", "--db", copy)[0] == 0
    assert kernelglass("runs", "delete", "c3", "--db", copy) == (0, "deleted c3\n", "")
    rows = document(kernelglass("runs", "--compilations", "--db", copy, "--json"))["compilations"]
    assert [row["id"] for row in rows] == [2, 1]


def test_lists_are_filtered(kernelglass, copy):
    assert [row["id"] for row in listed(kernelglass, copy, "--device", "cpu")] == [2, 1]
    assert listed(kernelglass, copy, "--device", "cuda:0") == [] == listed(kernelglass, copy, "--since", "2999")
    source = listed(kernelglass, copy)[0]["source"]
    assert [row["id"] for row in listed(kernelglass, copy, "--source", source, "--limit", "1")] == [2]


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


def test_compare_fails_a_ci_job_with_status_5(kernelglass, copy):
    from profiler.measure.machine import this_machine
    from profiler.records import MeasuredRun, MeasureRequest
    from profiler.store import open_store, queries, writer

    with open_store(copy) as store:
        for level in (1000_000, 1200_000):
            run = writer.begin_run(store, MeasureRequest("x"), this_machine())
            times = tuple(level + i % 7 for i in range(60))
            writer.finish_run(store, run, MeasuredRun("finished", times, (5,) * 12, conditions={"threads": 1}), 1)
        assert queries.find_run(store, "latest") == 4
    status, out, err = kernelglass("compare", "3", "4", "--fail-if-slower", "5%", "--db", copy)
    assert (
        status == 5
        and "slower" in out
        and err.startswith("kernelglass: run 4 is 20.0% slower")
        and err.count("\n") == 1
    )
    status, out, err = kernelglass("compare", "3", "4", "--fail-if-slower", "5%", "--json", "--db", copy)
    assert status == 5 and json.loads(out)["verdicts"][1]["verdict"] == "slower" and err.count("\n") == 1
    assert kernelglass("compare", "3", "4", "--fail-if-slower", "40%", "--db", copy)[0] == 0
    status, out, err = kernelglass("compare", "3", "4", "--fail-if-slower", "25%", "--db", copy)
    assert status == 6 and "slower" in out and "measuring both again, in turns" in err
    assert err.splitlines()[-1].startswith("kernelglass: cannot tell whether run 4 is more than 25% slower than run 3")
    assert kernelglass("compare", "4", "3", "--fail-if-slower", "5%", "--db", copy)[0] == 0


def test_a_gate_that_cannot_tell_of_runs_on_a_card_that_is_not_here_says_so(kernelglass, copy):
    from profiler.measure.machine import this_machine, with_card
    from profiler.records import MeasuredRun, MeasureRequest
    from profiler.store import open_store, writer

    with open_store(copy) as store:
        machine = with_card(this_machine(), {"name": "a card"})
        for level in (1000_000, 1200_000):
            run = writer.begin_run(store, MeasureRequest("x", device="cuda:7"), machine)
            times = tuple(level + i % 7 for i in range(60))
            writer.finish_run(store, run, MeasuredRun("finished", times, (5,) * 12, conditions={"threads": 1}), 1)
    status, _, err = kernelglass("compare", "3", "4", "--fail-if-slower", "25%", "--db", copy)
    assert status == 6 and err.startswith("kernelglass: cannot tell whether run 4") and err.count("\n") == 1, err


def test_report_writes_one_html_file(kernelglass, tmp_path):
    path = tmp_path / "r.html"
    assert kernelglass("report", "1", "-o", path) == (0, "", "")
    text = path.read_text()
    assert text.startswith("<!doctype html>") and "Time of a call" in text and len(text) < 2_000_000
    assert "What differs" not in text
    said = document(kernelglass("report", "latest", "-o", path, "--json"))
    assert said == {"run": 2, "against": [], "out": str(path), "bytes": path.stat().st_size}
    assert kernelglass("report", "1", "-o", tmp_path / "r.md")[0] == 0
    assert (tmp_path / "r.md").read_text().startswith("# ")


def test_report_compares_with_the_runs_that_follow(kernelglass, tmp_path):
    path = tmp_path / "r.html"
    assert document(kernelglass("report", "2", "1", "-o", path, "--json"))["against"] == [1]
    text = path.read_text()
    assert "What differs" in text and "Kernels, matched by what they compute" in text and ", run 2</title>" in text
    assert kernelglass("report", "2", "r48", "-o", tmp_path / "r.md") == (0, "", "")
    assert "run 1" in (tmp_path / "r.md").read_text()
    assert_one_line(kernelglass("report", "2", "latest", "-o", path), 2, "itself")


def test_a_report_goes_into_a_pipe_and_through_a_link(kernelglass, tmp_path):
    (tmp_path / "to.html").symlink_to(tmp_path / "real.html")
    assert kernelglass("report", "1", "-o", tmp_path / "to.html") == (0, "", "")
    assert (tmp_path / "to.html").is_symlink() and (tmp_path / "real.html").stat().st_size > 1000
    assert kernelglass("report", "1", "-o", "/dev/null") == (0, "", "")


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
