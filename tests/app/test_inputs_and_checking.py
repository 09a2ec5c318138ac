import numpy as np
import pytest

from app.checking import check_outputs, error_bound
from app.errors import CheckFailed
from app.inputs import graph_sizes, random_inputs
from compiler.errors import ExecutionError
from compiler.graph import ops
from compiler.graph.dtypes import DTYPES
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType


def graph_of(*types, build=lambda *xs: xs[0]):
    graph = Graph("g", inputs=list(types))
    with graph:
        graph.output(build(*graph.inputs))
    return graph


@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_are_repeatable_and_never_all_zero(dtype):
    graph = graph_of(TensorType(dtype, (64,)))
    (first,), (again,) = random_inputs(graph, {}, 3), random_inputs(graph, {}, 3)
    np.testing.assert_array_equal(first, again)
    assert first.any() and (dtype == "bool" or (first != 0).all())
    assert not np.array_equal(first, random_inputs(graph, {}, 4)[0])


def test_indices_stay_inside_the_axis_they_pick_from():
    types = TensorType("f32", (9, "N")), TensorType("i64", (100, 1))
    graph = graph_of(*types, build=lambda table, rows: ops.take(table, rows[:, 0], axis=1))
    indices = random_inputs(graph, {"N": 4}, 0)[1]
    assert set(np.unique(indices)) == {0, 1, 2, 3}


def test_weights_are_scaled_by_their_fan_in():
    graph = graph_of(TensorType("f32", (4, 100)), TensorType("f32", (100, 8)), build=lambda x, w: x @ w)
    x, w = random_inputs(graph, {}, 0)
    assert np.abs(x).max() > 0.9 and np.abs(w).max() <= 0.1


def test_sizes_come_from_the_user_then_the_source():
    graph = graph_of(TensorType("f32", ("M", "N")))
    assert graph_sizes(graph, {"M": 1, "N": 2}, {"N": 5}) == {"M": 1, "N": 5}
    with pytest.raises(ExecutionError, match="no size is known for dim N"):
        graph_sizes(graph, {"M": 1}, {})
    with pytest.raises(ExecutionError, match="no dim K; its dims are M, N"):
        graph_sizes(graph, {}, {"K": 1})


def check(got, wanted, bound=1e-4):
    (result,) = check_outputs([np.asarray(got)], [np.asarray(wanted)], bound)
    return result


def test_a_difference_is_placed_and_measured():
    wanted = np.ones((3, 4), np.float32)
    got = wanted.copy()
    got[2, 1] = 1.01
    result = check(got, wanted)
    assert not result.ok and result.where == (2, 1) and result.error == pytest.approx(0.01, rel=1e-3)
    assert check(got, wanted, bound=0.1).ok


def test_cancellation_is_measured_against_the_output_as_a_whole():
    wanted = np.array([100.0, -100.0, 1e-9], np.float32)
    assert check(wanted + np.float32(1e-6), wanted).ok


def test_nan_and_infinity_must_be_where_the_reference_has_them():
    odd = np.array([np.nan, np.inf, -np.inf, 1.0], np.float32)
    assert check(odd, odd).ok
    for index, value in enumerate([1.0, -np.inf, np.inf, np.nan]):
        got = odd.copy()
        got[index] = value
        assert not check(got, odd).ok and check(got, odd).where == (index,)


def test_integers_must_be_equal_and_empty_outputs_are():
    assert not check(np.array([1, 2]), np.array([1, 3])).ok
    assert check(np.array([1, 2]), np.array([1, 2])).ok
    assert check(np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)).ok


def test_another_shape_or_dtype_fails_at_once():
    with pytest.raises(CheckFailed, match="output 0 is float32"):
        check(np.zeros(3, np.float32), np.zeros(4, np.float32))


def test_the_bound_is_that_of_the_coarsest_float():
    plain = graph_of(TensorType("f32", (4,)))
    mixed = graph_of(TensorType("f32", (4,)), build=lambda x: ops.cast(ops.cast(x, "bf16"), "f32"))
    assert error_bound(plain) < error_bound(mixed)
    assert error_bound(graph_of(TensorType("i32", (4,)))) == 0
