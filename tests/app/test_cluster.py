"""Work on a cluster: who is there, sweeps, and a compile farm, whatever is killed meanwhile."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import psutil
import pytest
from command_line import ROOT, SCALE, TWO, assert_one_line, document
from forked_workers import forked_workers, worker_processes

from app.sweep.child import CompileTask
from app.sweep.engine import run_cells
from app.sweep.outcomes import DONE, outcomes
from app.sweep.spec import read_spec
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from compiler.targets import get_target
from profiler.store import StoreError, open_store, queries

pytest.importorskip("distributed")

from app.cluster.farm import farmed
from app.cluster.jobs import answers
from app.cluster.joining import joined
from app.sources import load_source
from app.sweep.spread import ClusterWorkers

SWEEP = 'sources = ["scale.py"]\ntargets = ["cpu", "sm_90a", "gfx942"]\nlevels = [0, 1, 2, 3]\n'


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler with two workers, whose cache is their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_CACHE", str(tmp_path_factory.mktemp("workers")))
        with forked_workers(), joined("local", 2) as found:
            yield found


@pytest.fixture
def spec(tmp_path):
    """A file with a sweep of twelve cells, or of another's lists."""
    (tmp_path / "scale.py").write_text(SCALE)
    path = tmp_path / "small.toml"
    path.write_text(SWEEP)
    return path


def compilations(db):
    with contextlib.suppress(StoreError), open_store(db, create=False, readonly=True) as store:
        return queries.totals(store)["compilations"]
    return 0  # it is not there yet, or being made


def test_every_worker_tells_its_machine_and_only_this_machine_can_reach_it(cluster, kernelglass):
    found = document(kernelglass("cluster", "status", cluster.address, "--json"))["workers"]
    host = get_target("cpu")
    assert [worker["refusal"] for worker in found] == ["", ""]
    for worker in found:
        assert worker["address"].startswith("tcp://127.0.0.1:") and worker["threads"] == 1
        assert (worker["fingerprint"]["triple"], worker["fingerprint"]["features"]) == (host.triple, host.features)
        assert ("GPU" in worker["resources"]) == bool(worker["fingerprint"]["cards"])
    for process in [psutil.Process(), *map(psutil.Process, worker_processes())]:
        listening = [c.laddr.ip for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
        assert set(listening) <= {"127.0.0.1"}
    status, text, _ = kernelglass("cluster", "status", cluster.address)
    assert status == 0 and host.triple in text


class AskedBetween:
    """Dask's client when its own question, which is for no worker, was answered after each of ours."""

    def __init__(self, client):
        self._client = client

    def __getattr__(self, name):
        return getattr(self._client, name)

    def scheduler_info(self, **how):
        self._client.scheduler_info(**how)
        return self._client.scheduler_info(n_workers=0)


def test_no_worker_seems_to_be_gone_because_the_client_asked_something_else(cluster):
    asked = replace(cluster, client=AskedBetween(cluster.client))
    assert len(asked.addresses()) == 2
    assert [worker.address for worker in asked.useful()] == sorted(asked.addresses())


def test_mistakes_are_one_line(kernelglass, spec):
    assert_one_line(kernelglass("cluster", "status", "nowhere"), 2, "tcp://HOST:PORT")
    assert_one_line(kernelglass("cluster", "status", "tcp://127.0.0.1:9"), 4, "no scheduler at tcp://127.0.0.1:9")
    assert_one_line(kernelglass("sweep", spec, "--scheduler", "tcp://127.0.0.1:9"), 4, "no scheduler")


def test_a_cluster_does_a_sweep_as_this_machine_does(cluster, kernelglass, spec, tmp_path):
    there = document(kernelglass("sweep", spec, "--json", "--scheduler", cluster.address))
    assert {cell["status"] for cell in there["cells"]} == {"done"} and len(there["cells"]) == 12
    assert document(kernelglass("sweep", spec, "--json", "--scheduler", cluster.address)) == there
    with open_store(tmp_path / "traces.db") as store:
        assert queries.totals(store)["compilations"] == 12
    here = document(kernelglass("sweep", spec, "--json", "--db", tmp_path / "here.db"))
    plain = ("source", "target", "opt_level", "kernels", "peak")
    assert [[c[name] for name in plain] for c in there["cells"]] == [[c[name] for name in plain] for c in here["cells"]]


def test_a_cell_that_cannot_be_compiled_there_says_why(cluster, kernelglass, spec, tmp_path):
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "broken.py").write_text("def exp(:\n")
    spec.write_text('sources = ["scale.py", "gone.py"]\nlibraries = ["kernels"]\nlevels = [0]')
    (tmp_path / "gone.py").write_text("raise ValueError('not today')")
    broken, gone = document(kernelglass("sweep", spec, "--json", "--scheduler", cluster.address))["cells"]
    assert broken["status"] == "failed" and str(kernels / "broken.py") in broken["error"]
    assert gone["status"] == "failed" and "not today" in gone["error"]


def test_a_source_that_ends_the_process_that_reads_it_is_refused_and_the_others_are_done(cluster, kernelglass, spec):
    spec.write_text('sources = ["scale.py", "end.py", "scale.py"]\nlevels = [0, 2]')
    (spec.parent / "end.py").write_text("import os\nos._exit(3)\n")
    cells = document(kernelglass("sweep", spec, "--json", "--scheduler", cluster.address))["cells"]
    said = {(cell["source"].endswith("end.py"), cell["status"], cell["error"]) for cell in cells}
    assert said == {(False, "done", ""), (True, "failed", "the process that read its source ended (status 3)")}


def test_large_graphs_of_a_sweep_go_to_workers_first(cluster):
    asked = [CompileTask(f"sample:{name}", CompileOptions("sm_90a")) for name in ("reduce", "mlp", "llama-layer")]
    begun = [number for number, answer in ClusterWorkers(lambda: cluster).compiled(asked) if answer is None]
    assert begun == [2, 1, 0]


def test_who_sends_cells_loads_neither_numpy_nor_what_notebooks_show(cluster, spec, tmp_path):
    words = ["sweep", str(spec), "--db", str(tmp_path / "x.db"), "--csv", "--scheduler", cluster.address]
    code = (
        f"import sys\nfrom app.cli.main import main\nassert main({words!r}) == 0\n"
        "print([name for name in ('numpy', 'jinja2') if name in sys.modules])\n"
        "import numpy, jinja2, yaml\nprint(yaml.safe_load.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    *cells, loaded, reads = done.stdout.splitlines()
    assert (len(cells), loaded, reads) == (13, "[]", "yaml")


def test_a_graph_of_megabytes_is_sent_as_well(cluster, kernelglass, spec):
    (spec.parent / "large.py").write_text(
        "import numpy as np\nfrom compiler import Graph, TensorType, ops\n\n"
        "def build():\n"
        "    with Graph('large', inputs=[TensorType('f32', (8, 512))]) as graph:\n"
        "        graph.output(graph.inputs[0] @ ops.constant(np.random.rand(512, 1024).astype('f4')))\n"
        "    return graph\n"
    )
    spec.write_text('sources = ["large.py", "scale.py"]\nlevels = [1]')
    cells = document(kernelglass("sweep", spec, "--json", "--scheduler", cluster.address))["cells"]
    assert [cell["status"] for cell in cells] == ["done", "done"]


def test_nobody_is_asked_for_a_sweep_of_which_nothing_is_left(kernelglass, spec):
    spec.write_text('sources = ["scale.py"]\nlevels = [0]')
    done = document(kernelglass("sweep", spec, "--json"))
    assert document(kernelglass("sweep", spec, "--json", "--scheduler", "tcp://127.0.0.1:9")) == done


def test_killing_the_client_of_a_cluster_repeats_no_finished_cell(cluster, spec, tmp_path):
    db = tmp_path / "kept.db"
    command = [sys.executable, "-m", "app", "sweep", str(spec), "--db", str(db), "--scheduler", cluster.address]
    client = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and compilations(db) < 3:
        time.sleep(0.01)  # for another process, which says nothing until it is done
    client.kill()
    client.wait()
    with open_store(db) as store:
        done = {str(each.cell): each.compilation for each in outcomes(store, read_spec(spec)) if each.status == DONE}
    assert len(done) >= 3
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    with open_store(db) as store:
        found = {str(each.cell): each.compilation for each in outcomes(store, read_spec(spec))}
        assert queries.totals(store)["compilations"] == 12 and len(set(found.values())) == 12
        assert {cell: found[cell] for cell in done} == done


def test_ctrl_c_is_one_line_and_leaves_nobody_behind(spec, tmp_path):
    command = [sys.executable, "-m", "app", "sweep", str(spec), "--db", str(tmp_path / "x.db"), "--scheduler", "local"]
    client = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not compilations(tmp_path / "x.db"):
        time.sleep(0.02)  # for another process, which says nothing until it is done
    children = psutil.Process(client.pid).children(recursive=True)
    os.killpg(client.pid, signal.SIGINT)  # all that a terminal's Ctrl+C reaches
    _, words = client.communicate(timeout=60)
    assert (client.returncode, words.strip()) == (130, "kernelglass: interrupted")
    assert psutil.wait_procs(children, timeout=20)[1] == []


def swept_under_fire(cluster, spec, db, kills):
    """A sweep while workers are killed, one whenever a cell is done; how many were, and what came of the cells."""
    asked, killed = read_spec(spec), []

    def kill_one(progress):
        alive = [pid for pid in worker_processes() if pid not in killed]
        if alive and len(killed) < kills and progress.running:
            os.kill(alive[0], signal.SIGKILL)
            killed.append(alive[0])

    with open_store(db) as store:
        run_cells(store, asked, asked.cells, ClusterWorkers(lambda: cluster), kill_one)
        return len(killed), outcomes(store, asked), queries.totals(store)["compilations"]


def test_a_killed_worker_loses_no_cell_and_doubles_none(cluster, spec, tmp_path):
    killed, found, kept = swept_under_fire(cluster, spec, tmp_path / "kept.db", 1)
    assert killed == 1 and kept == 12
    assert [each.status for each in found] == [DONE] * 12 and len({each.compilation for each in found}) == 12


def test_work_for_a_worker_that_came_back_elsewhere_is_done(cluster):
    """One that was chosen may be gone when work is sent: nothing is bound to an address that nobody has any more."""
    gone = replace(cluster.useful()[0], address="tcp://127.0.0.1:1")
    found: list[bytes] = []
    asked = threading.Thread(
        target=lambda: found.extend(each.parcel for each in answers(cluster, bytes.upper, [b"a", b"b"], [gone])),
        daemon=True,
    )
    asked.start()
    asked.join(60)
    assert sorted(found) == [b"A", b"B"]


@pytest.mark.slow
def test_ten_killed_workers_lose_no_cell_and_double_none(cluster, spec, tmp_path):
    spec.write_text(SWEEP + 'flows = ["all-kernel", "per-kernel"]')
    killed, found, kept = swept_under_fire(cluster, spec, tmp_path / "kept.db", 10)
    assert killed == 10 and kept == 24
    assert [each.status for each in found] == [DONE] * 24 and len({each.compilation for each in found}) == 24


@pytest.mark.slow
def test_a_task_of_no_work_takes_less_than_five_milliseconds(cluster):
    parcels = [f"task {number}".encode() for number in range(1000)]
    began = time.perf_counter()
    found = {answer.number: answer.parcel for answer in answers(cluster, bytes.upper, parcels, cluster.useful())}
    took = time.perf_counter() - began
    assert found == {number: parcel.upper() for number, parcel in enumerate(parcels)}
    assert took / 1000 < 0.005, took


def objects(graph, options, tmp_path, name):
    """The machine code of a compilation with an empty cache of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_CACHE", str(tmp_path / name))
        model = compile_graph(graph, options)
        again = compile_graph(graph, options)
    assert again.stats["cache"]["hits"]
    return model._objects, model  # what was compiled; a kernel's own `unit` is made on demand


@pytest.mark.parametrize("flow", ["all-kernel", "per-kernel"])
@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize("sample", ["mlp", "transformer-block"])  # too little for several processes here, and enough
def test_a_farm_makes_the_same_bits(cluster, tmp_path, sample, flow, target):
    graph = load_source(f"sample:{sample}").graph
    options = CompileOptions(target, flow, jobs=2)
    here, _ = objects(graph, options, tmp_path, "here")
    with farmed(cluster):
        there, model = objects(graph, options, tmp_path, "there")
    assert here and here == there
    assert {record.worker for record in model.trace.passes if record.name == "llvm"} <= {1, 2}


def test_a_farm_does_the_tasks_of_a_lost_worker_again(cluster, tmp_path):
    graph = load_source("sample:many-kernels:12").graph
    options = CompileOptions("cpu", "per-kernel", jobs=2)
    here, _ = objects(graph, options, tmp_path, "here")
    done = threading.Event()

    def watch(stage, name, kernel):
        if stage == "compiled" and not done.is_set():
            done.set()
            os.kill(worker_processes()[0], signal.SIGKILL)

    with farmed(cluster), pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGLASS_CACHE", str(tmp_path / "there"))
        model = compile_graph(graph, options, watch=watch)
    assert done.is_set() and model._objects == here


def test_a_farm_tells_what_llvm_says(cluster, kernelglass, tmp_path):
    (tmp_path / "two.py").write_text(TWO)
    status, out, err = kernelglass("compile", tmp_path / "two.py", "--no-cache", "--scheduler", cluster.address)
    assert (status, err) == (0, "") and "softmax" in out


def test_a_described_processor_is_the_one_that_was_described():
    host = get_target("cpu")
    found = get_target(host.portable_name)
    assert (found.triple, found.cpu, found.features, found.simd_bytes) == (
        host.triple, host.cpu, host.features, host.simd_bytes,
    )  # fmt: skip
    assert get_target("sm_90a").portable_name == "sm_90a"


def test_a_scheduler_that_is_terminated_takes_down_all_that_it_made():
    command = [sys.executable, "-m", "app", "cluster", "local", "--workers", "1", "--port", "0"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and "tcp://127.0.0.1:" in process.stdout.readline()
    children = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (128 + signal.SIGTERM, "")
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


ENDLESS = """
import pathlib, time
def build():
    pathlib.Path("begun").touch()
    time.sleep(600)
"""
HALFWAY = ["compile", "sample:mlp", "--no-cache"], ["cluster", "plan", "sample:mlp", "--measure", "1"]


@pytest.mark.parametrize("words", [["sweep", "endless.toml"], *HALFWAY], ids=lambda words: words[0])
def test_a_command_that_is_terminated_takes_down_the_cluster_that_it_made(tmp_path, words):
    """A sweep while it works; the others as soon as there is a process of theirs, which may be halfway."""
    (tmp_path / "endless.py").write_text(ENDLESS)
    (tmp_path / "endless.toml").write_text("sources = ['endless.py']\n")
    own = {f"KERNELGLASS_{name}": str(tmp_path / name) for name in ("DB", "CONFIG", "CACHE")}
    command = [sys.executable, "-m", "app", *words, *(["--scheduler", "local"] if words[0] != "cluster" else [])]
    process = subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, **own, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None:
        children = psutil.Process(process.pid).children(recursive=True)
        if (tmp_path / "begun").exists() or (words[0] != "sweep" and _spawned(children)):
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and "leaked" not in said and "Traceback" not in said
    _, alive = psutil.wait_procs(children, timeout=60)
    assert not alive


def _spawned(processes: list[psutil.Process]) -> bool:
    """Whether one of them is a worker, or about to be one."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            if "multiprocessing.spawn" in " ".join(process.cmdline()):
                return True
    return False
