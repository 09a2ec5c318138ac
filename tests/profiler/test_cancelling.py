"""A run that is no longer wanted ends at once, wherever it is, and its record says so."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import profiled_graphs as graphs
import psutil
import pytest
from recorded_runs import run_and_record

from compiler.options import CompileOptions
from profiler.keeping import begin
from profiler.measure.cuda.messages import Running
from profiler.measure.cuda.worker import CudaWorker
from profiler.measure.machine import this_machine
from profiler.measure.measuring import measure
from profiler.records import FAILED, INTERRUPTED, MeasureRequest
from profiler.store import open_store, queries, writer
from profiler.store.interrupted import mark_interrupted

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REQUEST = MeasureRequest("two", device="cuda:0", options=CompileOptions("sm_90"), processes=3)


@pytest.fixture
def hanging(monkeypatch):
    """Runs "on a card" go to a real child process, which never comes back from the last kernel of its third call."""

    class Hanging(CudaWorker):
        started: list[int] = []
        heard: list[Running] = []
        module = "hanging_device"

        def _started(self):
            child = super()._started()
            self.started.append(child.pid)
            receive = child.channel.receive

            def received(wait):
                found = receive(wait)
                self.heard.append(found.value)
                return found

            child.channel.receive = received
            return child

        @classmethod
        def hangs(cls):
            """Whether the last kernel of the third call is known to run."""
            calls = [running.call for running in cls.heard]
            return 3 in calls and calls.count(3) == calls.count(1)

    monkeypatch.setattr("profiler.measure.cuda.worker.CudaWorker", Hanging)
    monkeypatch.setattr("recorded_runs.machine_with", lambda device: this_machine())
    return Hanging


def arrays():
    return [graphs.array(64, 64), graphs.array(64, 64, seed=1)]


def gone(pid):
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_a_run_on_a_card_is_cancelled_and_kept_as_interrupted(store, hanging):
    begun = []
    run, outcome = run_and_record(
        store, REQUEST, graphs.two_kernels(), arrays(), progress=lambda _: begun.append(time.monotonic()),
        cancelled=hanging.hangs,
    )  # fmt: skip
    assert time.monotonic() - begun[0] < 30
    row = queries.run_row(store, run)
    last = outcome.compilation.kernels[-1].name
    assert (row["status"], row["kernel"], row["signal"]) == (INTERRUPTED, last, None)
    assert row["error"] == f"was cancelled in kernel {last} (call 3 of the model)"
    assert row["compilation"], "what was compiled is kept all the same"
    assert len(hanging.started) == 1 and gone(hanging.started[0]), "no other process is started for it"


def test_a_run_on_a_card_that_has_no_end_says_its_limit(hanging):
    request = MeasureRequest("two", device="cuda:0", options=CompileOptions("sm_90"), processes=3, time_limit=6)
    result = measure(request, graphs.two_kernels(), arrays()).result
    assert result.status == FAILED and "had no end within the time limit of 6 s in kernel" in result.error


@pytest.fixture
def interruptible():
    """Ctrl+C as a program has it: processes that run tests side by side ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_wait_ends_the_child_at_once(hanging):
    from profiler.measure.cuda.messages import CudaRequest
    from profiler.measure.cuda.program import program_of

    def interrupt():
        while not hanging.hangs():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    worker = hanging()
    with worker:
        threading.Thread(target=interrupt, daemon=True).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            worker.run(CudaRequest(program_of(_model(), {}), tuple(arrays())), 60)
        assert time.monotonic() - start < 8 and worker.pid is None
    assert all(gone(pid) for pid in hanging.started)


def _model():
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph

    return compile_graph(graphs.two_kernels(), CompileOptions(target="sm_90"))


def test_a_child_on_a_card_does_not_outlive_a_parent_that_was_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from profiler.keeping import begin
from profiler.measure.cuda.worker import CudaWorker
worker = CudaWorker()
print(worker._started().pid, flush=True)
time.sleep(60)
""")
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    time.sleep(2)  # it has imported what it needs and waits for a request
    os.kill(child, signal.SIGSTOP)  # as a child in a kernel: it does not see its input end
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while not gone(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    alive = not gone(child)
    if alive:
        os.kill(child, signal.SIGKILL)
    assert not alive


def test_runs_made_in_turns_are_interrupted_together(tmp_path):
    from profiler.measure.in_turns import Contender, run_in_turns

    graph = graphs.two_kernels()
    begun = []
    with open_store(tmp_path / "t.db") as store:
        contender = Contender(MeasureRequest("two", budget=30.0), graph, arrays())
        with pytest.raises(Exception, match="cancelled"):
            run_in_turns(
                store, (contender, contender), 4, progress=lambda _: begun.append(time.monotonic()),
                cancelled=lambda: time.monotonic() - begun[0] > 0.5,
            )  # fmt: skip
        assert [queries.run_row(store, run)["status"] for run in (1, 2)] == [INTERRUPTED] * 2
        assert mark_interrupted(store) == 0


def test_an_interrupt_just_after_a_run_was_noted_leaves_none_that_seems_to_run(tmp_path, monkeypatch):
    begin_run = writer.begin_run

    def noted_then_interrupted(*given):
        begin_run(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(writer, "begin_run", noted_then_interrupted)
    with pytest.raises(KeyboardInterrupt):
        begin(tmp_path / "t.db", MeasureRequest("sample:mlp"), this_machine(), needed=True)
    with open_store(tmp_path / "t.db") as store:
        (run,) = store.rows("SELECT status, error FROM runs")
    assert (run["status"], run["error"]) == ("interrupted", "interrupted by the user")
