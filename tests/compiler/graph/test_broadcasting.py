"""Broadcasting is NumPy's, over numbers and names alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.broadcasting import broadcast_shapes, check_broadcasts_to
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType

SHAPES = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4).map(tuple)


@given(st.lists(SHAPES, min_size=1, max_size=3))
def test_shapes_broadcast_as_in_numpy(shapes: list[tuple[int, ...]]) -> None:
    try:
        wanted: tuple[int, ...] | None = np.broadcast_shapes(*shapes)
    except ValueError:
        wanted = None
    try:
        got: tuple[int, ...] | None = broadcast_shapes(*shapes)  # type: ignore[assignment]
    except GraphError:
        got = None
    assert got == wanted


@given(SHAPES, SHAPES)
def test_broadcast_to_accepts_what_numpy_accepts(shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    try:
        np.broadcast_to(np.zeros(shape), target)
        fits = True
    except ValueError:
        fits = False
    try:
        check_broadcasts_to(shape, target)
        assert fits
    except GraphError:
        assert not fits


def test_the_builder_makes_operands_equal() -> None:
    with Graph("g", [TensorType("f32", ("M", 1)), TensorType("f16", (3,))]) as g:
        a, b = g.inputs
        g.output(a + b)
    names = [op.name for op in g.ops]
    assert names == ["mo.broadcast_to", "mo.cast", "mo.broadcast_to", "mo.add"]
    g.verify()


def test_equal_operands_get_nothing_inserted() -> None:
    with Graph("g", [TensorType("f32", ("M", 3)), TensorType("f32", ("M", 3))]) as g:
        g.output(g.inputs[0] + g.inputs[1])
    assert [op.name for op in g.ops] == ["mo.add"]


@pytest.mark.parametrize(
    ("a", "b", "why"),
    [(("M", 4), ("N", 4), "M is not N"), (("M", 4), (3, 4), "M is not 3"), ((2, 3), (4,), "3 is not 4")],
)
def test_a_mismatch_names_the_op_both_shapes_and_the_users_line(a: tuple, b: tuple, why: str) -> None:
    with Graph("g", [TensorType("f32", a), TensorType("f32", b)]) as g, pytest.raises(GraphError) as caught:
        g.inputs[0] * g.inputs[1]
    error = caught.value
    shapes = " and ".join(str(TensorType("f32", s)).split("<[")[1].split("]")[0] for s in (a, b))
    assert error.message.startswith("mul: shapes") and why in error.message
    for size in shapes.split(" and "):
        assert size in error.message
    assert error.location is not None and error.location.file == __file__ and error.location.line > 0


def test_a_symbol_broadcasts_with_one_and_with_itself() -> None:
    with Graph("g", [TensorType("f32", ("M", 1, "N")), TensorType("f32", (5, "N"))]) as g:
        assert str((g.inputs[0] + g.inputs[1]).shape) == "(M, 5, N)"
        assert str((g.inputs[0] + g.inputs[0]).shape) == "(M, 1, N)"


def test_a_scalar_constant_is_made_once() -> None:
    with Graph("g", [TensorType("f32", (2,))]) as g:
        (x,) = g.inputs
        g.output(x * 2 + 2 + x * 2.0, ops.where(x == -0.0, 0.0, x))
    values = [str(op.attrs["value"]) for op in g.ops if op.name == "mo.constant"]
    assert len(values) == len(set(values)) == 3  # 2.0, 0.0 and -0.0 are three bit patterns
