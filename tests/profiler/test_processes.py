"""A run shared between processes: which did what, and how what they found is joined."""

import os
import subprocess
import sys

import profiled_graphs as graphs
from recorded_runs import run_and_record

from compiler import compile
from profiler.analysis.undisturbed import times_of, yardsticks_of
from profiler.measure.measuring import measure
from profiler.measure.outcome import Outcome
from profiler.measure.processes import joined, process_requests
from profiler.records import FAILED, FINISHED, LOST, WHOLE, Counter, MeasuredRun, MeasureRequest
from profiler.store import queries


def test_a_run_is_shared_between_processes_and_its_samples_tell_which(store):
    graph, arrays = graphs.two_kernels(), [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    heard = []
    run, outcome = run_and_record(
        store, MeasureRequest("two", repeat=120, processes=3), graph, arrays, outputs=True, progress=heard.append
    )
    result = outcome.result
    assert result.status == FINISHED and result.processes == (12, 12, 12)
    assert len(result.samples) == len(result.lost) == len(result.lost_traced) == 120 == sum(result.blocks)
    assert all(len(launch.samples) == 120 and launch.flops and launch.key for launch in result.launches)
    assert len(outcome.outputs) == 1 and outcome.compilation is not None and result.memory["planned_peak"]
    assert len(result.conditions["each_process"]) == 3 and "process 3, compiled" in heard
    assert len(yardsticks_of(result.conditions)) == 3 == len(times_of(result).slowness)
    row = queries.run_row(store, run)
    assert row["conditions"]["processes"] == [12, 12, 12] and row["request"]["processes"] == 3
    samples = queries.run_samples(store, run)
    assert tuple(samples[WHOLE]) == result.samples
    assert LOST not in samples or tuple(samples[LOST]) == result.lost


def test_counters_of_processes_are_joined_by_their_names():
    def outcome(*counters):
        result = MeasuredRun(FINISHED, (5, 6), (2,), counters=tuple(Counter(*c) for c in counters))
        return Outcome(result)

    with_cycles = outcome(("cycles", 10.0, "events"), ("user time", 1.0, "s"), ("device memory, peak", 8.0, "B"))
    without = outcome(("user time", 2.0, "s"), ("cycles", None, "events", "not allowed"),
                      ("device memory, peak", 64.0, "B"))  # fmt: skip
    found = {c.name: c for c in joined([with_cycles, without], MeasureRequest("x")).result.counters}
    assert found["user time"].value == 3.0 and found["device memory, peak"].value == 64.0
    assert found["cycles"].value is None and found["cycles"].note == "not allowed"


def test_a_few_calls_are_not_worth_more_processes():
    assert [len(process_requests(MeasureRequest("x", repeat=n, processes=5))) for n in (1, 23, 24, 60, 100, 1000)] == [
        1, 1, 1, 2, 5, 5,
    ]  # fmt: skip
    parts = process_requests(MeasureRequest("x", repeat=1001, processes=5, budget=2.0))
    assert sum(part.repeat for part in parts) == 1001 and {part.processes for part in parts} == {1}
    assert [part.budget for part in process_requests(MeasureRequest("x", processes=4, budget=2.0))] == [0.5] * 4


def test_a_process_that_crashes_fails_the_run_and_keeps_what_was_compiled(store, library, monkeypatch):
    from profiler.measure import measuring

    once = measuring.measure_once
    seen = []

    def second_one_crashes(request, graph, arrays, **more):
        seen.append(request)
        bad = len(seen) == 2
        return once(request, graphs.custom("crash") if bad else graph, arrays, **more)

    monkeypatch.setattr(measuring, "measure_once", second_one_crashes)
    request = MeasureRequest("x", libraries=(library,), processes=3, budget=0.2)
    run, outcome = run_and_record(store, request, graphs.custom("wrong"), [graphs.array(64, 64)])
    assert outcome.result.status == FAILED and "in process 2 of 3" in outcome.result.error and len(seen) == 2
    assert "crash" in outcome.result.kernel and queries.run_row(store, run)["compilation"]


CHILD = """
import socket, sys, threading
import profiled_graphs as graphs
from compiler.artifact.graph_document import document_of
from compiler.processes.frames import Channel, memory_file
from profiler.measure.cpu import answering, child
from profiler.records import MeasureRequest

arrays = (graphs.array(64, 64), graphs.array(64, 64, seed=1))
asked = answering.Measure(MeasureRequest("two", repeat=2), document_of(graphs.two_kernels()), arrays, brief=True)
ours, theirs = socket.socketpair()
parent = Channel(ours, answering.ANSWERS)
said = []

def talk():
    parent.send(asked)
    while not said or type(said[-1]).__name__ not in ("MeasuredRun", "Refusal"):
        said.append(parent.receive().value)

thread = threading.Thread(target=talk)
thread.start()
with memory_file() as page:
    page.truncate(answering.SHARED_BYTES)
    child.serve(Channel(theirs, child.KNOWN), str(page.fileno()))
thread.join()
print([type(each).__name__ for each in said][-1], "xdsl" in sys.modules)
"""


def test_a_later_process_finds_its_model_in_the_cache_and_starts_without_xdsl():
    compile(graphs.two_kernels())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["MeasuredRun", "False"], done.stderr


def test_what_a_process_loads_is_compiled_by_the_first_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "cache"))
    written = []
    for graph, arrays in ((graphs.two_kernels(), 2), (graphs.two_kernels(), 2), (graphs.custom("wrong"), 1)):
        given = [graphs.array(64, 64, seed=seed) for seed in range(arrays)]
        measure(MeasureRequest("x", repeat=1), graph, given)
        (methods,) = [path for path in (tmp_path / "cache" / "methods").rglob("*") if path.is_file()]
        written.append(methods.stat().st_ino)
    assert len(set(written)) == 1, "one that compiles, one from the cache and one that fails need the same"
