"""Runs happen in a child process: good ones give times, bad ones a failed record with the signal and the kernel."""

import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import profiled_graphs as graphs
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import run_and_record

from compiler import Graph, TensorType, compile, load_library, ops, reference
from compiler.backend.runtime import default_threads
from compiler.options import CompileOptions
from profiler.measure.ceilings.cpu_probes import LIBRARY, multiply_rounds
from profiler.measure.cpu.native import BoundProgram
from profiler.measure.cpu.timing import buffer_sets, time_program
from profiler.measure.machine import cache_sizes, conditions, machine_with, this_machine, with_card
from profiler.measure.measuring import measure
from profiler.records import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    MeasureRequest,
    request_from_json,
    request_to_json,
)
from profiler.store import queries


def test_a_run_gives_outputs_times_launches_counters_and_memory():
    graph, arrays = graphs.two_kernels(), [graphs.array(64, 64), graphs.array(64, 64, seed=1)]
    outcome = measure(MeasureRequest("two", repeat=20), graph, arrays, outputs=True, texts=True)
    result = outcome.result
    assert (result.status, result.error, outcome.error) == (FINISHED, "", None)
    np.testing.assert_allclose(outcome.outputs[0], reference(graph, *arrays)[0], rtol=1e-5)
    assert len(result.samples) == 20 == sum(result.blocks) and min(result.samples) > 0
    assert outcome.compilation is not None and outcome.compilation.passes and outcome.compilation.kernels
    assert {launch.kernel for launch in result.launches} == {kernel.name for kernel in outcome.compilation.kernels}
    for launch in result.launches:
        assert len(launch.samples) == 20 and min(launch.samples) > 0 and launch.flops and launch.bytes and launch.loads
    assert {stage.stage for stage in outcome.stages} >= {"mo", "kernel", "llvm", "asm"}
    named = {counter.name: counter for counter in result.counters}
    assert named["resident memory, highest"].value > 1e6 and "involuntary context switches" in named
    assert all(counter.value is not None or counter.note for counter in result.counters)
    assert result.memory["planned_peak"] >= result.memory["alive_peak"] > 0 and result.memory["resident"]["after"]
    assert len(result.timeline) == result.conditions["threads"]
    assert result.conditions["buffer_sets"] > 1 and result.conditions["load"]


def test_without_a_number_of_calls_it_stops_when_the_budget_is_spent():
    start = time.monotonic()
    request = MeasureRequest("scale", dims={"M": 256}, budget=0.2, width=1e-9)
    result = measure(request, graphs.scale(), [graphs.array(256, 64)]).result
    assert result.status == FINISHED and len(result.samples) > 10 and time.monotonic() - start < 60
    assert not result.conditions["interval_reached"]


def test_a_crash_is_a_failed_run_that_names_signal_and_kernel(store, library):
    request = MeasureRequest("crash", libraries=(library,), repeat=3)
    run, outcome = run_and_record(store, request, graphs.custom("crash"), [graphs.array(64, 64)])
    assert outcome.result.status == FAILED and outcome.result.signal in ("SIGSEGV", "SIGBUS")
    assert "crash" in outcome.result.kernel and outcome.result.kernel in outcome.result.error
    row = queries.run_row(store, run)
    assert (row["status"], row["signal"], row["kernel"]) == (FAILED, outcome.result.signal, outcome.result.kernel)
    assert row["compilation"] and queries.kernels(store, row["compilation"])


def test_a_hang_ends_at_the_time_limit_and_names_the_kernel(library):
    request = MeasureRequest("hang", libraries=(library,), repeat=3, time_limit=20)
    compiled = []
    start = time.monotonic()

    def progress(words):
        compiled.append(time.monotonic())

    outcome = measure(
        request, graphs.custom("hang"), [graphs.array(64, 64)], progress=progress,
        cancelled=lambda: bool(compiled) and time.monotonic() - compiled[0] > 1.5,
    )  # fmt: skip
    assert outcome.result.status == INTERRUPTED and "hang" in outcome.result.kernel and not outcome.result.signal
    assert "was cancelled in kernel" in outcome.result.error and time.monotonic() - start < 60


@pytest.mark.parametrize("threads", [1, 2])
def test_a_crash_in_a_later_call_names_the_kernel_and_the_call(store, library, threads):
    request = MeasureRequest("later", libraries=(library,), repeat=200, rotate=False, threads=threads)
    arrays = [np.zeros(64, np.float32), graphs.array(64, 64)]
    run, outcome = run_and_record(store, request, graphs.counting("crash_later"), arrays)
    assert outcome.result.signal in ("SIGSEGV", "SIGBUS") and outcome.result.kernel == "crash_later_kernel"
    assert "in kernel crash_later_kernel (call 41 of the model)" in outcome.result.error
    row = queries.run_row(store, run)
    assert (row["kernel"], row["conditions"]["call"]) == ("crash_later_kernel", 41)
    assert len(queries.kernels(store, row["compilation"])) > 2


def test_a_hang_in_a_later_call_and_a_kill_in_a_kernel_name_it(library):
    begun = []

    def progress(words):
        for child in psutil.Process().children():
            if "profiler.measure.cpu.child" in child.cmdline():
                begun.append((child, child.cpu_times().user))

    def stuck():
        """Whether it has worked for far longer since it compiled than 41 calls take."""
        return bool(begun) and begun[0][0].cpu_times().user > begun[0][1] + 1

    def kill():
        """What the system does when memory runs out."""
        if stuck():
            begun[0][0].send_signal(signal.SIGKILL)
        return False

    request = MeasureRequest("later", libraries=(library,), repeat=200, rotate=False, time_limit=60)
    arrays = [np.zeros(64, np.float32), graphs.array(64, 64)]
    graph = graphs.counting("hang_later")
    killed = measure(request, graph, arrays, progress=progress, cancelled=kill).result
    assert killed.signal == "SIGKILL" and "lack of memory" in killed.error
    assert killed.kernel == "hang_later_kernel" and killed.conditions["call"] == 41
    begun.clear()
    hung = measure(request, graph, arrays, progress=progress, cancelled=stuck).result
    assert "cancelled in kernel hang_later_kernel (call 41" in hung.error


def test_a_child_that_is_done_without_times_has_failed():
    from profiler.measure.cpu.answering import SHARED_BYTES
    from profiler.measure.cpu.measuring import _outcome, _Received, _where

    where = _where(np.zeros(SHARED_BYTES // 8, np.int64), ())
    outcome = _outcome(where, MeasureRequest("x"), _Received(), 0, "", "")
    assert outcome.result.status == FAILED and outcome.result.error


def test_processor_time_taken_by_others_is_seen_call_by_call():
    # A call takes longer than a turn on the processor, so that turns end inside calls and not only between them.
    model, arrays = dependent(8_000_000)
    bound = BoundProgram(model.program, [arrays], 1)
    # Enough programs to have to share a processor with one; nobody says when, so it is tried until it was shared.
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        for _ in range(20):
            times, lost = bound.measure_watched(40, 0, 1)
            spans = times[:, 1] - times[:, 0]
            if lost.sum() > spans.min():
                break
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert lost.shape == spans.shape and (lost >= 0).all() and (lost <= spans).all()
    assert lost.sum() > spans.min(), "the processor was never shared, or nobody saw it"
    own = spans - lost  # the same work each time, however long it was kept waiting
    low, high = np.quantile(own, (0.1, 0.9))
    assert high < 1.5 * low
    assert spans.max() > 2 * high and lost[np.argmax(spans)] > 0.5 * (spans.max() - high)


def test_the_child_ends_with_a_parent_that_is_killed(library):
    code = (
        "import profiled_graphs as graphs\n"
        "from profiler.measure.measuring import measure; from profiler.records import MeasureRequest\n"
        f"request = MeasureRequest('hang', libraries=({library!r},))\n"
        "say = lambda words: print(words, flush=True)\n"
        "measure(request, graphs.custom('hang'), [graphs.array(64, 64)], progress=say)"
    )
    folder = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": str(folder.parents[1])}
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=environment, stdout=subprocess.PIPE)
    assert parent.stdout is not None and parent.stdout.readline() == b"compiled\n"
    (child,) = psutil.Process(parent.pid).children()
    parent.kill()
    parent.wait()
    psutil.wait_procs([child], timeout=10)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_time_limit_is_kept_even_while_compiling():
    outcome = measure(MeasureRequest("slow", time_limit=0.05), graphs.scale(8), [graphs.array(8, 64)])
    assert outcome.result.status == FAILED and "time limit of 0.05 s" in outcome.result.error


def test_too_little_memory_is_a_failed_run(store):
    graph = Graph("big", inputs=[TensorType("f32", ("M", 1)), TensorType("f32", (1, "M"))])
    with graph:
        graph.output(ops.softmax(graph.inputs[0] + graph.inputs[1], axis=1))
    arrays = [graphs.array(40_000, 1), graphs.array(1, 40_000)]
    request = MeasureRequest("big", dims={"M": 40_000}, repeat=1, memory_limit=4 << 30)
    run, outcome = run_and_record(store, request, graph, arrays)
    assert outcome.result.status == FAILED and "out of memory" in outcome.result.error
    assert queries.run_row(store, run)["status"] == FAILED


def test_a_child_that_the_system_kills_says_so():
    def kill(words):
        for child in psutil.Process().children():
            if "profiler.measure.cpu.child" in child.cmdline():
                child.send_signal(signal.SIGKILL)

    outcome = measure(MeasureRequest("x", budget=5), graphs.scale(8), [graphs.array(8, 64)], progress=kill)
    assert outcome.result.signal == "SIGKILL" and "lack of memory" in outcome.result.error


def test_files_where_the_user_works_do_not_hide_ours(tmp_path, monkeypatch):
    (tmp_path / "profiler.py").write_text("raise SystemExit('theirs')")
    (tmp_path / "numpy.py").write_text("raise SystemExit('theirs')")
    monkeypatch.chdir(tmp_path)
    result = measure(MeasureRequest("x", repeat=1), graphs.scale(8), [graphs.array(8, 64)]).result
    assert result.status == FINISHED, result.error


def test_an_error_in_the_graph_comes_back_as_itself(store):
    graph = graphs.custom("nonesuch")
    run, outcome = run_and_record(store, MeasureRequest("x"), graph, [graphs.array(64, 64)])
    assert outcome.compiling and "nonesuch" in str(outcome.error)
    assert queries.run_row(store, run)["status"] == FAILED


def test_an_interrupted_program_leaves_an_interrupted_run(store):
    def stop(words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_and_record(store, MeasureRequest("x"), graphs.scale(8), [graphs.array(8, 64)], progress=stop)
    assert queries.run_row(store, 1)["status"] == INTERRUPTED
    assert not [c for c in psutil.Process().children() if "profiler.measure.cpu.child" in c.cmdline()]


def test_requests_survive_json_and_nothing_else_reads():
    request = MeasureRequest(
        "x", dims={"M": 3}, libraries=("a",),
        options=CompileOptions(sources=(("k", "text"),), force_cut=frozenset({("a", "b")})),
    )  # fmt: skip
    assert request_from_json(request_to_json(request)) == request
    flat = json.loads(request_to_json(request))
    assert flat["sources"] == [["k", "text"]] and flat["force_cut"] == [["a", "b"]] and "options" not in flat
    for text in (
        "",
        "null",
        "[]",
        "{}",
        '{"source": "x", "options": {}}',
        '{"source": "x", "opt_level": "high"}',
        '{"source": 1, "nonsense": 2}',
        '{"sources": 3}',
        "{",
    ):
        with pytest.raises(Exception, match="request"):
            request_from_json(text)


RECORDS = [
    ("Compiled", {"record": {}, "calls": []}), ("StageRecord", None), ("Probed", {"outputs": [1]}),
    ("MeasuredRun", {"samples": []}), ("MeasuredRun", {"status": "finished", "launches": [{"position": 1}]}),
    ("Refusal", {"kind": "X"}), ("Refusal", {"kind": "__name__", "message": "m"}), ("Block", {}), ("Block", []),
    ("Nonesuch", 3), ("Block", {"number": 3}),
]  # fmt: skip


@given(st.binary() | st.sampled_from(RECORDS))
def test_whatever_a_broken_child_sends_is_an_error_not_a_crash(sent):
    from compiler.processes.frames import Channel, Unreadable
    from profiler.measure.cpu.answering import ANSWERS
    from profiler.measure.cpu.measuring import _Received, _take

    ours, theirs = socket.socketpair()
    channel, received = Channel(ours, ANSWERS), _Received()
    if isinstance(sent, bytes):
        theirs.sendall(sent)
    else:
        Channel(theirs, {}).send(sent[1], sent[0])
    theirs.close()
    try:
        _take(received, channel.receive(), lambda words: None)
    except (Unreadable, EOFError) as error:
        assert "\n" not in str(error)
    channel.close()
    assert received.error is None or "\n" not in str(received.error)


def test_buffers_rotate_only_while_data_would_sit_in_cache():
    small = [graphs.array(64, 64)]
    assert len(buffer_sets(small, 0, True)) > 8 and len(buffer_sets(small, 0, False)) == 1
    large = [np.ones(2 * max(cache_sizes().values()) // 4, np.float32)]
    assert len(buffer_sets(large, 0, True)) == 1


def test_a_card_is_part_of_the_machine_it_runs_on():
    host = this_machine()
    cards = [with_card(host, {"name": name, "driver": "13.0"}) for name in ("one", "two", "two")]
    assert len({host.fingerprint, *(card.fingerprint for card in cards)}) == 3
    assert machine_with("cpu") is host and cards[0].name.startswith("one in ")


def test_the_machine_has_one_fingerprint_and_tells_its_load():
    assert this_machine() is this_machine() and len(this_machine().fingerprint) == 16
    assert {"load", "megahertz", "governor", "notes", "cores"} <= set(conditions())


def dependent(rounds, chains=1, threads=1):
    """A kernel of known cost: so many multiply-adds, each waiting for the one before, in each thread."""
    graph, array = multiply_rounds("f32", rounds, chains, threads)
    return compile(graph, library=load_library(LIBRARY)), [array]


@pytest.mark.skipif(default_threads() < 2, reason="needs two processors")
def test_two_threads_have_undisturbed_calls_beside_as_many_busy_programs():
    model, arrays = dependent(50_000, threads=2)
    bound = BoundProgram(model.program, [arrays], 2)
    bound.measure(3)
    loops = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(default_threads())]
    try:
        # Processors change their frequency with what others do, by more than that: one go must be without it.
        goes = [clean_calls(bound)]
        while statistics.median(goes[-1]) >= 1.1 * min(goes[-1]) and len(goes) < 12:
            time.sleep(0.25)
            goes.append(clean_calls(bound))
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    assert all(len(clean) >= 20 for clean in goes)
    assert statistics.median(goes[-1]) < 1.1 * min(goes[-1]), "what lost no processor time took as long as it takes"


def clean_calls(bound):
    """Times of calls that lost next to no processor time."""
    clean, begun = [], time.monotonic()
    while len(clean) < 20 and time.monotonic() - begun < 20:
        time.sleep(random.uniform(0, 0.01))
        times, lost = bound.measure_watched(32, 0, 1, seconds=0.05)
        spans = times[:, 1] - times[:, 0]
        clean += spans[lost <= 0.02 * spans].tolist()
    return clean


@pytest.mark.parametrize("steps", [1_000, 50_000_000])
def test_the_beginning_of_a_turn_is_not_timed(steps):
    """Whoever handed it out may still be at work on that, beside one side only."""
    model, arrays = dependent(steps)
    bound = BoundProgram(model.program, [arrays], 1)
    given, begun = iter([True, True, False]), []

    def turn(clean):
        begun.append((time.perf_counter(), bound.made))
        return next(given)

    timing = time_program(bound, 1, repeat=None, width=0.01, budget=0.01, turn=turn)
    assert len(timing.blocks) == 2
    for (first, before), (second, after), calls in zip(begun, begun[1:], timing.blocks):
        assert second - first > 5e-3 + calls * timing.samples.min() * 1e-9
        assert after - before == 2 * calls if steps > 1_000_000 else after - before > 2 * calls


@pytest.mark.parametrize("threads", [1, 2])
def test_the_yardstick_is_the_same_work_beside_any_model(threads):
    models = [dependent(1), dependent(1_000_000)]
    bounds = [BoundProgram(model.program, [arrays], threads) for model, arrays in models]
    spans = [[], []]
    for _ in range(100):  # in turns, so that both see the same machine
        for bound, found in zip(bounds, spans):
            took, lost = bound.measure_yardstick()
            assert np.all(lost <= threads * took) and bound.made == 0, "it is no call of the model"
            found += took.tolist()
    least = [min(found) for found in spans]
    assert min(least) > 5e3 and max(least) < 1.5 * min(least)


def test_measuring_costs_less_than_a_microsecond_a_launch():
    model, arrays = dependent(1)
    bound = BoundProgram(model.program, [arrays], 1)
    costs = []
    for _ in range(7):
        trace = bound.new_trace(20_000)
        start = time.process_time_ns()  # its own time: others may be running
        bound.measure(20_000, 0, trace)
        costs.append((time.process_time_ns() - start) / 20_000)
    assert statistics.median(costs) < 1000, costs


C_LOOP = """
#include <stdint.h>
#include <time.h>
typedef void (*kernel)(int64_t, int64_t, void *, void *, void *);
int64_t run(kernel k, int64_t count, void *out, void *in) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    for (int64_t i = 0; i < count; i++) k(0, 1, 0, out, in);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")
def test_times_agree_with_a_c_loop_within_2_percent(tmp_path):
    import ctypes

    (tmp_path / "loop.c").write_text(C_LOOP)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "loop.c", "-o", "loop.so"], cwd=tmp_path, check=True)
    loop = ctypes.CDLL(str(tmp_path / "loop.so")).run
    loop.restype = ctypes.c_int64
    model, arrays = dependent(20_000)
    bound = BoundProgram(model.program, [arrays], 1)
    kernel = ctypes.c_void_p(bound.kernel_address(model.kernels[0].name))
    out, source = np.zeros(64, np.float32), arrays[0]
    ours, theirs = [], []
    for _ in range(60):  # in turns, so that both see the same machine
        trace = bound.new_trace(20)
        bound.measure(20, 0, trace)
        ours += (trace[:, 0, 0, 1] - trace[:, 0, 0, 0]).tolist()
        theirs.append(
            loop(kernel, ctypes.c_int64(20), ctypes.c_void_p(out.ctypes.data), ctypes.c_void_p(source.ctypes.data)) / 20
        )
    one, two = np.quantile(ours, 0.25), np.quantile(theirs, 0.25)
    print(f"kernel of 20,000 dependent FMAs: ours {one / 1e3:.3f} us, C loop {two / 1e3:.3f} us, ratio {one / two:.4f}")
    assert abs(one / two - 1) < 0.02


@pytest.mark.slow
def test_storing_a_trace_costs_under_5_percent_of_compiling(store):
    from app.sources import load_source
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph
    from profiler.recording import record_compilation

    graph = load_source("sample:transformer-block").graph
    shares = []
    for _ in range(5):
        start = time.process_time()
        model = compile_graph(graph, CompileOptions(cache=False))
        compiling = time.process_time() - start
        assert model.stats  # what `stats` works out is the compiler's, not the store's
        start = time.process_time()
        record_compilation(store, model, "sample:transformer-block", compiling)
        shares.append((time.process_time() - start) / compiling)
    print(f"storing costs {statistics.median(shares):.2%} of compiling")
    assert statistics.median(shares) < 0.05
