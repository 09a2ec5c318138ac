"""Sorting by merges, scattering by sorted places: against NumPy, of every dtype and size, with ties and threads."""

from __future__ import annotations

import time

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops, reference
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.ops.ordering import argsort, scatter_sorted
from compiler.importers.compose.places import scatter_along, scatter_coordinates, top_k


def results(build, *arrays):
    """What a graph over arrays of these types gives, compiled, on one thread and on three, and by the reference."""
    names = {numpy_dtype(name): name for name in ("f32", "f64", "f16", "bf16", "i64", "i8", "u8", "bool")}
    with Graph("g", inputs=[TensorType(names[a.dtype], a.shape) for a in arrays]) as graph:
        made = build(*graph.inputs)
        graph.output(*(made if isinstance(made, tuple) else (made,)))
    model = compile(graph, opt_level=1)
    once, shared = model.execute(*arrays, threads=1), model.execute(*arrays, threads=3)
    for a, b in zip(once, shared, strict=True):
        np.testing.assert_array_equal(a, b)
    return once, reference(graph, *arrays)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64", "i64", "i8", "u8", "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_keys_are_sorted_and_equal_ones_stay_in_order(dtype, descending):
    chance = np.random.default_rng(0)
    keys = chance.integers(0, 40, (3, 205)).astype(numpy_dtype(dtype))  # many are equal
    (found,), (wanted,) = results(lambda x: argsort(x, descending), keys)
    np.testing.assert_array_equal(found, wanted)
    wide = keys.astype(np.float64)
    np.testing.assert_array_equal(found, np.argsort(-wide if descending else wide, axis=-1, kind="stable"))


@pytest.mark.parametrize("size", [1, 2, 3, 15, 16, 17, 31, 33, 64, 1000])
def test_rows_of_any_length_are_sorted(size):
    keys = np.random.default_rng(size).permutation(2 * size).astype(np.float32).reshape(2, size)
    (found,), (wanted,) = results(argsort, keys)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("descending", [False, True])
def test_nan_is_the_largest_and_both_zeros_are_equal(descending):
    keys = np.array([0.0, np.nan, -np.inf, 1.0, -0.0, np.nan, np.inf, -1.0, 0.0], np.float32)
    (found,), (wanted,) = results(lambda x: argsort(x, descending), keys)
    np.testing.assert_array_equal(found, wanted)
    assert found.tolist() == ([1, 5, 6, 3, 0, 4, 8, 7, 2] if descending else [2, 7, 0, 4, 8, 3, 6, 1, 5])


@pytest.mark.parametrize("dtype", ["f32", "f16", "i64", "bool"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_rows_are_scattered_update_after_update(dtype, reduction):
    if dtype == "bool" and reduction != "none":
        pytest.skip("truth values are replaced, not combined")
    chance = np.random.default_rng(1)
    x, updates = (chance.integers(0, 3, (rows, 5)).astype(numpy_dtype(dtype)) for rows in (40, 90))
    places = chance.integers(-4, 44, 90)  # some are outside, and are left out
    order = np.argsort(places, kind="stable")

    def build(x, places, order, updates):
        return scatter_sorted(x, places, order, updates, reduction)

    (found,), (wanted,) = results(build, x, places[order], order, updates)
    np.testing.assert_array_equal(found, wanted)


def test_long_rows_are_sorted_and_their_largest_found_in_no_time():
    x = np.random.default_rng(2).standard_normal((2, 60_000)).astype(np.float32)
    start = time.perf_counter()
    (values, places), _ = results(lambda v: top_k(v, 100, 1), x[:, :5000])
    order = np.argsort(-x[:, :5000], axis=1, kind="stable")[:, :100]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    with Graph("g", inputs=[TensorType("f32", (60_000, 2))]) as graph:
        graph.output(*top_k(graph.inputs[0], 60_000, 0, largest=False))
    values, places = compile(graph, opt_level=1).execute(np.ascontiguousarray(x.T))
    np.testing.assert_array_equal(values, np.sort(x.T, axis=0))
    assert time.perf_counter() - start < 20  # all pairs of 60,000 would take half a minute


@pytest.mark.parametrize("reduction", ["none", "add"])
def test_many_updates_are_scattered(reduction):
    chance = np.random.default_rng(3)
    x, updates = (chance.integers(0, 9, shape).astype(np.float32) for shape in ((3, 4000), (2, 3000)))
    places = chance.integers(-4000, 4000, (2, 3000))
    wanted = x.copy()
    for row in range(2):
        if reduction == "none":
            wanted[row][places[row]] = updates[row]
        else:
            np.add.at(wanted[row], places[row], updates[row])
    (found,), (meant,) = results(lambda *v: scatter_along(*v, 1, reduction), x, places, updates)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(meant, wanted)
    rows, new = np.zeros((5000, 3), np.float32), chance.integers(0, 9, (2000, 3)).astype(np.float32)
    index = chance.integers(0, 5000, (2000, 1))
    wanted = rows.copy()
    for at, update in zip(index[:, 0], new, strict=True):
        wanted[at] = update if reduction == "none" else wanted[at] + update
    (found,), _ = results(lambda *v: scatter_coordinates(*v, reduction), rows, index, new)
    np.testing.assert_array_equal(found, wanted)


def test_short_rows_are_counted_as_before():
    with Graph("g", inputs=[TensorType("f32", (100,)), TensorType("f32", ("N",))]) as graph:
        graph.output(*top_k(graph.inputs[0], 50, 0), *top_k(graph.inputs[1], 50, 0))
    assert "mo.merge_runs" not in {op.name for op in graph.ops}
    assert not hasattr(ops, "merge_runs")
