"""Graphs written out in plain ops become as few kernels as the best compilers make of them, and compute the same."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler import Graph, compile, reference


def _sibling(name: str):
    spec = importlib.util.spec_from_file_location(f"kg_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


disagreement = _sibling("agreement").disagreement
hand_written = _sibling("hand_written")
MOST_KERNELS = hand_written.MOST_KERNELS

SIZES = {"M": 37, "B": 2, "S": 20, "N": 3}


def arrays_for(graph: Graph, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    made = []
    for kind in graph.input_types:
        shape = tuple(SIZES[str(size)] if not isinstance(size, int) else size for size in kind.shape)
        if kind.dtype == "bool":
            array = rng.random(shape) < 0.7
            array[..., 0] = True
        elif kind.dtype == "i64":
            array = rng.integers(0, 100, shape)
        else:
            array = np.abs(rng.standard_normal(shape)).astype(np.float32) + 0.1
        made.append(array)
    return made


@pytest.mark.parametrize("build", MOST_KERNELS, ids=lambda build: build.__name__)
def test_a_graph_written_by_hand_becomes_few_kernels(build) -> None:
    graph = build()
    arrays = arrays_for(graph)
    model = compile(graph)
    names = [call.kernel.name for call in model.fusion.calls]
    assert len(names) <= MOST_KERNELS[build], names
    found = model.execute(*arrays)
    for got, wanted in zip(found, reference(graph, *arrays), strict=True):
        assert (reason := disagreement(got, wanted)) is None, reason
