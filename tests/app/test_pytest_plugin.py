"""The pytest plugin as a user has it: a test that times a graph, a baseline file, and verdicts that fail tests."""

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from app.pytest_plugin import entry_of, judged, read_baseline, write_baseline
from profiler.records import MeasuredRun

ROOT = Path(__file__).parents[2]
TIMED = """
def test_timed(kernelglass):
    assert kernelglass.time("sample:softmax", dims={"M": 16}, processes=5, budget=0.1, group="soft").median > 0
"""


def run(folder, *arguments):
    named = () if entry_points(group="pytest11", name="kernelglass") else ("-p", "app.pytest_plugin")
    forks = ("-p", "measuring_in_forks") if sys.platform == "linux" else ()  # what times it has is not the subject
    less = [
        word for name in ("cacheprovider", "pytest-qt", "xdist", "hypothesispytest") for word in ("-p", f"no:{name}")
    ]
    command = [sys.executable, "-m", "pytest", "-q", *named, *forks, *less, *arguments]
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests" / "measuring")))}


def a_run(level, processes=5):
    rng = np.random.default_rng(level)
    samples = tuple(int(level * (1 + 0.01 * abs(x))) for x in rng.standard_normal(20 * processes))
    return MeasuredRun("finished", samples, (20,) * processes, processes=(1,) * processes, conditions={"threads": 1})


def test_a_baseline_is_kept_and_gives_the_verdicts_of_a_comparison(tmp_path):
    path = tmp_path / "b.json"
    entries = {"a": entry_of(a_run(100_000)), "b": entry_of(a_run(150_000))}
    write_baseline(path, entries)
    assert read_baseline(path) == entries and read_baseline(tmp_path / "none.json") == {}
    assert judged(entries["a"], entries["b"]).verdict == "slower"
    assert judged(entries["a"], entry_of(a_run(100_001))).verdict == "no measurable difference"


@pytest.mark.parametrize("text", ["", "[]", '{"form": "x"}', '{"form": "kernelglass-baseline/1", "times": {"a": {}}}'])
def test_a_file_that_is_no_baseline_is_said_to_be_none(tmp_path, text):
    (tmp_path / "b.json").write_text(text)
    with pytest.raises(pytest.fail.Exception, match="is not a baseline file"):
        read_baseline(tmp_path / "b.json")


def test_a_test_times_a_graph_and_fails_when_it_got_slower(tmp_path):
    (tmp_path / "test_it.py").write_text(TIMED)
    status, out = run(tmp_path, "--kernelglass-update")
    assert status == 0 and "soft  test_it.py::test_timed::1" in out and "no baseline" in out, out
    baseline = tmp_path / ".kernelglass-baseline.json"
    document = json.loads(baseline.read_text())
    (entry,) = document["times"].values()
    entry["ns"] = [x / 50 for x in entry["ns"]]
    entry["lost_ns"] = [0.0 for _ in entry["ns"]]
    baseline.write_text(json.dumps(document))
    status, out = run(tmp_path, "--kernelglass-fail-if-slower", "10%")
    assert status == 1 and ("slower: test_it.py::test_timed::1" in out or "cannot tell whether" in out), out
