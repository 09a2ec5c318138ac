"""What a GPU kernel asks of its launch: shared memory of any size, workspaces, blocks that stay, tensor maps."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.artifact.kernel_records import read_record, record_document
from compiler.language.kernel import ElaboratedKernel
from compiler.language.library import load_library
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.cuda.program import program_of
from tests.compiler.language.drive import body_error, elaborate, error, kernel, run, scalar

MATRIX = "o: Tensor[bf16, (M, 512)], x: Tensor[bf16, (M, 512)], w: Tensor[bf16, (512, 333)]"


def _record(body: str, arguments: str = MATRIX, target: str = "sm_90a") -> ElaboratedKernel:
    return elaborate(kernel("launch(blocks=(M,), threads=128)\n" + body, arguments), target=target)[1]


def _refused(body: str, target: str = "sm_90a") -> str:
    return error(kernel(body, MATRIX), target=target).message


def test_shared_memory_of_the_launch_is_added_up_from_multiples_of_1024():
    record = _record(
        "a = shared(bf16, 3000, of_launch=True)\nb = shared(f32, (8, 2048), of_launch=True)\nb[0, 0] = 1.0"
    )
    assert record.launch is not None and record.launch.shared == 6144 + 8 * 2048 * 4


def test_more_shared_memory_than_a_block_can_have_is_refused():
    message = _refused("launch(blocks=1, threads=32)\na = shared(f32, 60000, of_launch=True)")
    assert message == "240000 bytes of shared memory; sm_90a has 232448 for a block"


def test_shared_memory_of_a_launch_that_is_not_stated_is_refused():
    assert "needs a launch(...)" in _refused("a = shared(f32, 64, of_launch=True)\na[0] = 1.0")


def test_a_launch_says_how_its_blocks_live():
    record = elaborate(
        kernel("launch(blocks=M, threads=64, resident=True, together=True, per_processor=2)", MATRIX), target="sm_90a"
    )[1]
    launch = record.launch
    assert launch is not None and (launch.resident, launch.together, launch.per_processor) == (True, True, 2)
    assert "per_processor is" in _refused("launch(blocks=M, threads=64, per_processor=99)")


def test_a_launch_says_how_many_blocks_run_as_one():
    asked = kernel("launch(blocks=M, threads=64, cluster=2)", MATRIX)
    record = elaborate(asked, target="sm_90a")[1]
    assert record.launch is not None and record.launch.cluster == 2
    assert read_record(record_document(record)) == record
    assert "clusters of 1 to 8" in _refused("launch(blocks=M, threads=64, cluster=9)")
    assert "clusters of 1 to 8" in _refused("launch(blocks=M, threads=64, cluster=M)")
    assert "sm_80 has clusters of 1 to 1" in _refused("launch(blocks=M, threads=64, cluster=2)", target="sm_80")
    assert "gfx942 has clusters of 1 to 1" in _refused("launch(blocks=M, threads=64, cluster=2)", target="gfx942")


def test_a_grid_has_whole_clusters(tmp_path):
    (tmp_path / "pairs.py").write_text(
        "from kernels.language import *\n\n\n"
        '@kernel("in_pairs")\ndef in_pairs(out: Tensor, x: Tensor):\n    """A copy."""\n'
        "    launch(blocks=x.shape[0], threads=32, cluster=2)\n    out[block_index()] = x[block_index()]\n"
    )
    with Graph("m", inputs=[TensorType("f32", ("M",))]) as graph:
        graph.output(ops.custom("in_pairs", list(graph.inputs), TensorType("f32", ("M",))))
    model = compile_graph(graph, CompileOptions("sm_90a", cache=False), load_library(tmp_path))
    assert [program_of(model, {"M": rows}).steps[0].blocks for rows in (3, 4, 5)] == [(4, 1, 1), (4, 1, 1), (6, 1, 1)]
    assert ".reqnctapercluster 2" in model.kernels[0].ir("ptx")


def test_a_workspace_is_made_where_it_is_needed():
    record = _record("if x.shape[1] == 512:\n    c = workspace(i32, 4 * x.shape[0])\n    c[0] = i32(1)")
    (workspace,) = record.workspaces
    assert workspace.dtype == "i32" and str(workspace.shape[0]) == "4*M"
    assert "one size" in _refused("launch(blocks=M, threads=32)\nc = workspace(i32, (2, 3))")


def test_a_tensor_map_is_a_workspace_that_the_launcher_fills():
    record = _record("m = tensor_map(x.slice((0, 64), (1, 1), (x.shape[0], 256)), (128, 64))")
    (asked,) = record.maps
    assert (asked.workspace, asked.argument, asked.box) == (0, 1, (128, 64))
    assert ([str(n) for n in asked.shape], asked.strides, asked.offset) == (["M", "256"], (512, 1), 64)
    assert read_record(record_document(record)) == record


@pytest.mark.parametrize("source, mapped", [
    ("x", True), ("x.permute((1, 0))", False), ("w", False), ("workspace(bf16, 512)", True),
    ("x.reshape((x.shape[0], 4, 128)).permute((1, 0, 2))", True), ("x.broadcast((3, x.shape[0], 512))", True),
    ("x.slice((0, 4), (1, 1), (x.shape[0], 64))", False), ("shared(bf16, 512)", False),
    ("FusedInput(lambda at: x[at], bf16, x.shape)", False),
])  # fmt: skip
def test_what_the_copy_engine_can_be_told_of(source: str, mapped: bool):
    _record(f"y = {source}\nassert can_map(y) == {mapped}")
    assert _record("assert not can_map(x)", target="sm_80").maps == ()
    if not mapped:
        assert "no tensor map of" in _refused(f"launch(blocks=M, threads=32)\nm = tensor_map({source}, (64, 64))")


def test_repeated_axes_are_not_in_a_map():
    record = _record("y = x.broadcast((3, x.shape[0], 512))\nassert map_axes(y) == (1, 2)\nm = tensor_map(y, (64, 64))")
    assert len(record.maps[0].shape) == 2
    assert "a box has a size" in _refused("launch(blocks=M, threads=32)\nm = tensor_map(x, (64,))")
    assert "a box has a size" in _refused("launch(blocks=M, threads=32)\nm = tensor_map(x, (512, 64))")


def test_a_program_carries_what_the_launches_ask_for():
    with Graph("m", inputs=[TensorType("bf16", ("M", 512)), TensorType("bf16", (512, 256))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    (step,) = program_of(compile(graph, target="sm_90a", cache=False), {"M": 300}).steps
    assert step.resident and step.shared > 48 << 10
    left, right = step.maps
    assert (left.shape, left.strides, left.box) == ((300, 512), (512, 1), (128, 64))
    assert right.shape == (512, 256) and {left.slot, right.slot} <= set(step.slots)


def test_a_nested_function_stores_to_a_tensor_around_it_on_a_condition():
    body = "def put(i):\n    if a[i] > 0:\n        out[i] = a[i]\nfor i in range(4):\n    put(i)"
    got = run(body, ("f32", (4,)), np.array([1, -1, 2, -2], np.float32))
    np.testing.assert_array_equal(got, [1, 0, 2, 0])


def test_a_fused_input_knows_what_it_reads():
    a = np.ones((2, 3), np.float32)
    counted = "len(FusedInput(lambda at: a[at] + b[at] * a[at], f32, (2, 3)).reads)"
    assert scalar(counted, "i64", a, a) == 2
    assert scalar("len(a.reads)", "i64", a) == 1
    assert "no attribute reads" in body_error("x = f32(1).reads")
