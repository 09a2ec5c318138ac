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


def symbolic(build, types, *calls):
    """What a graph over sizes that are not known yet gives for each of some arrays: compiled once, and as meant."""
    with Graph("g", inputs=[TensorType(*each) for each in types]) as graph:
        made = build(*graph.inputs)
        graph.output(*(made if isinstance(made, tuple) else (made,)))
    model = compile(graph, opt_level=1)
    for arrays in calls:
        once, shared = model.execute(*arrays, threads=1), model.execute(*arrays, threads=3)
        for a, b, c in zip(once, shared, reference(graph, *arrays), strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
        yield once


@pytest.mark.parametrize("descending", [False, True])
def test_rows_of_a_size_that_is_not_known_yet_are_sorted(descending):
    chance = np.random.default_rng(4)
    sizes = ((2, 1), (1, 17), (3, 1000), (0, 5), (4, 0))
    calls = [(chance.integers(0, 300, size).astype(np.float32),) for size in sizes]
    found = symbolic(lambda x: argsort(x, descending), [("f32", ("M", "N"))], *calls)
    for (order,), (keys,) in zip(found, calls, strict=True):
        np.testing.assert_array_equal(order, np.argsort(-keys if descending else keys, axis=-1, kind="stable"))


def test_the_largest_of_a_row_whose_size_is_not_known_yet_are_sorted_and_as_many_as_were_asked_for():
    chance = np.random.default_rng(5)
    calls = [(chance.permutation(3 * n).astype(np.float32).reshape(n, 3),) for n in (50, 51, 3000)]

    def build(x):
        values, places = top_k(x, 50, 0)
        assert values.shape == places.shape == (50, 3)
        return values, places

    for (values, places), (x,) in zip(symbolic(build, [("f32", ("N", 3))], *calls), calls, strict=True):
        np.testing.assert_array_equal(values, -np.sort(-x, axis=0)[:50])
        np.testing.assert_array_equal(places, np.argsort(-x, axis=0)[:50])


def test_a_whole_row_whose_size_is_not_known_yet_is_sorted():
    keys = np.random.default_rng(6).permutation(700).astype(np.float32)
    (found,) = symbolic(lambda x: top_k(x, x.shape[0], 0, largest=False), [("f32", ("N",))], (keys,))
    np.testing.assert_array_equal(found[0], np.arange(700))


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "min", "max"])
def test_updates_whose_number_is_not_known_yet_are_scattered(reduction):
    chance = np.random.default_rng(7)
    combine = {"none": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[reduction]
    calls = []
    for n, m in ((5, 3), (400, 700), (3, 0)):
        x, new = (chance.integers(0, 4, (2, size)).astype(np.float32) for size in (n, m))
        calls.append((x, chance.integers(-n, n, (2, m)), new))
    types = [("f32", (2, "N")), ("i64", (2, "M")), ("f32", (2, "M"))]
    found = symbolic(lambda *v: scatter_along(*v, 1, reduction), types, *calls)
    for (made,), (x, places, new) in zip(found, calls, strict=True):
        wanted = x.copy()
        for row in range(2):
            for at, update in zip(places[row], new[row], strict=True):
                wanted[row, at] = update if combine is None else combine(wanted[row, at], update)
        np.testing.assert_array_equal(made, wanted)


def test_rows_are_scattered_where_neither_their_number_nor_that_of_updates_is_known_yet():
    chance = np.random.default_rng(8)
    calls = [(np.zeros((n, 3), np.float32), chance.integers(0, n, (m, 1)), chance.random((m, 3), np.float32))
             for n, m in ((7, 4), (500, 900))]  # fmt: skip
    types = [("f32", ("N", 3)), ("i64", ("M", 1)), ("f32", ("M", 3))]
    for (made,), (x, places, new) in zip(symbolic(scatter_coordinates, types, *calls), calls, strict=True):
        wanted = x.copy()
        for at, update in zip(places[:, 0], new, strict=True):
            wanted[at] = update
        np.testing.assert_array_equal(made, wanted)


def test_short_rows_are_counted_and_few_updates_compared_as_before():
    row, few = TensorType("f32", ("N",)), (8,)
    with Graph("g", inputs=[TensorType("f32", (100,)), row, TensorType("i64", few), TensorType("f32", few)]) as graph:
        short, long, places, updates = graph.inputs
        graph.output(*top_k(short, 50, 0), *top_k(long, 5, 0), scatter_along(long, places, updates, 0))
    assert "mo.merge_runs" not in {op.name for op in graph.ops}
    assert not hasattr(ops, "merge_runs")
