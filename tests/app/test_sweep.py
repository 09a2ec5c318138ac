"""`kernelglass sweep`: every combination once, each kept, whatever is killed meanwhile."""

import contextlib
import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from command_line import ROOT, SCALE, assert_one_line, document

from app.sweep.engine import run_cells
from app.sweep.outcomes import DONE, outcomes
from app.sweep.spec import read_spec
from profiler.store import StoreError, open_store, queries


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
    assert_one_line(kernelglass("sweep", spec(text)), 2, "small.toml", words)


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


class hashable:
    """An outcome, its cell by its words."""

    def __init__(self, outcome):
        self.cell, self.compilation, self.done = str(outcome.cell), outcome.compilation, outcome.status == DONE


def compilations(db: Path) -> int:
    with contextlib.suppress(StoreError), open_store(db, create=False, readonly=True) as store:
        return queries.totals(store)["compilations"]
    return 0  # it is not there yet, or being made


def worker(process):
    """The number of a process that compiles cells; None for any other, and for one that has died."""
    with contextlib.suppress(psutil.Error):
        return process.pid if "app.sweep.child" in " ".join(process.cmdline()) else None


@pytest.mark.slow
def test_killing_workers_loses_no_cell_and_doubles_none(spec, tmp_path):
    path = spec('targets = ["cpu", "sm_90a", "gfx942"]\nlevels = [0, 1, 2, 3]\nflows = ["all-kernel", "per-kernel"]')
    asked, killed = read_spec(path), []

    def kill_one(progress):
        """Each time something is told, a worker goes, ten times."""
        children = [pid for pid in map(worker, psutil.Process().children()) if pid and pid not in killed]
        if children and len(killed) < 10 and progress.running:
            os.kill(children[0], signal.SIGKILL)
            killed.append(children[0])

    with open_store(tmp_path / "kept.db") as store:
        run_cells(store, asked, asked.cells, 2, kill_one)
        found = outcomes(store, asked)
        assert len(killed) == 10
        assert [each.status for each in found] == [DONE] * 24
        assert records(store) == (24, 0) and len({each.compilation for each in found}) == 24
