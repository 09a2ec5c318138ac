"""Repeated layers: found by what they compute, folded to one, opened again. No window is needed for these."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from app.viewmodels.compilation import CallRecord, Compilation, KernelRecord, NodeRecord
from app.viewmodels.graph.folded_graph import GraphModel
from app.viewmodels.graph.layout import lay_out
from app.viewmodels.graph.repeats import find_repeats
from app.viewmodels.graph.scene import Folds, Key, build_scene
from app.viewmodels.graph.walk import walk
from compiler.options import CompileOptions


def stacked(layers: int, odd: int = -1, shared: bool = True) -> Compilation:
    """x -> [mul by a weight; add the layer's input; scale shared by all] repeated, then a last relu.

    `odd` names a layer whose second op differs. Names say nothing: they count across the whole graph.
    """
    nodes = [NodeRecord("x", 1, "input", "input", "f32", "[M]", "", ())]
    nodes.append(NodeRecord("s", 2, "input", "input", "f32", "[M]", "", ()))
    calls = []
    last = "x"
    for layer in range(layers):
        weight = f"w{layer}"
        nodes.append(NodeRecord(weight, len(nodes) + 1, "input", "input", "f32", "[M]", "", ()))
        first, second = f"n{2 * layer}", f"n{2 * layer + 1}"
        op = "sub" if layer == odd else "add"
        nodes.append(
            NodeRecord(
                first, len(nodes) + 1, "mul", "op", "f32", "[M]", "", (last, weight), 2 * layer, bytes=10, flops=1
            )
        )
        operands = (first, last, "s") if shared else (first, last)
        nodes.append(
            NodeRecord(second, len(nodes) + 1, op, "op", "f32", "[M]", "", operands, 2 * layer + 1, bytes=20, flops=2)
        )
        calls += [
            CallRecord(2 * layer, "k0", (first,), 10, 1),
            CallRecord(2 * layer + 1, "k1", (second,), 20, 2),
        ]
        last = second
    nodes.append(
        NodeRecord("end", len(nodes) + 1, "relu", "op", "f32", "[M]", "", (last,), 2 * layers, bytes=5, flops=1)
    )
    calls.append(CallRecord(2 * layers, "k2", ("end",), 5, 1))
    kernels = tuple(KernelRecord(name, (), "", 1) for name in ("k0", "k1", "k2"))
    return Compilation("s", "", "s", CompileOptions(), (), tuple(nodes), tuple(calls), kernels, (), ())  # fmt: skip


def shown(compilation: Compilation, **folds) -> GraphModel:
    """A model with its scene and layout made at once."""
    model = GraphModel()
    model.set_compilation(compilation)
    if folds:
        model.folds = replace(model.folds, **folds)
    settle(model)
    return model


def settle(model: GraphModel) -> None:
    generation, make = model.work()
    scene = make()
    model.set_scene(scene, lay_out(scene.request(generation)))


def test_copies_are_found_with_the_weights_that_only_they_read():
    (repeat,) = find_repeats(stacked(5))
    assert repeat.count == 5
    assert repeat.copies[0] == ("w0", "n0", "n1")
    assert repeat.copies[4] == ("w4", "n8", "n9")
    assert repeat.calls[2] == (4, 5)


def test_a_layer_that_computes_something_else_divides_the_run():
    repeats = find_repeats(stacked(8, odd=3))
    assert [(repeat.calls[0][0], repeat.count) for repeat in repeats] == [(0, 3), (8, 4)]


def test_fewer_copies_than_are_worth_it_are_left_alone():
    assert find_repeats(stacked(2)) == ()
    assert find_repeats(stacked(2), least=2)[0].count == 2


def test_equal_ops_that_are_joined_differently_are_no_copies():
    compilation = stacked(6)
    table = compilation.node_table
    # The fourth layer adds the graph's own input where the others add what the layer before it made: it cannot go on
    # the run before it, but it can be the first of the next, since a first copy's inputs come from outside anyway.
    changed = replace(table["n7"], operands=("n6", "x", "s"))
    nodes = tuple(changed if node.name == "n7" else node for node in compilation.nodes)
    repeats = find_repeats(replace(compilation, nodes=nodes))
    assert [(repeat.calls[0][0], repeat.count) for repeat in repeats] == [(0, 3), (6, 3)]


def test_a_folded_layer_is_one_frame_and_its_boxes_stand_for_every_copy():
    model = shown(stacked(5))
    (frame,) = [f for f in model.scene.frames if f.key.kind == "layer"]
    assert frame.copies == 5
    assert "\u00d7 5" in frame.title
    assert len(model.scene.labels) == 3 + 3  # x, s and end; the weight and the two ops of the layer
    box = model.scene.box_of["n4"]
    assert model.scene.box_nodes[box] == ("n0", "n2", "n4", "n6", "n8")
    assert model.scene.box_of["n0"] == box
    assert {model.scene.labels[b] for _, _, b in model.scene.loops} == {"mul \u00d75", "add \u00d75"}
    assert (model.scene.box_of["n9"], model.scene.box_of["end"]) in model.scene.edges


def test_the_heat_of_a_folded_box_is_the_sum_of_its_copies():
    model = shown(stacked(5))
    model.set_heat("bytes")
    value = model.heat_values[model.scene.box_of["n1"]] ** 2 * model.heat_top
    assert value == pytest.approx(5 * 20)
    layer = next(i for i, f in enumerate(model.scene.frames) if f.key.kind == "layer")
    assert model.frame_cost(layer) == "150 B"
    model.set_times({call: 0.001 for call in range(11)})
    model.set_heat("time")
    assert model.frame_cost(layer) == "10 ms"
    assert "measured" in model.heat_note
    assert "apportioned" in model.heat_note


def test_one_copy_opened_is_selected_alone_and_the_others_stay_folded():
    model = shown(stacked(5))
    model.open_copies(0, [2])
    settle(model)
    titles = [f.title.split("  ")[0] for f in model.scene.frames if f.key.kind == "layer"]
    assert titles == ["layers 1 to 2 \u00d7 2", "layer 3 of 5", "layers 4 to 5 \u00d7 2"]
    assert model.scene.box_nodes[model.scene.box_of["n4"]] == ("n4",)
    assert model.scene.box_nodes[model.scene.box_of["n0"]] == ("n0", "n2")
    assert (model.scene.box_of["n3"], model.scene.box_of["n4"]) in model.scene.edges
    model.toggle_layer(Key("layer", 0, 2, 2))
    settle(model)
    assert model.scene.box_nodes[model.scene.box_of["n4"]] == ("n0", "n2", "n4", "n6", "n8")


def test_unfolding_shows_every_copy_and_folding_brings_them_back():
    model = shown(stacked(4))
    model.fold_repeats(False)
    settle(model)
    assert len(model.scene.labels) == len(stacked(4).nodes)
    assert sum(f.key.kind == "layer" for f in model.scene.frames) == 4
    model.fold_repeats(True)
    settle(model)
    assert sum(f.key.kind == "layer" for f in model.scene.frames) == 1


def test_a_collapsed_layer_is_one_box_with_an_edge_in_and_out():
    model = shown(stacked(4))
    key = next(f.key for f in model.scene.frames if f.key.kind == "layer")
    model.toggle([key])
    settle(model)
    box = model.scene.box_of["n3"]
    assert model.scene.kinds[box] == "layer"
    assert (model.scene.box_of["x"], box) in model.scene.edges
    assert (box, model.scene.box_of["end"]) in model.scene.edges
    assert all(a != b for a, b in model.scene.edges)
    model.toggle([key])
    settle(model)
    assert model.scene.kinds[model.scene.box_of["n3"]] == "op"


def test_finding_looks_into_folded_layers_and_opens_only_the_copy_that_was_meant():
    model = shown(stacked(6))
    assert model.find("n7") == ["n7"]
    assert len(model.find("mul")) == 6
    assert len(model.find("f32 add [m]")) == 6
    assert model.expose(["n7"])
    settle(model)
    assert model.scene.box_nodes[model.scene.box_of["n7"]] == ("n7",)
    assert not model.expose(["n7"])
    assert not model.expose(["end"])


def test_what_is_collapsed_is_opened_when_it_is_found():
    model = shown(stacked(6))
    layer = next(f.key for f in model.scene.frames if f.key.kind == "layer")
    model.toggle([layer, Key("call", 0)])
    settle(model)
    assert model.expose(["n4"])
    settle(model)
    assert model.scene.kinds[model.scene.box_of["n4"]] == "op"


def test_arrows_walk_along_edges():
    model = shown(stacked(4))
    scene, layout = model.scene, model.layout
    assert layout is not None
    mul, add = model.scene.box_of["n0"], model.scene.box_of["n1"]
    assert walk(scene, layout, mul, "down") == add
    assert walk(scene, layout, add, "up") in (mul, model.scene.box_of["x"], model.scene.box_of["s"])
    assert walk(scene, layout, model.scene.box_of["end"], "down") == model.scene.box_of["end"]
    x = model.scene.box_of["x"]
    side = walk(scene, layout, x, "right")
    side = side if side != x else walk(scene, layout, x, "left")
    assert side != x


def test_frames_hold_their_boxes_and_frames_in_frames():
    model = shown(stacked(5))
    layout = model.layout
    assert layout is not None
    for frame, (x, y, w, h) in layout.groups.items():
        for box, group in enumerate(model.scene.groups):
            if group == frame:
                low, high = layout.positions[box], layout.positions[box] + model.scene.sizes[box]
                assert (low >= (x, y)).all()
                assert (high <= (x + w, y + h)).all()
        outer = model.scene.frames[frame].parent
        if outer >= 0:
            ox, oy, ow, oh = layout.groups[outer]
            assert ox <= x
            assert oy <= y
            assert x + w <= ox + ow
            assert y + h <= oy + oh


def test_edges_end_at_their_boxes_and_pass_beside_the_others():
    scene = build_scene(stacked(5), Folds())
    layout = lay_out(scene.request(1))
    for edge, (a, b) in enumerate(scene.edges):
        points = layout.points[layout.edge_starts[edge] : layout.edge_starts[edge + 1]]
        assert points[0].tolist() == pytest.approx((layout.positions[a] + scene.sizes[a] * (0.5, 1.0)).tolist())
        assert points[-1].tolist() == pytest.approx((layout.positions[b] + scene.sizes[b] * (0.5, 0.0)).tolist())
        for box in set(range(len(scene.labels))) - {a, b}:
            low, high = layout.positions[box] + 0.5, layout.positions[box] + scene.sizes[box] - 0.5
            for first, second in itertools.pairwise(points):
                if first[0] == second[0]:  # a straight lane
                    beside = first[0] <= low[0] or first[0] >= high[0]
                    above = max(first[1], second[1]) <= low[1] or min(first[1], second[1]) >= high[1]
                    assert beside or above, f"edge {edge} runs through {scene.labels[box]}"


def test_a_cycle_that_folding_made_is_laid_out_all_the_same():
    from app.viewmodels.graph.layers import place

    placed = place(((10.0, 10.0),) * 3, [(0, 1), (1, 2), (2, 1)])
    assert len({tuple(corner) for corner in placed.corners.tolist()}) == 3
    assert np.isfinite(placed.corners).all()
