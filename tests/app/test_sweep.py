"""`kernelglass sweep`: every combination once, each kept, whatever is killed meanwhile."""

import contextlib
import csv
import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from command_line import ROOT, SCALE, assert_one_line, document

from app.cli.head_start import sweep_nursery
from app.sweep.engine import compile_task, run_cells
from app.sweep.outcomes import DONE, outcomes
from app.sweep.processes import local_processes
from app.sweep.spec import read_spec
from profiler.records import CompilationRecord
from profiler.store import StoreError, open_store, queries
from profiler.store.under_way import cells_under_way, none_under_way


@pytest.fixture
def spec(tmp_path):
    """A file with a sweep of the lists that are given."""
    (tmp_path / "scale.py").write_text(SCALE)

    def written(text, name="small"):
        path = tmp_path / f"{name}.toml"
        path.write_text(f'sources = ["scale.py"]\n{text}')
        return path

    return written


def records(store):
    found = queries.totals(store)
    return found["compilations"], found["runs"]


def test_every_combination_is_a_record_and_nothing_is_done_twice(kernelglass, spec, tmp_path):
    path = spec('targets = ["cpu", "sm_90a"]\nlevels = [0, 2, 2]\ndevices = ["cpu"]\nrepeat = 3\nprocesses = 1')
    found = document(kernelglass("sweep", path, "--json"))
    assert [(cell["target"], cell["opt_level"], cell["device"]) for cell in found["cells"]] == [
        ("cpu", 0, ""), ("sm_90a", 0, ""), ("cpu", 2, ""), ("sm_90a", 2, ""), ("cpu", 0, "cpu"), ("cpu", 2, "cpu"),
    ]  # fmt: skip
    assert {cell["status"] for cell in found["cells"]} == {"done"}
    assert all(cell["compile"] > 0 and cell["kernels"] == 1 for cell in found["cells"])
    timed = [cell for cell in found["cells"] if cell["device"]]
    assert found["best"]["median"] == found["cells"].index(min(timed, key=lambda cell: cell["median"]))
    with open_store(tmp_path / "traces.db") as store:
        assert records(store) == (6, 2)  # each run has its compilation
        assert queries.run_row(store, timed[0]["run"])["tags"] == ["small"]
        before = records(store)
        assert document(kernelglass("sweep", path, "--json")) == found
        assert records(store) == before
    status, text, _ = kernelglass("sweep", path, "--table")
    assert status == 0 and "sweep small: 6 cells" in text and "least median" in text
    rows = list(csv.DictReader(io.StringIO(kernelglass("sweep", path, "--table", "--csv")[1])))
    assert [row["target"] for row in rows] == [cell["target"] for cell in found["cells"]]


def test_a_cell_that_fails_is_kept_with_its_reason(kernelglass, spec):
    path = spec('targets = ["cpu"]\ndevices = ["cpu", "cuda:99"]\ndims = [{ Q = 4 }]\nrepeat = 3\nprocesses = 1')
    compiled, here, there = document(kernelglass("sweep", path, "--json"))["cells"]
    assert compiled["status"] == "done"
    assert here["status"] == "failed" and "no dim Q" in here["error"]
    assert there["status"] == "failed" and there["error"]
    again = document(kernelglass("sweep", path, "--json"))["cells"]
    assert again == [compiled, here, there]
    retried = document(kernelglass("sweep", path, "--retry", "--json"))["cells"]
    assert retried[0] == compiled and retried[1]["run"] > there["run"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("two words", "two-words"), ("2026", "sweep-2026"), ("c12", "sweep-c12"), ("latest", "sweep-latest"),
        ("ü", "ü"), ("not\udcffUTF-8", "not?UTF-8"),
    ],
)  # fmt: skip
def test_a_sweep_without_a_name_is_called_as_its_file_as_far_as_a_tag_can_be(kernelglass, spec, file, name):
    path = spec("levels = [0]", file)
    assert read_spec(path).name == name
    assert document(kernelglass("sweep", path, "--json"))["sweep"] == name


@pytest.mark.parametrize("name", ["", "two words", "2026", "latest"])
def test_a_name_that_is_no_tag_is_refused_with_what_it_is_for(kernelglass, spec, name):
    found = kernelglass("sweep", spec(f'name = "{name}"'))
    assert_one_line(found, 2, "its name is the tag of its runs", "is not a tag")


def test_a_source_that_changed_makes_new_cells(kernelglass, spec, tmp_path):
    path = spec("levels = [0]")
    first = document(kernelglass("sweep", path, "--json"))["cells"][0]
    (tmp_path / "scale.py").write_text(SCALE.replace("* 2", "* 3"))
    assert document(kernelglass("sweep", path, "--table", "--json"))["cells"][0]["status"] == "missing"
    second = document(kernelglass("sweep", path, "--json"))["cells"][0]
    assert second["compilation"] > first["compilation"]


@pytest.mark.parametrize(
    "text, words",
    [
        ("targets = [", "not TOML"),
        ("target = ['cpu']", "no entry 'target'"),
        ("targets = ['vax']", "unknown target 'vax'"),
        ("flows = ['sideways']", "unknown flow"),
        ("levels = [7]", "unknown optimisation level"),
        ("levels = [true]", "levels is a list of numbers"),
        ("devices = ['toaster']", "unknown device"),
        ("dims = [{ M = 'x' }]", "dims are sizes by name"),
        ("libraries = ['none-such']", "no folder of kernels"),
        ("repeat = 0", "repeat is a number"),
        ("name = 'two words'", "not a tag"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(kernelglass, spec, text, words):
    assert_one_line(kernelglass("sweep", spec(text), "--table"), 2, "small.toml", words)


def test_a_mistake_is_one_line_also_where_processes_already_load_the_compiler(kernelglass, spec, monkeypatch):
    monkeypatch.setattr("app.cli.commands.sweep.sweep_nursery", sweep_nursery)  # and not one that has loaded it
    assert_one_line(kernelglass("sweep", spec("targets = [")), 2, "small.toml", "not TOML")


def test_a_file_of_many_combinations_is_refused_before_they_are_made(kernelglass, spec):
    levels, flows = ", ".join(["2"] * 20_000), ", ".join(["'all-kernel'"] * 20_000)
    path = spec(f"levels = [{levels}]\nflows = [{flows}]\ntargets = ['cpu', 'sm_90a']")
    assert_one_line(kernelglass("sweep", path, "--table"), 2, "800,000,000 cells", "at most 100,000")


def test_what_is_no_file_of_a_sweep_is_one_line(kernelglass, tmp_path):
    folder, large, loop = tmp_path / "folder.toml", tmp_path / "large.toml", tmp_path / "loop.toml"
    folder.mkdir()
    with large.open("wb") as file:
        file.truncate(1 << 30)
    loop.symlink_to(loop)
    nested, binary = tmp_path / "nested.toml", tmp_path / "binary.toml"
    nested.write_text("sources = " + "[" * 100_000)
    binary.write_bytes(b"\xff\xfe\0sources")
    for path, words in (
        (folder, "is a folder"), (large, "too large"), (loop, "cannot read"), (tmp_path / "none.toml", "no file"),
        (nested, "not TOML"), (binary, "not TOML"), (tmp_path / "a\nb.toml", "no file"),
        (tmp_path / ("x" * 300), "cannot read"),
    ):  # fmt: skip
        assert_one_line(kernelglass("sweep", path, "--table"), 2, words)


@pytest.mark.parametrize(
    "text, words",
    [
        ("sources = ['../../../../../../etc/passwd']", "cannot tell what"),
        ("sources = ['-rf']", "cannot tell what"),
        ('sources = ["a\\u0000b.py"]', "cannot tell what"),
        ("sources = [[]]", "sources is a list of texts"),
        ("sources = []", "it needs sources"),
        ("sources = ['scale.py']\nname = '../x'\nlevels = [9223372036854775807]", "unknown optimisation level"),
        ("sources = ['scale.py']\ndevices = ['tcp://host/tpu']", "is no device"),
        ("sources = ['scale.py']\ndevices = ['cpu']\ndims = [{ M = 99999999999999999999 }]", "dims are sizes"),
        ("sources = ['scale.py']\nbudget = nan", "budget is a number"),
        ("sources = ['scale.py']\nbudget = inf", "budget is a number"),
        ("[[sources]]\nx = 1", "sources is a list of texts"),
        ("[name]\nsources = 1", "name cannot be"),
    ],
)
def test_a_hostile_sweep_is_one_line(kernelglass, spec, text, words):
    path = spec("")
    path.write_text(text)
    assert_one_line(kernelglass("sweep", path, "--table"), 2, "small.toml", words)


def test_sources_that_cannot_be_read_are_cells_that_failed(kernelglass, spec, tmp_path):
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "folder.py").mkdir()
    names = ["none.py", "sample:none", "\\u001b[31m.py", "loop.py", "folder.py"]
    path = spec("")
    quoted = ", ".join(f'"{name}"' for name in names)
    path.write_text(f"sources = [{quoted}]")
    cells = document(kernelglass("sweep", path, "--json"))["cells"]
    assert [cell["status"] for cell in cells] == ["failed"] * len(names)
    assert all(cell["error"] and "\n" not in cell["error"] for cell in cells)


def test_killing_the_client_repeats_no_finished_cell(spec, tmp_path):
    path, db = spec('targets = ["cpu", "sm_90a", "gfx942"]\nlevels = [0, 1, 2, 3]'), tmp_path / "kept.db"
    command = [sys.executable, "-m", "app", "sweep", str(path), "--db", str(db), "--jobs", "1"]
    client = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and compilations(db) < 3:
        time.sleep(0.02)  # for another process, which says nothing until it is done
    client.kill()
    client.wait()
    with open_store(db) as store:
        done = {each.cell: each.compilation for each in map(hashable, outcomes(store, read_spec(path))) if each.done}
    assert 3 <= len(done) < 12
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    with open_store(db) as store:
        found = {each.cell: each.compilation for each in map(hashable, outcomes(store, read_spec(path)))}
        assert records(store) == (12, 0) and len(set(found.values())) == 12
        assert {cell: found[cell] for cell in done} == done


def test_cells_that_are_being_done_are_told_to_other_programs(spec, tmp_path):
    asked = read_spec(
        spec('targets = ["cpu", "sm_90a"]\nlevels = [0, 1]\ndevices = ["cpu"]\nrepeat = 3\nprocesses = 1')
    )
    seen = []
    with open_store(tmp_path / "kept.db") as store, open_store(tmp_path / "kept.db") as other:

        def look(progress):
            seen.append((progress.running, len(cells_under_way(other, asked.name))))

        with local_processes(2) as pool:
            run_cells(store, asked, asked.cells, pool, look)
        assert len(seen) >= 2 * len(asked.cells) and {running for running, _ in seen} == {0, 1, 2}
        assert all(running == told for running, told in seen)
        assert cells_under_way(other, asked.name) == set()


def test_nothing_that_compiles_is_beside_what_is_timed(spec, tmp_path):
    asked = read_spec(spec('targets = ["cpu"]\nlevels = [0, 1]\ndevices = ["cpu"]\nrepeat = 3\nprocesses = 1'))
    compiles = sum(not cell.device for cell in asked.cells)
    beside = []

    def look(progress):
        if progress.done + progress.failed >= compiles and progress.running:
            beside.append(workers())

    with open_store(tmp_path / "kept.db") as store, local_processes(2) as pool:
        run_cells(store, asked, asked.cells, pool, look)
    assert beside == [[]] * (len(asked.cells) - compiles)


def test_processes_leave_when_nothing_is_left_for_them_and_come_again_when_there_is(spec):
    asked = read_spec(spec("levels = [0, 1]"))
    tasks = [compile_task(asked, cell) for cell in asked.cells]
    with local_processes(2) as pool:
        for _ in range(2):
            found = [answer for _, answer in pool.compiled(tasks) if answer is not None]
            assert len(found) == 2 and all(isinstance(answer, CompilationRecord) for answer in found)
            limit = time.monotonic() + 60
            while workers() and time.monotonic() < limit:
                time.sleep(0.01)
            assert workers() == []  # though the pool was not closed


def test_a_process_tells_what_came_of_a_cell_before_the_next_begins(spec):
    asked = read_spec(spec("levels = [0, 1, 2]"))
    with local_processes(1) as pool:
        told = list(pool.compiled([compile_task(asked, cell) for cell in asked.cells]))
    assert [(number, answer is None) for number, answer in told] == [
        (number, begins) for number in dict.fromkeys(number for number, _ in told) for begins in (True, False)
    ]
    assert sorted({number for number, _ in told}) == [0, 1, 2]


def test_cells_have_a_key_by_what_they_are_and_not_by_which_object_says_so(spec):
    path = spec('targets = ["cpu", "sm_90a"]\nlevels = [0, 1]')
    one, other = read_spec(path), read_spec(path)
    keys = [one.key(cell) for cell in one.cells]
    assert len(set(keys)) == 4 and keys == [one.key(cell) for cell in other.cells]
    assert [one.key(replace(cell)) for cell in one.cells for _ in range(2)] == [key for key in keys for _ in range(2)]


LOADED = """
from app.sweep.child import prepare
from compiler.backend import runtime
prepare()
print(len(runtime._supplied), len(runtime.runtime_symbols()) > 0)
"""


def test_what_runs_models_is_compiled_by_the_first_sweep_only(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, "-c", LOADED], env=environment, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert said == ["0 True\n", "1 True\n"]


def test_what_a_killed_program_had_under_way_is_not(spec, tmp_path):
    db = tmp_path / "kept.db"
    code = f"""
import os
from profiler.store import open_store
from profiler.store.under_way import cell_begins
with open_store({str(db)!r}) as store:
    cell_begins(store, "small", "one")
os._exit(1)"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT)
    with open_store(db) as store:
        assert store.rows("SELECT count(*) AS n FROM under_way")[0]["n"] == 1
        assert cells_under_way(store, "small") == set()
        none_under_way(store)
        assert store.rows("SELECT count(*) AS n FROM under_way")[0]["n"] == 0


class hashable:
    """An outcome, its cell by its words."""

    def __init__(self, outcome):
        self.cell, self.compilation, self.done = str(outcome.cell), outcome.compilation, outcome.status == DONE


def compilations(db: Path) -> int:
    with contextlib.suppress(StoreError), open_store(db, create=False, readonly=True) as store:
        return queries.totals(store)["compilations"]
    return 0  # it is not there yet, or being made


def workers():
    """The processes that compile cells, which are born of the one that has the compiler loaded, and that one last."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if "app.sweep.child" in " ".join(process.cmdline()):
                found.append((process.ppid() == os.getpid(), process.pid))
    return [pid for _, pid in sorted(found)]


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, -1], ids=["those that compile", "the one they are born of"])
def test_killing_workers_loses_no_cell_and_doubles_none(spec, tmp_path, place):
    path = spec('targets = ["cpu", "sm_90a", "gfx942"]\nlevels = [0, 1, 2, 3]\nflows = ["all-kernel", "per-kernel"]')
    asked, killed = read_spec(path), []

    def kill_one(progress):
        """Each time something is told, a worker goes, ten times."""
        children = [pid for pid in workers() if pid not in killed]
        if children and len(killed) < 10 and progress.running:
            os.kill(children[place], signal.SIGKILL)
            killed.append(children[place])

    with open_store(tmp_path / "kept.db") as store, local_processes(2) as pool:
        run_cells(store, asked, asked.cells, pool, kill_one)
        found = outcomes(store, asked)
        assert len(killed) == 10
        assert [each.status for each in found] == [DONE] * 24
        assert records(store) == (24, 0) and len({each.compilation for each in found}) == 24
