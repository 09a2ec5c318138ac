"""A card's ceilings as far as no card is needed: what would be run is PTX that the chip's assembler takes, counts what
it says it counts, and what was measured is found again by machine and card and shown for runs on that card."""

import json

import pytest
import records_for_tests as records

from compiler import load_library
from compiler.backend.sass import find_tool, resources_of
from compiler.errors import ExecutionError, UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.analysis.roofline import roofline
from profiler.measure.ceilings.cpu_probes import LIBRARY
from profiler.measure.ceilings.gpu_probes import CHAINS, STRAIGHT, gpu_probes
from profiler.measure.ceilings.measured import CARD, ceiling_threads, ceilings_for, stored_ceilings
from profiler.measure.cuda.program import program_of
from profiler.measure.devices import CudaDevice
from profiler.measure.machine import this_machine, with_card
from profiler.records import Ceiling, CompiledKernel, MeasureRequest
from profiler.report.document import run_document
from profiler.report.write import export_run
from profiler.store import queries, writer

CARDS = {
    "sm_90a": CudaDevice(0, "large", "sm_90", 132, 140 << 30, "13.0", 50 << 20),
    "sm_80": CudaDevice(0, "older", "sm_80", 108, 40 << 30, "12.4", 40 << 20),
    "sm_75": CudaDevice(0, "small", "sm_75", 20, 4 << 30, "12.4", 0),
}
TWO_BUFFERS = 8  # bytes that a copy of one f32 moves


def compiled(probe, target):
    return compile_graph(probe.graph, CompileOptions(target=target), load_library(LIBRARY))


def probe_of(name, kernel=None, target="sm_90a"):
    return next(p for p in gpu_probes(CARDS[target], target) if p.name == name and kernel in (None, p.kernel))


def test_a_card_is_asked_for_what_it_has():
    names = {target: [(p.name, p.kernel) for p in gpu_probes(card, target)] for target, card in CARDS.items()}
    plain = ["copy memory", "copy L2", "multiply-add f64", "multiply-add f32", "multiply-add f16"]
    assert [name for name, _ in names["sm_75"]] == plain
    assert [name for name, _ in names["sm_80"]] == [*plain, "multiply-add bf16", "tensor f16", "tensor bf16"]
    assert {("tensor bf16", "gpu_tensor"), ("tensor bf16", "gpu_warpgroup")} <= set(names["sm_90a"])


def test_copies_are_larger_than_every_cache_or_lie_within_l2():
    for target, card in CARDS.items():
        beyond, within = (probe_of(name, target=target).graph for name in ("copy memory", "copy L2"))
        sizes = []
        for graph in (beyond, within):
            model = compile_graph(graph, CompileOptions(target=target), load_library(LIBRARY))
            program = program_of(model, {})
            step = next(step for step in program.steps if "gpu_copy" in step.kernel)
            sizes.append(program.slots[step.slots[0]].bytes)
            assert 2 * sizes[-1] <= card.memory_bytes // 8, "a card that is in use has that much to spare"
            assert sum(program.slots[slot].bytes for slot in program.outputs) < 1 << 20
        assert sizes[0] >= min(8 * card.l2_bytes, card.memory_bytes // 16) and sizes[0] >= 100 << 20
        assert 2 * sizes[1] <= (card.l2_bytes or 32 << 20) // 2


@pytest.mark.parametrize("target", CARDS)
def test_what_is_run_is_code_the_assembler_takes(target):
    try:
        find_tool("ptxas")
    except UnavailableError as missing:
        pytest.skip(str(missing))
    if target == "sm_75":
        pytest.skip("the assembler at hand may be too new for so old a chip")
    for probe in gpu_probes(CARDS[target], target):
        model = compiled(probe, target)
        kernel = next(kernel for kernel in model.kernels if probe.kernel in kernel.name)
        (used,) = resources_of(kernel.unit.object, target)
        assert not used.spill_loads and not used.spill_stores, (probe.name, used)
        threads = next(s.threads for s in program_of(model, {}).steps if s.kernel == kernel.name)
        resident = {"gpu_warpgroup": 2, "gpu_tensor": 2, "gpu_multiply": 4}.get(probe.kernel, 2)
        assert used.registers * threads * resident <= 65536, (probe.name, used)


FMAS, MMAS = CHAINS * STRAIGHT, 8 * STRAIGHT // 4
IN_A_LOOP = [
    ("multiply-add f32", "gpu_multiply", "fma.rn.f32", FMAS, 2),
    ("multiply-add f64", "gpu_multiply", "fma.rn.f64", FMAS, 2),
    ("multiply-add f16", "gpu_multiply", "fma.rn.f16x2", FMAS, 4),
    ("multiply-add bf16", "gpu_multiply", "fma.rn.bf16x2", FMAS, 4),
    ("tensor f16", "gpu_tensor", "mma.sync.aligned.m16n8k16", MMAS, 2 * 16 * 8 * 16 / 32),
    ("tensor bf16", "gpu_tensor", "mma.sync.aligned.m16n8k16", MMAS, 2 * 16 * 8 * 16 / 32),
    ("tensor f16", "gpu_warpgroup", "wgmma.mma_async.sync.aligned.m64n256k16", STRAIGHT, 2 * 64 * 256 * 16 / 128),
    ("tensor bf16", "gpu_warpgroup", "wgmma.mma_async.sync.aligned.m64n256k16", STRAIGHT, 2 * 64 * 256 * 16 / 128),
]


@pytest.mark.parametrize("name, kernel, instruction, count, each", IN_A_LOOP)
def test_the_work_that_is_reckoned_is_the_work_in_the_loop(name, kernel, instruction, count, each):
    """`each` is the operations of one thread's share of an instruction."""
    probe = probe_of(name, kernel)
    model = compiled(probe, "sm_90a")
    (found,) = model.kernels
    loop = found.ir("ptx").split("$L__BB0_")
    inside = max(part.count(instruction) for part in loop)
    assert inside == count
    (step,) = program_of(model, {}).steps
    rounds = int(probe.arrays[1][0])
    assert probe.work == pytest.approx(step.blocks[0] * step.threads * rounds * count * each * 1e-9)


def test_a_copy_reads_past_l1_and_moves_what_it_says():
    probe = probe_of("copy L2")
    model = compiled(probe, "sm_90a")
    kernel = next(kernel for kernel in model.kernels if "gpu_copy" in kernel.name)
    text = kernel.ir("ptx")
    assert text.count("ld.global.cg.v4") == text.count("st.global.v4") == 4
    step = next(step for step in program_of(model, {}).steps if step.kernel == kernel.name)
    elements = step.blocks[0] * step.threads * 16
    assert probe.work == pytest.approx(elements * TWO_BUFFERS * int(probe.arrays[1][0]) * 1e-9)


@pytest.fixture
def card_run(store):
    """A store with a run on a card whose ceilings are known, beside those of the processor; the run's number."""
    machine = with_card(this_machine(), {"name": "large", "driver": "13.0"})
    writer.put_ceiling(store, this_machine(), Ceiling("copy memory", 1, 10.0, "GB/s", 9.0, 11.0))
    for name, value, unit in (
        ("copy memory", 4000.0, "GB/s"), ("copy L2", 9000.0, "GB/s"), ("multiply-add f32", 60_000.0, "GFLOP/s"),
        ("multiply-add bf16", 120_000.0, "GFLOP/s"), ("tensor bf16", 700_000.0, "GFLOP/s"),
    ):  # fmt: skip
        writer.put_ceiling(store, machine, Ceiling(name, CARD, value, unit, value * 0.99, value * 1.01))
    run = writer.begin_run(store, MeasureRequest("test", device="cuda:0", threads=3), machine)
    kernel = CompiledKernel("k", "key-k", ("add_0",), ("mo.add",), "def k(out0: Tensor[f32, (5,)]):\n    ...\n")
    compilation = writer.add_compilation(store, records.compilation(kernels=(kernel,)), machine)
    writer.finish_run(store, run, records.result(), compilation)
    return run


def test_a_cards_ceilings_are_kept_by_machine_and_card(store, card_run):
    card = with_card(this_machine(), {"name": "large", "driver": "13.0"})
    found = {c.name: c.value for c in stored_ceilings(store, card.fingerprint, CARD)}
    assert found["tensor bf16"] == 700_000.0 and len(found) == 5
    assert not stored_ceilings(store, with_card(this_machine(), {"name": "other"}).fingerprint, CARD)
    assert ceiling_threads("cuda:0", 7) == CARD and ceiling_threads("cpu", 7) == 7
    row = queries.run_row(store, card_run)
    assert len(ceilings_for(store, row, card.fingerprint)) == 5, "the threads asked for mean nothing on a card"


def test_a_run_on_a_card_is_shown_under_the_cards_roofs(store, card_run):
    document = run_document(store, card_run)
    assert {c["name"] for c in document["ceilings"]} == {
        "copy memory", "copy L2", "multiply-add f32", "multiply-add bf16", "tensor bf16",
    }  # fmt: skip
    (launch,) = document["launches"]
    assert launch["roof"] == pytest.approx(min(60_000.0, 4000.0 * 10 / 20)) and launch["bound"] == "memory"
    page = export_run(store, card_run, "html")
    assert "700 TFLOP/s" in page and "4 TB/s" in page
    assert json.loads(export_run(store, card_run, "json"))["ceilings"]


def test_the_roof_over_a_product_of_bf16_is_the_tensor_cores(store, card_run):
    row = queries.run_row(store, card_run)
    found = ceilings_for(store, row, queries.machine_row(store, row["machine"])["fingerprint"])
    launch = {"kernel": "k", "position": 0, "median": 1e-3, "flops": 10**12, "bytes": 10**6, "loads": 1, "stores": 1}
    (point,) = roofline([launch], found, {"k": "bf16"})
    assert (point.peak, point.roof, point.bound) == ("tensor bf16", 700_000.0, "compute")
    (point,) = roofline([launch], found, {"k": "f32"})
    assert (point.peak, point.roof) == ("f32", 60_000.0)


def test_a_card_that_cannot_run_one_probe_keeps_its_other_ceilings(monkeypatch):
    from profiler.measure.ceilings import measured as ceilings

    probes = gpu_probes(CARDS["sm_90a"], "sm_90a")
    monkeypatch.setattr(ceilings, "_card_probes", lambda device: ("sm_90a", probes))
    monkeypatch.setattr("profiler.measure.machine.machine_with", lambda device: this_machine())

    def only_copies(probe, device, target, threads):
        if not probe.name.startswith("copy"):
            raise ExecutionError(f"{probe.name} could not be measured")
        return Ceiling(probe.name, threads, 1.0, probe.unit, 1.0, 1.0)

    monkeypatch.setattr(ceilings, "_ceiling", only_copies)
    found = ceilings.measured_ceilings(None, device="cuda:0")
    assert {item.name for item in found} == {"copy memory", "copy L2"}

    def none(probe, device, target, threads):
        raise ExecutionError(f"{probe.name} could not be measured")

    monkeypatch.setattr(ceilings, "_ceiling", none)
    with pytest.raises(ExecutionError, match="could not be measured"):
        ceilings.measured_ceilings(None, device="cuda:0")
