"""Control flow that is decided while importing: a known branch is taken, a loop of known length unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.importers.onnx.node import Handler, Node, Tensor

_MOST_ROUNDS = 1024


def _if(node: Node) -> list[Tensor]:
    taken = bool(node.number(0))
    return node.run(node.need("then_branch" if taken else "else_branch"), [])


def _loop(node: Node) -> list[Any]:
    body = node.need("body")
    most = int(node.number(0)) if node.has(0) else None
    go = bool(node.number(1)) if node.has(1) else True
    carried = [node.tensor(at) for at in range(2, len(node.inputs))]
    scanned: list[list[Tensor]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    rounds = 0
    while go and (most is None or rounds < most):
        if rounds >= _MOST_ROUNDS:
            raise GraphError(f"a loop of more than {_MOST_ROUNDS} rounds is not unrolled")
        results = node.run(body, [Tensor("", np.array(rounds, np.int64)), Tensor("", np.array(True)), *carried])
        test = results[0].content
        if test is None:
            raise GraphError("whether the loop goes on depends on its data; only loops of known length are imported")
        go, carried = bool(test.ravel()[0]), results[1 : 1 + len(carried)]
        for kept, result in zip(scanned, results[1 + len(carried) :], strict=True):
            kept.append(result)
        rounds += 1
    if scanned and not rounds:
        raise GraphError("a loop of no rounds that collects results")
    return [*carried, *[ops.stack([t.value for t in kept], 0) for kept in scanned]]


def _scan(node: Node) -> list[Any]:
    body, count = node.need("body"), node.need("num_scan_inputs")
    if node.opset < 9:
        raise GraphError("Scan before opset 9 is not read")
    states = [node.tensor(at) for at in range(len(node.inputs) - count)]
    sources = [node.x(at) for at in range(len(states), len(node.inputs))]
    outputs = len(body.output) - len(states)
    axes, ways = node.attr("scan_input_axes", [0] * count), node.attr("scan_input_directions", [0] * count)
    out_axes = node.attr("scan_output_axes", [0] * outputs)
    out_ways = node.attr("scan_output_directions", [0] * outputs)
    length = sources[0].shape[axes[0]]
    if isinstance(length, Dim) or not 1 <= length <= _MOST_ROUNDS:
        raise GraphError(f"a scan over {length} steps; 1 to {_MOST_ROUNDS}, known when importing, are unrolled")
    scanned: list[list[Any]] = [[] for _ in range(outputs)]
    for at in range(length):
        given = []
        for source, axis, way in zip(sources, axes, ways, strict=True):
            place = length - 1 - at if way else at
            moved = ops.moveaxis(source, axis, 0) if axis else source
            given.append(Tensor("", None, moved[place]))
        results = node.run(body, [*states, *given])
        states = results[: len(states)]
        for kept, result in zip(scanned, results[len(states) :], strict=True):
            kept.append(result.value)
    joined = [ops.stack(kept[::-1] if way else kept, axis) for kept, axis, way in zip(scanned, out_axes, out_ways)]
    return [*states, *joined]


CONTROL: dict[str, Handler] = {"If": _if, "Loop": _loop, "Scan": _scan}
