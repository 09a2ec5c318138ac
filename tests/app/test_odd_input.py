"""The command line with input of a hurried or unlucky user: one clear line, the right status, nothing lost."""

import json
import os
import resource
import shutil
import sys

import pytest
from command_line import ROOT, SCALE, assert_one_line, document, in_a_process

from profiler.store import open_store, queries

QUICK = ("--repeat", "3", "--processes", "1")


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(SCALE)
    return path


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A database with one run."""
    from app.cli.main import main

    folder = tmp_path_factory.mktemp("kept")
    (folder / "scale.py").write_text(SCALE)
    assert main(["run", str(folder / "scale.py"), *QUICK, "--db", str(folder / "traces.db")]) == 0
    return folder


@pytest.fixture
def one_run(kernelglass, kept, tmp_path):
    """The command line with a copy of that database."""
    for path in kept.glob("traces.db*"):
        shutil.copy(path, tmp_path)
    return kernelglass


@pytest.mark.parametrize(
    "options, words",
    [(("--dim", "M=1", "--dim", "M=2"), ["--dim", "M", "twice"]), (("--device", "cuda:" + "9" * 5000), ["device"]),
     (("--seed", "9" * 23), ["--seed", "range"]), (("--width", "nan"), ["--width", "number"]),
     (("--time-limit", "nan"), ["--time-limit", "number"]), (("--time-limit", "inf"), ["--time-limit", "number"]),
     (("--budget", "nan"), ["--budget", "number"]), (("--db", ""), ["--db"]), (("--tag", "a b"), ["not a tag"]),
     (("--tag", "latest"), ["not a tag"]), (("--tag", "7"), ["not a tag"])],
    ids=lambda value: " ".join(value)[:20] if isinstance(value, tuple) else "",
)  # fmt: skip
def test_a_run_that_cannot_be_is_refused_before_it_is_made(kernelglass, scale, options, words):
    assert_one_line(kernelglass("run", scale, *QUICK, *options), 2, *words)
    assert kernelglass("runs") == (0, "no runs\n", "")


def test_the_same_size_may_be_said_twice(kernelglass, scale):
    assert document(kernelglass("run", scale, *QUICK, "--dim", "M=3", "--dim", "M=3", "--json"))["dims"] == {"M": 3}


def test_names_that_are_no_text_are_refused_or_kept(kernelglass, tmp_path):
    """A file name is bytes; some of them are no UTF-8."""
    path = tmp_path / os.fsdecode(b"sc\xffle.py")
    path.write_text(SCALE)
    assert_one_line(kernelglass("run", path, *QUICK), 2, "UTF-8")
    assert kernelglass("runs") == (0, "no runs\n", "")
    status, out, err = kernelglass("run", path, *QUICK, "--no-db", "--json")
    assert (status, err) == (0, "") and json.loads(out)["outputs"]
    status, out, err = kernelglass("compile", path)
    assert (status, err) == (0, "") and out


@pytest.mark.parametrize("text", [os.fsdecode(b"\xff"), "a\nb", "\x1b[31mred", "x" * 5000])
def test_notes_of_any_kind_keep_a_table_a_table(one_run, text):
    status, _, err = one_run("runs", "note", "1", text)
    assert status in (0, 2) and err.count("\n") <= 1
    status, out, err = one_run("runs")
    assert (status, err) == (0, "") and out.count("\n") == 2 and "\x1b" not in out
    assert document(one_run("runs", "--json"))["runs"][0]["id"] == 1


def test_a_place_that_holds_no_files_is_not_called_full(kernelglass, scale):
    if not os.path.isdir("/proc/self"):
        pytest.skip("this system has no /proc")
    status, out, err = kernelglass("run", scale, *QUICK, "--db", "/proc/x.db")
    assert (status, out) == (2, "") and "full" not in err and "cannot open /proc/x.db" in err


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "2026-01-01T25:00", "01/02/2026"])
def test_a_date_that_is_none_is_said(kernelglass, since):
    assert_one_line(kernelglass("runs", "--since", since), 2, "--since", "date")


@pytest.mark.parametrize("since", ["2020", "2020-01", "2020-01-31", "2020-01-31 12:00", "2020-01-31T12:00:30"])
def test_a_date_may_be_as_long_as_one_likes(one_run, since):
    assert len(document(one_run("runs", "--since", since, "--json"))["runs"]) == 1


def test_a_command_without_its_second_word_says_what_is_missing(kernelglass):
    assert_one_line(kernelglass("cache"), 2, "info", "clear")
    assert len(kernelglass("cache")[2]) < 120


def test_a_comparison_goes_to_the_file_and_as_json_to_stdout(kernelglass, scale, tmp_path):
    for _ in range(2):
        kernelglass("run", scale, *QUICK)
    for kind, begin in (("html", "<!doctype html"), ("md", "# "), ("text", "{")):
        out = tmp_path / f"c.{kind}"
        found = document(kernelglass("compare", "1", "2", "--json", "--format", kind, "-o", out))
        assert len(found["sides"]) == 2 and out.read_text().lower().startswith(begin)


def test_flows_go_to_the_file_and_as_json_to_stdout(kernelglass, scale, tmp_path):
    out = tmp_path / "f.csv"
    command = ("flows", scale, "--repeat", "1", "--debug", "none", "--no-start-up", "--format", "csv", "-o", out)
    status, said, _ = kernelglass(*command, "--json")
    assert status == 0 and json.loads(said)["cells"] and out.read_text().count("\n") > 3


def test_a_report_that_cannot_be_written_measures_nothing_first(one_run, tmp_path):
    for command in (("report", "1", "--ceilings"), ("compare", "1", "1", "--again")):
        assert_one_line(one_run(*command, "-o", tmp_path / "none" / "x.html"), 2, "cannot write")
    assert len(document(one_run("runs", "--json"))["runs"]) == 1


def test_a_reader_that_leaves_is_no_error(one_run, scale, tmp_path):
    database = {**os.environ, "KERNELGLASS_DB": str(tmp_path / "traces.db")}
    assert len(document(one_run("runs", "--json"))["runs"]) == 1
    for command in ("runs", "runs --json", "export 1 --format json", "devices --json", "samples", f"compile {scale}"):
        script = f"{sys.executable} -m app {command} | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
        done = in_a_shell(script, database)
        assert (done.returncode, done.stderr) == (0, ""), command
    full = in_a_shell(f"{sys.executable} -m app runs --json > /dev/full", database)
    assert full.returncode == 2 and full.stderr.count("\n") == 1 and "No space" in full.stderr
    closed = in_a_shell(f"{sys.executable} -m app runs --json >&-", database)
    assert closed.returncode in (0, 2) and closed.stderr.count("\n") <= 1


def in_a_shell(script, environment):
    import subprocess

    return subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
    )


def test_programs_that_write_at_once_each_keep_their_run(scale, tmp_path):
    import subprocess

    path = tmp_path / "t.db"
    command = [sys.executable, "-m", "app", "run", str(scale), *QUICK, "--db", str(path)]
    processes = [subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)]
    said = [process.communicate(timeout=200)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, said
    with open_store(path) as store:
        assert [row["status"] for row in queries.list_runs(store)] == ["finished"] * 4


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such pipes")
@pytest.mark.parametrize("command, name", [
    (["sweep"], "a.toml"), (["compile"], "a.mlir"), (["compile"], "a.py"), (["compile"], "a.onnx"),
    (["compile"], "a.kgx"), (["compile"], "a.gguf"), (["compile"], "a.safetensors"), (["runs", "import"], "a.db"),
    (["runs", "--db"], "a.db"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["endless", "pipe"])
def test_a_file_that_never_ends_is_refused(tmp_path, command, name, kind):
    """A device, or a pipe that nobody writes to: nothing waits for it or reads all of it."""
    path = tmp_path / name
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # noqa: E731
    found = in_a_process(*command, path, preexec_fn=limit)
    assert found.returncode in (1, 2), found
    assert found.stderr.startswith("kernelglass: ") and found.stderr.count("\n") == 1 and name in found.stderr, found
