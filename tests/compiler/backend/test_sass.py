"""SASS without a GPU: resources, occupancy, and the way from a machine instruction back to graph nodes."""

from __future__ import annotations

import pytest

from compiler import Graph, TensorType, ops
from compiler.backend import sass
from compiler.backend.occupancy import occupancy
from compiler.backend.sass import sass_of
from compiler.errors import CompilerError, LoweringError, UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

PTX = b"""
.version 8.3
.target sm_90a
.address_size 64
.visible .entry tile(.param .u64 p)
.maxntid 512, 1, 1
{
 .shared .align 4 .b8 sm[4096];
 .local .align 4 .b8 scratch[64];
 .reg .b64 %rd<5>; .reg .b32 %r<4>;
 ld.param.u64 %rd0, [p];
 mov.u32 %r0, %tid.x;
 mul.wide.u32 %rd1, %r0, 4;
 mov.u64 %rd2, sm;
 add.s64 %rd2, %rd2, %rd1;
 st.shared.u32 [%rd2], %r0;
 mov.u64 %rd3, scratch;
 cvta.local.u64 %rd4, %rd3;
 st.u64 [%rd0+8], %rd4;
 bar.sync 0;
 ld.shared.u32 %r1, [%rd2+4];
 st.global.u32 [%rd0], %r1;
 ret;
}
.visible .entry nothing() { ret; }
"""


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    try:
        sass.find_tool("ptxas")
        sass.find_tool("nvdisasm")
    except UnavailableError as missing:
        pytest.skip(str(missing))


def _model(debug: str):
    with Graph("g", inputs=[TensorType("f32", ("M", 64))]) as graph:
        graph.output(ops.exp(graph.inputs[0]) * 2.0 + ops.abs(graph.inputs[0]))
    return compile_graph(graph, CompileOptions(target="sm_90a", debug=debug, cache=False))


def test_resources_come_from_ptxas() -> None:
    report = sass_of(PTX, "sm_90a")
    tile = report.entry("tile")
    assert tile.shared_bytes == 4096
    assert tile.stack_bytes == 64
    assert tile.barriers == 1
    assert tile.spill_stores + tile.spill_loads == 0
    assert 0 < tile.registers < 64
    assert {entry.name for entry in report.entries} == {"tile", "nothing"}


def test_a_stated_block_size_decides_occupancy_and_can_be_overridden() -> None:
    assert sass_of(PTX, "sm_90a").entry("tile").threads == 512
    assert sass_of(PTX, "sm_90a").entry("nothing").threads == sass.DEFAULT_THREADS
    assert sass_of(PTX, "sm_90a", 64).entry("tile").threads == 64


def test_each_instruction_knows_its_ptx_line() -> None:
    report = sass_of(PTX, "sm_90a")
    wanted = PTX.decode().splitlines().index(" st.global.u32 [%rd0], %r1;") + 1
    stores = [line for text, line in zip(report.text.splitlines(), report.ptx_lines, strict=True) if "STG" in text]
    assert stores == [wanted]


@pytest.mark.parametrize("debug", ["none", "line-tables"])
def test_a_compiled_kernel_disassembles(debug: str) -> None:
    (kernel,) = _model(debug).kernels
    report = sass_of(kernel.unit.object, "sm_90a")
    assert "EXIT" in report.text
    assert report.entry(kernel.name).registers > 0


def test_line_tables_take_graph_nodes_to_machine_code() -> None:
    (kernel,) = _model("line-tables").kernels
    report = sass_of(kernel.unit.object, "sm_90a")
    instructions = [
        (text, number)
        for text, number in zip(report.text.splitlines(), report.provenance, strict=True)
        if "/*0" in text
    ]
    stores = [number for text, number in instructions if " STG" in text]
    assert stores and all(stores)
    assert sum(number > 0 for _, number in instructions) > len(instructions) / 2


def test_ptx_that_ptxas_refuses_is_one_line() -> None:
    with pytest.raises(LoweringError, match="ptxas") as raised:
        sass_of(PTX.replace(b"bar.sync 0", b"bar.synk 0"), "sm_90a")
    assert "\n" not in str(raised.value)


def test_a_missing_tool_is_unavailable(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"no-such-tool is not on this machine .*kernelglass\[sass\]"):
        sass.find_tool("no-such-tool")


@pytest.mark.parametrize(
    ("arch", "threads", "registers", "shared", "blocks", "limiter"),
    [
        ("sm_90a", 256, 32, 0, 8, "warps"),
        ("sm_90a", 256, 33, 0, 6, "registers"),
        ("sm_90a", 256, 255, 0, 1, "registers"),
        ("sm_90a", 32, 16, 0, 32, "blocks"),
        ("sm_90a", 128, 32, 100 * 1024, 2, "shared memory"),
        ("sm_75", 1024, 32, 0, 1, "warps"),
        ("sm_86", 512, 32, 0, 3, "warps"),
    ],
)
def test_occupancy(arch: str, threads: int, registers: int, shared: int, blocks: int, limiter: str) -> None:
    fits = occupancy(arch, threads, registers, shared)
    assert (fits.blocks, fits.limiter) == (blocks, limiter)
    assert fits.warps == blocks * -(-threads // 32)


def test_occupancy_of_an_impossible_block() -> None:
    with pytest.raises(CompilerError, match="1 to 1024"):
        occupancy("sm_90", 2048, 32)
