"""A model called again: what a call before it left behind never shows in a result or in a message."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.backend import runtime_arrays
from compiler.errors import ExecutionError
from compiler.graph.types import BufferType


def _sum_of(shape: tuple[int | str, ...], dtype: str = "f32") -> Graph:
    graph = Graph("sum", inputs=[TensorType(dtype, shape), TensorType(dtype, shape)])
    with graph:
        x, y = graph.inputs
        graph.output(x + y)
    return graph


@pytest.fixture(scope="module")
def model():
    return compile(_sum_of(("M", 3)))


def test_objects_lie_in_memory_as_native_code_reads_them() -> None:
    assert runtime_arrays.tuple_items() is not None  # as in CPython; elsewhere every call takes the longer way


def test_calls_with_other_arrays_and_sizes_in_turns(model) -> None:
    rng = np.random.default_rng(0)
    for rows in (2, 2, 5, 5, 2, 0, 1, 1, 40_000, 40_000, 2):
        x, y = (rng.random((rows, 3), np.float32) for _ in range(2))
        np.testing.assert_array_equal(model.execute(x, y)[0], x + y)


def test_results_belong_to_the_caller(model) -> None:
    x, y = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    first = model.execute(x, y)[0]
    second = model.execute(x, y * 2)[0]
    np.testing.assert_array_equal(first, np.full((2, 3), 2, np.float32))
    np.testing.assert_array_equal(second, np.full((2, 3), 3, np.float32))
    assert first.flags.writeable


class _Labelled(np.ndarray):
    """A subclass, as users of masked arrays or units have them."""


def test_arrays_of_another_kind_after_plain_ones(model) -> None:
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((2, 3), np.float32)
    model.execute(x, y)
    fixed = x.copy()
    fixed.flags.writeable = False
    shifted = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    for other in (np.asfortranarray(x), x[:, ::-1], x.view(_Labelled), shifted, fixed, x):
        np.testing.assert_array_equal(model.execute(other, y)[0], np.asarray(other) + y)


def test_mistakes_get_the_same_words_after_a_call_that_was_right(model) -> None:
    x, y = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    wrong = [(x,), (x, y, y), (x, y.astype(np.float64)), (x, y[:1]), (x, y.reshape(3, 2)), (x, x[0]), (x, None)]
    fresh = compile(_sum_of(("M", 3)))
    for arrays in wrong:
        with pytest.raises(ExecutionError) as before:
            fresh.execute(*arrays)
        model.execute(x, y)
        with pytest.raises(ExecutionError) as after:
            model.execute(*arrays)
        assert str(after.value) == str(before.value)
    np.testing.assert_array_equal(model.execute(x, y)[0], x + y)


def test_a_result_given_twice_and_one_that_is_an_input() -> None:
    graph = Graph("twice", inputs=[TensorType("f32", (4,))])
    with graph:
        (x,) = graph.inputs
        y = ops.exp(x)
        graph.output(y, y, x)
    model = compile(graph)
    for start in range(3):
        x = np.arange(start, start + 4, dtype=np.float32)
        one, two, same = model.execute(x)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(same, x)
        assert not np.shares_memory(one, two) and not np.shares_memory(same, x)


def test_a_mutable_buffer_changes_at_every_call() -> None:
    graph = Graph("count", inputs=[BufferType("f32", (4,)), TensorType("f32", (4,))])
    with graph:
        state, x = graph.inputs
        ops.buffer_store(state, ops.buffer_load(state) + x)
        graph.output(x * 2)
    model = compile(graph)
    state, x = np.zeros(4, np.float32), np.ones(4, np.float32)
    for number in range(1, 5):
        model.execute(state, x)
        assert state.tolist() == [number] * 4


def test_threads_that_call_one_model_at_once_get_their_own_results(model) -> None:
    failures: list[int] = []

    def work(number: int) -> None:
        x = np.full((2 + number % 2, 3), number, np.float32)
        for _ in range(300):
            if (model.execute(x, x)[0] != 2 * number).any():
                failures.append(number)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


def test_a_traced_or_bound_run_between_two_calls_changes_nothing(model) -> None:
    x, y = np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    expected = model.execute(x, y)[0]
    model.program.trace((y * 5, y))
    model.program.bind((y * 7, y))
    np.testing.assert_array_equal(model.execute(x, y)[0], expected)
    np.testing.assert_array_equal(model.execute(x, y, threads=2)[0], expected)


def test_memory_of_results_that_are_gone_is_used_again_and_of_others_never(model) -> None:
    x = np.ones((40_000, 3), np.float32)
    kept = [model.execute(x, x * k)[0] for k in range(4)]
    part = model.execute(x, x * 9)[0][7:9, 1:].T  # a view of a view holds its result too
    for _ in range(5):
        model.execute(x, x * 100)
    assert [array[-1, -1] for array in kept] == [1, 2, 3, 4]
    assert part.tolist() == [[10, 10], [10, 10]]
    place = kept.pop().ctypes.data
    assert place in {model.execute(x, x)[0].ctypes.data for _ in range(2)}
