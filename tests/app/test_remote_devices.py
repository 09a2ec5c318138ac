"""`run --device tcp://...`: compiled here, launched by a worker, kept as a run of the worker's machine."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from command_line import ROOT, SCALE, assert_one_line, document
from forked_measuring import measure_afresh, measure_in_forks
from forked_workers import forked_workers
from timed_children import measuring

from profiler.measure.machine import this_machine
from profiler.store import open_store, queries

pytest.importorskip("distributed")

from app.cluster import holding
from app.cluster.joining import joined

CRASH = """
from compiler import Graph, TensorType, ops

LIBRARY = "kernels"

def build():
    graph = Graph("crash", inputs=[TensorType("f32", (64,))])
    with graph:
        graph.output(ops.custom("crash", [graph.inputs[0]], TensorType("f32", (64,))))
    return graph
"""
KERNELS = """
@kernel("crash")
def crash(out: Tensor, x: Tensor):
    out[position((index(1) << 44,))] = x[position((0,))]
"""


@pytest.fixture(scope="module")
def cluster():
    """A scheduler with one worker."""
    with forked_workers(), joined("local", 1) as found:
        found.client.run(measure_in_forks)
        yield found


@pytest.fixture
def scale(tmp_path):
    path = tmp_path / "scale.py"
    path.write_text(SCALE)
    return path


def held(cluster):
    """What the worker was sent and keeps."""
    return next(iter(cluster.client.run(lambda: sorted(holding._held)).values()))


def test_a_run_there_is_kept_as_one_of_that_machine(cluster, kernelglass, scale, tmp_path):
    place = f"{cluster.address}/cpu"
    found = document(kernelglass("run", scale, "--device", place, "--check", "--json", "--repeat", 40))
    assert found["check"][0]["ok"] and found["repeat"] == 40 and found["device"] == "cpu"
    assert found["conditions"]["remote"] == place and found["kernels"]
    with open_store(tmp_path / "traces.db") as store:
        row = queries.run_row(store, found["run"])
        assert row["status"] == "finished" and row["device"] == "cpu"
        assert queries.machine_row(store, row["machine"])["fingerprint"] == this_machine().fingerprint
        assert queries.timeline(store, found["run"]) is not None and queries.counters(store, found["run"])
    here = document(kernelglass("run", scale, "--check", "--json", "--repeat", 40))
    assert [launch["key"] for launch in here["launches"]] == [launch["key"] for launch in found["launches"]]
    assert [launch["bytes"] for launch in here["launches"]] == [launch["bytes"] for launch in found["launches"]]


def test_runs_are_made_again_in_turns_where_they_were_made(cluster, kernelglass, scale, tmp_path):
    place = f"{cluster.address}/cpu"
    for device in ("cpu", place):
        assert kernelglass("run", scale, "--device", device, "--repeat", 3, "--budget", 0.1)[0] == 0
    before = held(cluster)
    status, out, err = kernelglass("compare", "1", "2", "--again", "--json")
    assert status == 0 and "pair 8 of 8" in err, err
    found = json.loads(out)
    assert found["verdicts"][1]["method"] == "turns" and [side["run"] for side in found["sides"]] == [3, 4]
    with open_store(tmp_path / "traces.db") as store:
        here, there = (queries.run_row(store, number) for number in (3, 4))
        assert "remote" not in here["conditions"] and there["conditions"]["remote"] == place
        assert here["conditions"]["turns"] == there["conditions"]["turns"] and here["conditions"]["turns"]["rounds"]
        assert len(here["conditions"]["processes"]) == len(there["conditions"]["processes"]) >= 8
    assert len([name for name in held(cluster) if name not in before]) <= 1  # the model, which was sent once


def test_runs_that_cannot_be_made_again_where_they_were_are_one_line(cluster, kernelglass, scale, tmp_path):
    assert kernelglass("run", scale, "--device", f"{cluster.address}/cpu", "--repeat", 3)[0] == 0
    with open_store(tmp_path / "traces.db") as store, store.transaction() as written:
        written.execute("update runs set conditions = replace(conditions, ?, 'tcp://127.0.0.1:9')", (cluster.address,))
    assert_one_line(kernelglass("compare", "1", "1", "--again"), 4, "no scheduler at tcp://127.0.0.1:9")


def test_a_sweep_times_cells_on_devices_elsewhere(cluster, kernelglass, scale, tmp_path):
    spec = tmp_path / "there.toml"
    spec.write_text(f'sources = ["scale.py"]\ndevices = ["cpu", "{cluster.address}/cpu"]\nrepeat = 3\nprocesses = 1')
    here, there = document(kernelglass("sweep", spec, "--json"))["cells"]
    assert [here["status"], there["status"]] == ["done", "done"] and there["median"] > 0
    with open_store(tmp_path / "traces.db") as store:
        assert queries.run_row(store, there["run"])["conditions"]["remote"] == f"{cluster.address}/cpu"


def test_arrays_are_sent_once_and_stay(cluster, kernelglass, scale):
    place = f"{cluster.address}/cpu"
    kernelglass("run", scale, "--device", place, "--repeat", 3, "--seed", 7, "--no-db")
    before = held(cluster)
    kernelglass("run", scale, "--device", place, "--repeat", 3, "--seed", 7, "--no-db")
    arrays = [name for name in held(cluster) if name not in before]
    assert len(arrays) <= 1  # the model's file names the moment it was made; the arrays are those that were there


def test_a_kernel_that_crashes_there_is_told_as_one_that_crashes_here(cluster, kernelglass, tmp_path):
    (tmp_path / "crash.py").write_text(CRASH)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "crash.py").write_text(KERNELS)
    results = [
        kernelglass("run", tmp_path / "crash.py", "--repeat", 3, "--device", device)
        for device in ("cpu", f"{cluster.address}/cpu")
    ]
    for number, result in enumerate(results, 1):
        assert_one_line(result, 5, "crashed with SIG", "in kernel crash", f"run {number}")
    assert results[0][2].replace("run 1", "run 2") == results[1][2]


def test_a_lost_worker_ends_the_run_as_interrupted_and_nothing_else(cluster, scale, tmp_path):
    cluster.client.run(measure_afresh)
    db = tmp_path / "kept.db"
    command = [sys.executable, "-m", "app", "run", str(scale), "--device", f"{cluster.address}/cpu", "--db", str(db)]
    client = subprocess.Popen(
        [*command, "--repeat", "1000000", "--processes", "1"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not measuring():
        time.sleep(0.02)  # for the worker's child to be at it
    worker = psutil.Process(measuring()[0]).parent()
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    _, words = client.communicate(timeout=60)
    assert client.returncode == 4 and "was lost" in words and words.count("\n") == 1, words
    with open_store(db) as store:
        row = queries.run_row(store, 1)
        assert row["status"] == "interrupted" and "was lost" in row["error"]
    cluster.client.wait_for_workers(1, timeout=60)
    done = subprocess.run([*command, "--repeat", "3"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_wrong_places_are_one_line(cluster, kernelglass, scale):
    assert_one_line(kernelglass("run", scale, "--device", "tcp://127.0.0.1:9/cpu"), 4, "no scheduler at")
    assert_one_line(kernelglass("run", scale, "--device", "tcp://127.0.0.1:9/tpu"), 2, "tcp://HOST:PORT/cpu")
    assert_one_line(kernelglass("run", scale, "--device", f"{cluster.address}/cuda:0"), 4, "has a card")
