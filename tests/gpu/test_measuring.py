"""Measuring on the device gives what measuring on the CPU gives: samples, launches, counts, memory, conditions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorded_runs import run_and_record

from compiler import BufferType, Graph, TensorType, ops
from compiler.options import CompileOptions
from profiler.analysis.compare import compare_runs
from profiler.analysis.statistics import summarise
from profiler.measure.measuring import measure
from profiler.records import FAILED, FINISHED, MeasureRequest
from profiler.store import open_store, queries

pytestmark = pytest.mark.gpu
ALONE = True

KERNELS = """
@kernel("gpu_crash_later")
def gpu_crash_later(out: Tensor, x: Tensor):
    if x[position((0,))] > 40.0:
        out[position((index(1) << 44,))] = x[position((0,))]
    out[position((thread_index() % 64,))] = x[position((thread_index() % 64,))]
"""


def _graph(rows: int = 256) -> tuple[str, list[np.ndarray]]:
    kinds = [TensorType("f32", (rows, 256)), TensorType("f32", (256, 256))]
    with Graph("measured", inputs=kinds) as graph:
        x, w = graph.inputs
        graph.output(ops.softmax(ops.relu(x @ w), axis=-1))
    rng = np.random.default_rng(0)
    return graph, [rng.random(kind.shape, dtype=np.float32) for kind in kinds]


def _request(device: Any, **more: Any) -> MeasureRequest:
    return MeasureRequest("measured", device="cuda:0", options=CompileOptions(device.target), **more)


def test_a_run_has_samples_launches_counts_memory_and_conditions(device: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        run, outcome = run_and_record(store, _request(device, budget=1.0), *_graph())
        result = outcome.result
        assert result.status == FINISHED, result.error
        assert run is not None and queries.run_row(store, run)["status"] == FINISHED
    assert len(result.blocks) >= 3 and sum(result.blocks) == len(result.samples)
    assert len(result.launches) >= 2
    for launch in result.launches:
        assert len(launch.samples) == len(result.samples) and min(launch.samples) > 0
        assert launch.flops and launch.bytes and launch.loads and launch.stores
    assert result.conditions["buffer_sets"] > 1, "these buffers fit into the cache many times over"
    assert "threads" not in result.conditions and result.conditions["load"]
    named = {counter.name: counter.value for counter in result.counters}
    assert named["device memory, peak"] and named["graph replay"]
    assert result.memory["device"]["total"] > result.memory["device"]["peak"] > 0
    (stream,) = result.timeline
    assert len(stream) == len(result.launches)


def test_it_stops_when_the_median_is_known_and_takes_exactly_the_calls_asked_for(device: Any) -> None:
    wide = measure(_request(device, budget=20.0, width=0.5, count=False), *_graph()).result
    assert wide.conditions["interval_reached"] and len(wide.blocks) == 12
    exact = measure(_request(device, repeat=17, count=False), *_graph()).result
    assert len(exact.samples) == 17


def test_data_that_stays_in_cache_is_not_slower(device: Any) -> None:
    medians = []
    for rotate in (False, True):
        result = measure(_request(device, budget=1.0, rotate=rotate, count=False), *_graph(64)).result
        assert (result.conditions["buffer_sets"] > 1) is rotate
        medians.append(summarise(result.samples, result.blocks).median)
    assert medians[0] <= medians[1] * 1.2, medians


def test_a_run_in_several_processes_compared_with_itself_shows_no_difference(device: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        runs = []
        for _ in range(2):
            run, outcome = run_and_record(store, _request(device, processes=5, budget=2.0, count=False), *_graph())
            assert outcome.result.status == FINISHED and len(outcome.result.processes) == 5
            assert run is not None
            runs.append(run)
        comparison = compare_runs(store, runs)
    verdicts = [comparison.verdicts[1], *(kernel.verdicts[1] for kernel in comparison.kernels)]
    assert all(verdict is not None and verdict.method == "processes" for verdict in verdicts)
    print(verdicts)


def test_a_fault_in_a_later_call_names_its_kernel(device: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(KERNELS)
    kind = TensorType("f32", (64,))
    with Graph("later", inputs=[BufferType("f32", (64,)), TensorType("f32", (64, 64))]) as graph:
        total, x = graph.inputs
        ops.buffer_store(total, ops.buffer_load(total) + 1)
        graph.output(ops.softmax(x, axis=1) + ops.custom("gpu_crash_later", [ops.buffer_load(total)], kind))
    arrays = [np.zeros(64, np.float32), np.ones((64, 64), np.float32)]
    request = _request(device, repeat=200, rotate=False, libraries=(str(tmp_path),), count=False)
    result = measure(request, graph, arrays).result
    assert result.status == FAILED and "CUDA_ERROR" in result.signal
    assert "gpu_crash_later" in result.kernel and "in kernel gpu_crash_later" in result.error


def test_the_command_line_speaks_of_the_device(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from app.cli.main import main

    assert main(["run", "sample:mlp", "--device", "cuda:0", "--no-db", "--processes", "1"]) == 0
    text = capsys.readouterr().out
    assert "None" not in text and " thread" not in text.split("\n")[1]
    assert "on the device at most" in text
    assert main(["run", "sample:mlp", "--device", "cuda:0", "--no-db", "--processes", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["threads"] is None and all(launch["loads"] for launch in document["launches"])
