"""Graphs of thousands of nodes: laid out and painted in time, and drawn so that one finds one's way."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PySide6.QtCore import QRectF

from app.viewmodels.graph.layout import lay_out
from app.viewmodels.graph.repeats import find_repeats
from app.viewmodels.requests import CompileRequest, LayoutRequest
from app.views.graph.painter import _told_apart
from app.worker.compile_session import CompileSession
from compiler.options import CompileOptions

pytestmark = pytest.mark.gui
LAYERS = """
from compiler import Graph, TensorType, ops


def build():
    inputs = [TensorType("f32", shape) for shape in ((16, 64), (64, 64), (64,))]
    with Graph("layers", inputs=inputs) as g:
        x, w, b = g.inputs
        for _ in range(4):
            x = ops.relu(x @ w + b)
        g.output(x)
    return g
"""


def request(boxes: int, edges: list[tuple[int, int]], groups: list[int] | None = None) -> LayoutRequest:
    sizes = np.tile([120.0, 42.0], (boxes, 1))
    held = np.full(boxes, -1) if groups is None else np.array(groups)
    return LayoutRequest(sizes, np.array(edges), held, 1, np.zeros((0, 2), np.int64), (), np.zeros(0))


def test_what_is_made_of_a_constant_stands_beside_its_reader():
    """One constant, spread anew for every step of a long chain: no row holds all of what is made of it."""
    steps = 1000
    edges = []
    for step in range(steps):  # constant 0, start 1; then the spread one and the step
        spread, at = 2 + 2 * step, 3 + 2 * step
        edges += [(0, spread), (spread, at), (1 if step == 0 else at - 2, at)]
    placed = lay_out(request(2 + 2 * steps, edges))
    assert placed.width < 1500 and placed.height > steps * 42


def test_many_values_that_leave_a_group_do_not_fill_it_with_lanes():
    count = 600
    edges = [(at, at + 1) for at in range(count - 1)] + [(at, count + at) for at in range(count)]
    begun = time.process_time()
    placed = lay_out(request(2 * count, edges, [0] * count + [1] * count))
    assert time.process_time() - begun < 5
    assert placed.width < 60_000


def test_equal_nodes_of_several_layers_are_drawn_where_they_are_read(tmp_path):
    path = tmp_path / "layers.py"
    path.write_text(LAYERS)
    made = CompileSession(CompileRequest(str(path), CompileOptions(), None), lambda _: None).records()
    table = made.node_table
    spread = [node for node in made.nodes if node.op == "broadcast_to"]
    assert len(spread) == 4 and len(made.calls) == 4
    for node in spread:
        reader = next(other for other in made.nodes if node.name in other.operands)
        assert table[node.name].call == reader.call
    assert [repeat.count for repeat in find_repeats(made)] == [3], "all but the first, which reads the input"


def test_edges_that_pass_by_together_are_thinned_out_and_no_other_is():
    view = QRectF(0, 0, 1000, 800)
    passing = np.column_stack(
        (np.linspace(10, 20, 5000), np.full(5000, -9e4), np.linspace(10, 20, 5000), np.full(5000, 9e4))
    )
    near = np.array([[100.0, 100.0, 120.0, 300.0], [400.0, 10.0, 410.0, 9e4], [400.0, -9e4, 410.0, 700.0]])
    kept = _told_apart(np.vstack((near, passing)), view)
    assert kept[:3].all() and 50 <= np.count_nonzero(kept[3:]) <= 400


@pytest.mark.slow
def test_the_graph_of_ten_thousand_nodes_is_on_show_within_two_seconds(qtbot, compiled, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    nodes, last = [], "x"
    for at in range(2500):
        nodes += [
            helper.make_node("Shape", [last], [f"s{at}"]),
            helper.make_node("Mul", [last, "w"], [f"m{at}"], name=f"/layer.{at}/mul"),
            helper.make_node("Reshape", [f"m{at}", f"s{at}"], [f"r{at}"], name=f"/layer.{at}/view"),
            helper.make_node("Relu", [f"r{at}"], [f"y{at}"], name=f"/layer.{at}/relu"),
        ]
        last = f"y{at}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 8]) for name in ("x", last)]
    weights = [numpy_helper.from_array(np.ones((1, 8), np.float32), "w")]
    path = tmp_path / "long.onnx"
    onnx.save(helper.make_model(helper.make_graph(nodes, "long", ends[:1], ends[1:], weights)), path)
    model = compiled.graph.model
    qtbot.waitUntil(lambda: compiled.compiler._spare is not None and compiled.compiler._spare._process is not None)
    begun = time.perf_counter()
    compiled.opening.open(str(path))
    qtbot.waitUntil(lambda: len(model.scene.compilation.nodes) > 5000 and not model.pending, timeout=30_000)
    took = time.perf_counter() - begun
    qtbot.waitUntil(lambda: not compiled.compiler.busy and not model.pending, timeout=60_000)
    assert took < 2
