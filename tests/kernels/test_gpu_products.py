"""How products and reductions on NVIDIA GPUs read operands, as their code shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

COPY = "cp.async.cg.shared.global"


def code_of(left: tuple[int, ...], right: tuple[int, ...], view: Callable[[Any], Any]) -> str:
    with Graph("product", inputs=[TensorType("bf16", left), TensorType("bf16", right)]) as graph:
        x, w = graph.inputs
        graph.output(view(x) @ w)
    return "".join(unit.ptx for unit in compile(graph, target="sm_80", cache=False).device_code())


@cache
def code_with_an_odd_left_operand(batch: tuple[int, ...]) -> str:
    return code_of((*batch, 128, 65), (*batch, 64, 128), lambda x: x[..., 1:])


@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize(
    ("columns", "view", "copied"),
    [
        (64, lambda x: x, True),
        (72, lambda x: x[..., 8:], True),
        (72, lambda x: x[..., 1:65], False),
        (65, lambda x: x[..., 1:], False),
    ],
    ids=["whole", "from-8", "from-1", "from-1-to-the-end"],
)
def test_16_bytes_are_copied_at_once_only_from_where_16_bytes_begin(batch, columns, view, copied):
    """The right operand is always copied so: with the left one there are more such copies."""
    wide = code_of((*batch, 128, columns), (*batch, 64, 128), view)
    alone = code_with_an_odd_left_operand(batch)
    assert (wide.count(COPY) > alone.count(COPY)) is copied


@pytest.mark.parametrize("first", [0, 2])
def test_rows_that_begin_anywhere_are_copied_by_classes_from_multiples_of_16_bytes(first):
    rows, depth = 1021, 261
    types = [TensorType("bf16", (rows, depth + first)), TensorType("bf16", (depth, 144))]
    with Graph("ragged", inputs=types) as graph:
        x, w = graph.inputs
        graph.output(x[:, first:] @ w)
    (call,) = compile(graph, target="sm_90a", cache=False).host.calls
    classes = [asked for asked in call.maps if asked.argument == 1]
    assert len(classes) == 8
    for number, asked in enumerate(classes):
        begin = first + number * (depth + first)
        assert asked.offset == begin // 8 * 8 and asked.strides == (8 * (depth + first), 1)
        assert asked.shape == (len(range(number, rows, 8)), depth + begin % 8)


@pytest.mark.parametrize(("rows", "together"), [(2045, 2), (1021, 1), (2048, 1)])
def test_blocks_that_read_rows_by_classes_share_tiles_where_classes_have_two(rows, together):
    depth = 261 if rows % 8 else 264
    with Graph("ragged", inputs=[TensorType("bf16", (rows, depth)), TensorType("bf16", (depth, 144))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    (call,) = compile(graph, target="sm_90a", cache=False).host.calls
    assert call.launch is not None and call.launch.cluster == together


@pytest.mark.parametrize(("rows", "columns", "later"), [(4093, 1541, True), (2045, 1541, False), (4093, 1041, False)])
def test_what_first_tiles_do_not_need_of_a_right_operand_is_laid_out_while_they_are_multiplied(rows, columns, later):
    """Where there are enough tiles: warps that have a barrier of their own do so, and count what is ready."""
    types = [TensorType("bf16", (rows, 328)), TensorType("bf16", (328, columns))]
    with Graph("later", inputs=types) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    (code,) = [unit.code for unit in compile(graph, target="sm_90a", cache=False).device_code()]
    assert (b"bar.sync 3, 64;" in code) is later


@pytest.mark.parametrize(("columns", "box"), [(515, (64, 8)), (531, (64, 64))])
def test_of_a_narrow_last_column_of_tiles_no_more_is_copied_than_its_columns(columns, box):
    types = [TensorType("bf16", (1024, 512)), TensorType("bf16", (512, columns))]
    with Graph("narrow", inputs=types) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    (call,) = compile(graph, target="sm_90a", cache=False).host.calls
    assert call.maps[-1].box == box


@pytest.mark.parametrize("elements", [4096, 4096 + 4])
def test_all_threads_of_a_row_load_as_many_vectors_at_once(elements):
    """256 threads with four vectors each are a round: none of them goes on alone, unless something is left over."""
    with Graph("rows", inputs=[TensorType("f32", (512, elements))]) as graph:
        graph.output(ops.sum(graph.inputs[0], axis=1))
    (kernel,) = compile(graph, target="sm_90a", cache=False).kernels
    code = kernel.ir("kernel")
    assert ("scf.for" in code) is (elements > 4096) and code.count("vector<4xf32>") > 4


@pytest.mark.parametrize(("shape", "loads"), [((2048, 1024), 12), ((2048, 1021), 12), ((2046, 1024), 15)])
def test_all_threads_of_a_column_load_as_many_elements_at_once(shape, loads):
    """Three walks with four loads each, and one at a time only where elements of a column are left over."""
    with Graph("columns", inputs=[TensorType("f32", shape)]) as graph:
        graph.output(ops.softmax(graph.inputs[0], axis=0))
    (kernel,) = compile(graph, target="sm_90a", cache=False).kernels
    assert kernel.ir("ptx").count("ld.global") == loads


@pytest.mark.parametrize(
    ("dtype", "m", "n", "depth", "at_least"),
    [
        ("bf16", 16, 4096, 4096, 120),
        ("bf16", 2, 1024, 4096, 64),
        ("bf16", 256, 256, 8192, 64),
        ("f32", 64, 1024, 1024, 120),
        ("f32", 512, 512, 4096, 250),
        ("f32", 333, 501, 3001, 200),
    ],
)
def test_few_tiles_of_a_long_sum_are_divided_among_all_multiprocessors(dtype, m, n, depth, at_least):
    with Graph("product", inputs=[TensorType(dtype, (m, depth)), TensorType(dtype, (depth, n))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    model = compile(graph, target="sm_90a", cache=False)
    (blocks,) = model.record(model.kernels[0].name).launch.blocks
    assert blocks >= at_least


@pytest.mark.parametrize(("m", "n", "depth"), [(16, 4096, 4096), (256, 256, 8192)])
def test_what_is_fused_into_operands_leaves_sums_divided(m, n, depth):
    """The operands are laid out first; the sums of parts of k then have the same room as without it."""
    rooms = []
    for computed in (False, True):
        with Graph("product", inputs=[TensorType("bf16", (m, depth)), TensorType("bf16", (depth, n))]) as graph:
            a, b = (ops.abs(x) if computed else x for x in graph.inputs)
            graph.output(a @ b)
        (kernel,) = (model := compile(graph, target="sm_90a", cache=False)).kernels
        rooms.append({(room.dtype, room.shape) for room in model.record(kernel.name).workspaces})
    plain, computed = rooms
    assert plain and plain < computed


def kernels_of(target, dtype, build, *shapes):
    with Graph("operands", inputs=[TensorType(dtype, shape) for shape in shapes]) as graph:
        graph.output(build(*graph.inputs))
    return compile(graph, target=target, cache=False).kernels


@pytest.mark.parametrize(
    ("build", "shapes", "count"),
    [
        (lambda a, b: ops.abs(a) @ b, ((256, 512), (512, 256)), 2),
        (lambda a, b: a @ ops.abs(b), ((64, 64), (64, 64)), 2),
        (lambda a, b: ops.abs(a) @ ops.abs(b), ((512, 512), (512, 512)), 1),
        (lambda a, b: ops.abs(a) @ b, ((1, 512), (512, 256)), 1),
        (lambda a, b: ops.abs(a) @ b, ((333, 1001), (1001, 501)), 1),
        (lambda a, b: ops.abs(a) @ b, (("M", 512), (512, 256)), 2),
    ],
    ids=["one operand", "little work", "both", "one row", "laid out anyway", "any rows"],
)
def test_an_operand_of_tensor_cores_is_stored_where_it_would_be_laid_out_for_its_own_sake(build, shapes, count):
    assert len(kernels_of("sm_90a", "bf16", build, *shapes)) == count
    assert len(kernels_of("sm_90a", "f32", build, *shapes)) == 1


@pytest.mark.parametrize(
    ("build", "shapes", "count"),
    [
        (lambda a, b: ops.abs(a) @ b, ((4090, 515), (515, 4099)), 2),
        (lambda a, b: ops.abs(a) @ b, ((1021, 3001), (3001, 2047)), 1),
        (lambda a, b: ops.abs(a) @ b, ((4095, "K"), ("K", 4097)), 1),
        (lambda a, b: ops.abs(a) @ ops.transpose(b), ((4090, 515), (4099, 515)), 1),
    ],
    ids=["they are", "few tiles", "any k", "k along rows of both"],
)
def test_a_left_operand_is_stored_where_its_rows_are_then_read_by_class(build, shapes, count):
    assert len(kernels_of("sm_90a", "bf16", build, *shapes)) == count


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_weights_of_a_convolution_are_computed_once(target):
    shapes = (1, 8, 20, 20), (16, 8, 3, 3)
    assert len(kernels_of(target, "f32", lambda x, w: ops.conv2d(x, w * 2.0), *shapes)) == 2
    assert len(kernels_of(target, "f32", lambda x, w: ops.conv2d(x * 2.0, w), *shapes)) == 1


def test_what_one_asks_for_is_fused_all_the_same():
    with Graph("operands", inputs=[TensorType("bf16", (256, 512)), TensorType("bf16", (512, 256))]) as graph:
        graph.output(ops.abs(graph.inputs[0]) @ graph.inputs[1])
    edge = ("abs_0", "matmul_0")
    for options, count in ((CompileOptions("sm_90a"), 2), (CompileOptions("sm_90a", force_fuse=frozenset({edge})), 1)):
        assert len(compile_graph(graph, replace(options, cache=False)).kernels) == count


@pytest.mark.parametrize("dtype", ["bf16", "f32"])
@pytest.mark.parametrize(("m", "n", "depth"), [(0, 1024, 4096), (64, 0, 4096), (64, 1024, 0)])
def test_products_without_elements_or_summands_compile(dtype, m, n, depth):
    with Graph("product", inputs=[TensorType(dtype, (m, depth)), TensorType(dtype, (depth, n))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    model = compile(graph, target="sm_90a", cache=False)
    blocks = [count for kernel in model.kernels for count in model.record(kernel.name).launch.blocks]
    assert all((count == 0) is (m * n == 0) for count in blocks)


def test_what_fills_the_card_is_not_divided():
    with Graph("product", inputs=[TensorType("f32", (4096, 4096))] * 2) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    model = compile(graph, target="sm_90a", cache=False)
    taken = {choice.name: choice.taken for choice in model.record(model.kernels[0].name).choices}
    assert taken["parts"] == 1
