"""Samples of NVIDIA machine code as lines, on a machine without a GPU; and what is said where there is no CUPTI."""

import pytest

from compiler import Graph, TensorType, ops
from compiler.backend.sass import cubin_of, find_tool, sass_offsets
from compiler.errors import UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.cuda import cupti, pc_sampling
from profiler.measure.sampling.device_code import DeviceListings
from profiler.sampled import PLACES


def model(target="sm_90a"):
    with Graph("rows", inputs=[TensorType("f32", (64, 512))]) as graph:
        graph.output(ops.softmax(graph.inputs[0], axis=-1))
    return compile_graph(graph, CompileOptions(target, debug="line-tables", cache=False))


@pytest.fixture(scope="module")
def listings():
    try:
        find_tool("ptxas"), find_tool("nvdisasm")
    except UnavailableError as missing:
        pytest.skip(str(missing))
    return DeviceListings(model()), model()


def test_samples_at_every_instruction_reach_every_stage(listings):
    listing, made = listings
    (kernel,) = made.kernels
    offsets = sass_offsets(kernel.machine.text)
    found = [(name, offset, (("long_scoreboard", 3), ("wait", 1))) for name, offset in offsets]
    figures = {"lost": 0, "calls": 10, "seconds": 1.0, "slowdown": 0.1}
    sampling = listing.sampling(found, figures, ())
    (one,) = sampling.kernels
    assert one.samples == sampling.inside == sampling.samples == 4 * len(offsets)
    assert one.mapped >= 0.9 * one.samples
    for stage in ("sass", "asm", PLACES, "source", "kgen", "kernel", "llvm", "llvm-opt"):
        part = one.stage(stage)
        assert part is not None and sum(line.count for line in part.lines) >= 0.9 * one.mapped, stage
    assert one.stage("sass").lines[0].stalls == (("long_scoreboard", 3), ("wait", 1))
    assert dict(one.nodes).keys() == {"softmax_0"}


def test_the_machine_code_is_what_is_shown(listings):
    _, made = listings
    (kernel,) = made.kernels
    assert cubin_of(kernel.device_unit.code, made.target.cpu)[:4] == b"\x7fELF"
    lines = kernel.machine.text.splitlines()
    for (name, offset), line in sass_offsets(kernel.machine.text).items():
        assert name == kernel.name and f"/*{offset:04x}*/" in lines[line]


def test_other_devices_are_said_to_be_missing():
    with pytest.raises(UnavailableError, match="gfx942 cannot be sampled"):
        DeviceListings(model("gfx942"))


def test_a_machine_without_cupti_says_where_it_comes_from(monkeypatch):
    monkeypatch.setattr(cupti, "_places", lambda: [])
    cupti.library.cache_clear()
    with pytest.raises(UnavailableError, match="libcupti is not on this machine; it comes with the CUDA toolkit"):
        pc_sampling.PcSampler(0)
