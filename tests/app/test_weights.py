"""Statistics of constants: right, of a sample where there is much, and of what is no number as well."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from app.worker.weights import statistics, weights_of
from compiler import Graph, ops
from compiler.errors import CompilerError


def test_the_figures_are_those_of_numpy_and_what_is_no_number_is_counted_apart():
    chance = np.random.default_rng(0)
    values = chance.normal(0.5, 2.0, 20_000).astype(np.float32)
    values[:500] = 0
    held = values.copy()
    held[-3:] = np.nan, np.inf, -np.inf
    found = statistics("w", held.reshape(100, 200))
    rest = values[:-3].astype(np.float64)
    assert (found.low, found.high) == (rest.min(), rest.max())
    assert found.mean == pytest.approx(rest.mean()) and found.deviation == pytest.approx(rest.std())
    assert (found.zeros, found.nans, found.infinities) == (500, 1, 2)
    assert sum(found.counts) == len(rest) and len(found.edges) == len(found.counts) + 1
    assert ("elements", "20,000, all of them") in found.lines and ("NaN", "1") in found.lines


@pytest.mark.parametrize("order", ["C", "F", "strided"])
def test_of_a_large_one_a_sample_from_beginning_to_end_is_read_and_that_is_said(order):
    ramp = np.arange(1 << 20, dtype=np.float32).reshape(1024, 1024)
    array = {"C": ramp, "F": np.asfortranarray(ramp), "strided": np.repeat(ramp, 2, axis=1)[:, ::2]}[order]
    found = statistics("w", array, most=1 << 16)
    assert found.read <= 1 << 16 and found.elements == 1 << 20
    assert found.mean == pytest.approx(ramp.mean(), rel=0.05) and found.low == 0
    assert "the figures are of this sample" in dict(found.lines)["elements"]


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 4), np.float32), np.full(3, np.nan), np.array(2.5), np.ones(5, bool), np.full(4, 7, np.uint8),
        np.arange(6).astype(ml_dtypes.bfloat16), np.array([-1.7e308, 1.7e308]),
    ],
    ids=["empty", "nan", "scalar", "bool", "equal", "bf16", "huge"],
)  # fmt: skip
def test_odd_constants_have_figures_too(array):
    found = statistics("w", array)
    assert found.read == found.elements == array.size and found.lines and found.words


def test_only_constants_have_weights():
    with Graph("g") as graph:
        graph.output(ops.relu(ops.constant(np.arange(4, dtype=np.float32)).named("w")).named("y"))
    assert weights_of(graph, "w").high == 3
    with pytest.raises(CompilerError, match="y is no constant"):
        weights_of(graph, "y")
