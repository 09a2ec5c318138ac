"""Indexing and slicing are NumPy's: same shapes and same elements, also when the sizes are symbolic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.constraints import constraints_of
from compiler.graph.dims import evaluate
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.reference import reference

BOUND = st.one_of(st.none(), st.integers(-7, 7))
SLICE = st.builds(slice, BOUND, BOUND, st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3])))
ENTRY = st.one_of(SLICE, st.integers(-4, 3), st.none(), st.just(Ellipsis))


def run(array: np.ndarray, build: Any, names: tuple[Any, ...] | None = None) -> np.ndarray:
    with Graph("g", [TensorType("i64", names or array.shape)]) as g:
        g.output(build(g.inputs[0]))
    g.verify()
    return reference(g, array)[0]


@settings(deadline=None, max_examples=150)
@given(st.lists(ENTRY, max_size=4).map(tuple), st.lists(st.integers(0, 5), min_size=1, max_size=3).map(tuple))
def test_static_indexing_is_numpys(index: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        wanted = array[index]
    except IndexError:
        with pytest.raises(GraphError):
            run(array, lambda x: x[index])
        return
    got = run(array, lambda x: x[index])
    assert got.shape == wanted.shape and np.array_equal(got, wanted)


@settings(deadline=None, max_examples=150)
@given(SLICE, st.integers(0, 9))
@example(slice(0, -1, -1), 3)
def test_symbolic_slicing_is_numpys_or_says_what_size_it_needs(part: slice, size: int) -> None:
    array = np.arange(size)
    with Graph("g", [TensorType("i64", ("M",))]) as g:
        y = g.inputs[0][part]
        g.output(y)
    if all(c.holds({"M": size}) for c in constraints_of(g)):
        wanted = array[part]
        assert evaluate(y.shape[0], {"M": size}) == wanted.shape[0]
        assert np.array_equal(reference(g, array)[0], wanted)


@pytest.mark.parametrize(
    ("part", "shape"),
    [
        (slice(None), "(M,)"),
        (slice(1, None), "(M - 1,)"),
        (slice(None, -1), "(M - 1,)"),
        (slice(-3, None), "(3,)"),
        (slice(None, 5), "(min(5, M),)"),
        (slice(None, None, 2), "(((M + 1) // 2),)"),
        (slice(None, None, -1), "(M,)"),
    ],
)
def test_symbolic_slices_have_simple_shapes(part: slice, shape: str) -> None:
    with Graph("g", [TensorType("f32", ("M",))]) as g:
        assert str(g.inputs[0][part].shape) == shape


def test_the_sizes_a_slice_takes_for_granted_are_constraints() -> None:
    with Graph("g", [TensorType("f32", ("M",))]) as g:
        g.output(g.inputs[0][-3:])
    constraints = constraints_of(g)
    assert all(c.holds({"M": 3}) for c in constraints)
    (broken, *_) = [c for c in constraints if not c.holds({"M": 2})]
    assert "slice_0" in broken.message


def test_a_graph_without_arithmetic_on_symbols_has_no_constraints() -> None:
    with Graph("g", [TensorType("f32", ("M", "N"))]) as g:
        g.output(ops.softmax(g.inputs[0] * 2).sum(0))
    assert constraints_of(g) == ()


def test_an_integer_value_or_array_gathers() -> None:
    array = np.arange(12).reshape(3, 4)
    assert np.array_equal(run(array, lambda x: x[[2, 0]]), array[[2, 0]])
    assert np.array_equal(run(array, lambda x: x[:, np.array([[1, -1]])]), array[:, np.array([[1, -1]])])
    assert np.array_equal(run(array, lambda x: x[None, 1:, [0, 3]]), array[None, 1:, [0, 3]])
    assert np.array_equal(run(array, lambda x: x[ops.arange(2)]), array[:2])


def test_iterating_over_a_value_gives_its_rows() -> None:
    array = np.arange(6).reshape(2, 3)
    assert np.array_equal(run(array, lambda x: sum(x)), array.sum(0))


def test_the_whole_is_no_op() -> None:
    with Graph("g", [TensorType("f32", ("M", 4))]) as g:
        (x,) = g.inputs
        assert x[:] is x[..., :] is x[0:, :4] is x


SEQUENCE = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("ours", "numpys"),
    [
        (lambda x: ops.flip(x), lambda a: np.flip(a)),
        (lambda x: ops.flip(x, axis=(0, -1)), lambda a: np.flip(a, (0, -1))),
        (lambda x: ops.split(x, 2, axis=2)[1], lambda a: np.split(a, 2, axis=2)[1]),
        (lambda x: ops.split(x, [1, 3], axis=-1)[1], lambda a: np.split(a, [1, 3], axis=-1)[1]),
        (lambda x: ops.chunk(x, 2, dim=1)[1], lambda a: a[:, 2:]),
        (lambda x: ops.slice(x, [1, -2], [None, 4], axes=[1, 2]), lambda a: a[:, 1:, -2:4]),
        (lambda x: ops.concat([x, x[:, :1]], axis=1), lambda a: np.concatenate([a, a[:, :1]], 1)),
        (lambda x: ops.stack([x, x * 2], axis=-1), lambda a: np.stack([a, a * 2], -1)),
        (lambda x: ops.pad(x, ((0, 1), (2, 0), (1, 1)), constant_values=7),
         lambda a: np.pad(a, ((0, 1), (2, 0), (1, 1)), constant_values=7)),
        (lambda x: ops.pad(x, (1, 2)), lambda a: np.pad(a, (1, 2))),
        (lambda x: ops.pad(x, 1), lambda a: np.pad(a, 1)),
        (lambda x: ops.tile(x, (2, 1, 2, 1)), lambda a: np.tile(a, (2, 1, 2, 1))),
        (lambda x: ops.tile(x, 2), lambda a: np.tile(a, 2)),
        (lambda x: ops.repeat(x, 2, axis=1), lambda a: np.repeat(a, 2, axis=1)),
        (lambda x: ops.repeat(x, 3), lambda a: np.repeat(a, 3)),
        (lambda x: ops.roll(x, 1, axis=1), lambda a: np.roll(a, 1, axis=1)),
        (lambda x: ops.roll(x, -5), lambda a: np.roll(a, -5)),
        (lambda x: ops.take(x, [0, 23]), lambda a: np.take(a, [0, 23])),
        (lambda x: ops.transpose(x), lambda a: a.T),
        (lambda x: x.transpose(1, 0, 2), lambda a: a.transpose(1, 0, 2)),
        (lambda x: ops.moveaxis(x, 0, -1), lambda a: np.moveaxis(a, 0, -1)),
        (lambda x: ops.moveaxis(x, (0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0))),
        (lambda x: ops.swapaxes(x, 0, 2), lambda a: np.swapaxes(a, 0, 2)),
        (lambda x: ops.expand_dims(x, (0, -1)), lambda a: np.expand_dims(a, (0, -1))),
        (lambda x: ops.squeeze(x[:1]), lambda a: np.squeeze(a[:1])),
        (lambda x: x.reshape(4, -1), lambda a: a.reshape(4, -1)),
        (lambda x: ops.flatten(x, 1), lambda a: a.reshape(2, 12)),
        (lambda x: ops.tril(x, 1), lambda a: np.tril(a, 1)),
        (lambda x: ops.triu(x), lambda a: np.triu(a)),
        (lambda x: ops.broadcast_to(x[:, :1], (2, 5, 4)), lambda a: np.broadcast_to(a[:, :1], (2, 5, 4))),
    ],
)  # fmt: skip
def test_shape_ops_are_numpys(ours: Any, numpys: Any) -> None:
    got, wanted = run(SEQUENCE, ours), numpys(SEQUENCE)
    assert got.shape == wanted.shape and np.array_equal(got, wanted)


@pytest.mark.parametrize("arguments", [(5,), (2, 10, 3), (10, 2, -3), (0, 1, 0.25), (3, 3), (5.5,), (-2, 7)])
def test_arange_is_numpys(arguments: tuple[Any, ...]) -> None:
    with Graph("g") as g:
        g.output(ops.arange(*arguments))
    wanted = np.arange(*arguments)
    (got,) = reference(g)
    assert got.dtype == wanted.dtype and np.array_equal(got, wanted)


@pytest.mark.parametrize(
    ("arguments", "numpys"), [(("M",), (7,)), ((2, "M"), (2, 7)), ((1, "M", 3), (1, 7, 3)), ((9, "M", -1), (9, 7, -1))]
)
def test_arange_up_to_a_dim(arguments: tuple[Any, ...], numpys: tuple[int, ...]) -> None:
    with Graph("g", [TensorType("f32", ("M",))]) as g:
        g.output(ops.arange(*arguments))
    assert np.array_equal(reference(g, np.zeros(7, np.float32))[0], np.arange(*numpys))
