"""What a card can do, measured on it: the kernels compute what they should, and the figures are the card's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler import load_library
from compiler.graph.dtypes import numpy_dtype
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.ceilings.cpu_probes import LIBRARY, Probe
from profiler.measure.ceilings.gpu_probes import CHAINS, STRAIGHT, gpu_probes
from profiler.measure.ceilings.measured import CARD, measured_ceilings, stored_ceilings
from profiler.measure.machine import machine_with
from profiler.store import open_store

pytestmark = pytest.mark.gpu

H200 = {
    "copy memory": (3800, 4800), "multiply-add f32": (50_000, 67_500), "multiply-add f64": (25_000, 34_500),
    "multiply-add f16": (100_000, 135_000), "multiply-add bf16": (100_000, 135_000), "tensor f16": (550_000, 1_000_000),
    "tensor bf16": (550_000, 1_000_000),
}  # fmt: skip
"""From well below what others reach to what is published, for one card whose figures are known."""


def _probes(device: Any, kernel: str) -> list[Probe]:
    found = [probe for probe in gpu_probes(device.record, device.target) if probe.kernel == kernel]
    if not found:
        pytest.skip(f"{device.target} has no instructions for {kernel}")
    return found


def _output(run: Any, device: Any, probe: Probe, *arrays: np.ndarray) -> np.ndarray:
    model = compile_graph(probe.graph, CompileOptions(target=device.target), load_library(LIBRARY))
    return run(model, list(arrays)).outputs[0]


def test_a_copy_is_a_copy(run: Any, device: Any) -> None:
    for probe in _probes(device, "gpu_copy"):
        assert np.array_equal(_output(run, device, probe, *probe.arrays), probe.arrays[0]), probe.name


def test_chains_add_up(run: Any, device: Any) -> None:
    rounds = 3
    for probe in _probes(device, "gpu_multiply"):
        kind = probe.arrays[0].dtype
        ones = np.full(probe.arrays[0].shape, 1, kind)
        found = _output(run, device, probe, ones, np.array([rounds], np.int64)).view(kind).astype(np.float64)
        wanted = CHAINS * (1 + rounds * STRAIGHT)
        slack = 0.02 if kind == numpy_dtype("bf16") else 0.0  # of those, eight bits are kept
        assert np.allclose(found, wanted, rtol=slack, atol=0), (probe.name, np.unique(found))


@pytest.mark.parametrize("kernel, sums, steps", [("gpu_tensor", 32, STRAIGHT // 4), ("gpu_warpgroup", 128, STRAIGHT)])
def test_products_add_up(run: Any, device: Any, kernel: str, sums: int, steps: int) -> None:
    rounds = 5
    for probe in _probes(device, kernel):
        ones = np.full(probe.arrays[0].shape, 1, probe.arrays[0].dtype)
        found = _output(run, device, probe, ones, np.array([rounds], np.int64))
        assert np.all(found == sums * 16 * steps * rounds), (probe.name, np.unique(found))


def test_ceilings_are_those_of_the_card_and_are_kept(device: Any, tmp_path: Path) -> None:
    with open_store(tmp_path / "t.db") as store:
        made = {c.name: c for c in measured_ceilings(store, device="cuda:0", progress=print)}
        kept = stored_ceilings(store, machine_with("cuda:0").fingerprint, CARD)
        assert {c.name: c for c in kept} == made
        assert measured_ceilings(store, device="cuda:0") == kept, "measured once"
    print(json.dumps({name: f"{c.value:.0f} ({c.low:.0f} to {c.high:.0f}) {c.unit}" for name, c in made.items()}))
    assert made["copy L2"].value > 1.1 * made["copy memory"].value
    assert made["multiply-add f16"].value > 0.9 * made["multiply-add f32"].value > 0.9 * made["multiply-add f64"].value
    if "tensor bf16" in made:
        assert made["tensor bf16"].value > 2 * made["multiply-add f32"].value
    if "H200" in device.name:
        wrong = {name: made[name].value for name, (low, high) in H200.items() if not low <= made[name].value <= high}
        assert not wrong


def test_a_run_on_the_card_lies_under_its_roofs(
    device: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app.cli.main import main

    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "t.db"))
    command = ["run", "sample:mlp", "--device", "cuda:0", "--processes", "1"]
    assert main(command) == 0
    assert main(["report", "latest", "-o", str(tmp_path / "r.html"), "--ceilings"]) == 0
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ceilings"] and all(0 < launch["share"] < 1.05 for launch in document["launches"])
    assert main(command) == 0
    assert "of roof" in capsys.readouterr().out
    assert "TFLOP/s" in (tmp_path / "r.html").read_text()


def test_a_run_on_the_card_can_be_cancelled(device: Any, tmp_path: Path) -> None:
    from time import monotonic

    from recorded_runs import run_and_record

    from profiler.records import INTERRUPTED, MeasureRequest
    from profiler.store import queries

    (probe,) = [probe for probe in _probes(device, "gpu_multiply") if probe.name.endswith("f32")]
    probe = replace(probe, arrays=(probe.arrays[0], np.array([1 << 40], np.int64)))  # for days
    begun: list[float] = []
    request = MeasureRequest(
        "long", device="cuda:0", options=CompileOptions(device.target), libraries=(str(LIBRARY),), count=False
    )
    with open_store(tmp_path / "t.db") as store:
        run, outcome = run_and_record(
            store, request, probe.graph, list(probe.arrays), progress=lambda _: begun.append(monotonic()),
            cancelled=lambda: bool(begun) and monotonic() - begun[0] > 8,
        )  # fmt: skip
        assert run is not None
        row = queries.run_row(store, run)
    assert monotonic() - begun[0] < 40
    assert outcome.result.status == row["status"] == INTERRUPTED and "cancelled" in row["error"]
    assert "gpu_multiply" in row["kernel"]
