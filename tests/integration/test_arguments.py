"""What a model may be given, and what it refuses before anything goes wrong."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops, reference
from compiler.errors import ExecutionError, GraphError
from compiler.graph.dim_text import dim
from compiler.graph.types import BufferType


def model_of(*types, build):
    with Graph("g", inputs=list(types)) as graph:
        graph.output(build(*graph.inputs))
    return compile(graph)


def test_lists_and_numbers_are_taken_as_the_dtype_that_is_declared():
    types = [TensorType("f32", ("M", 2)), TensorType("f32", ()), TensorType("i8", ()), TensorType("bf16", (1,))]
    model = model_of(*types, build=lambda x, s, n, b: x * s + ops.cast(n, "f32") + ops.cast(b, "f32"))
    given = ([[1, 2.5], (3, 4)], 0.5, 3, [True])
    (found,) = model.execute(*given)
    np.testing.assert_array_equal(found, np.float32([[4.5, 5.25], [5.5, 6]]))
    np.testing.assert_array_equal(reference(model.graph, *given)[0], found)
    (found,) = model.execute(np.ones((1, 2), np.float32), np.float32(2), np.int8(1), [0])
    np.testing.assert_array_equal(found, [[3, 3]])


@pytest.mark.parametrize(
    ("value", "words"),
    [([1.5, 2], "expected numbers that fit i8, got float64 in a list"), ([1, 300], "1 to 300 does not fit i8"),
     ([[1, 2], [3]], "this list is no array"), (["a", "b"], "expected numbers that fit i8"),
     (np.int32(1), "expected dtype i8, got i32"), ([[1, 2]], r"expected shape \(2,\), got \(1, 2\)")],
)  # fmt: skip
def test_what_does_not_fit_the_dtype_is_refused(value, words):
    model = model_of(TensorType("i8", (2,)), build=lambda x: x + 1)
    with pytest.raises(ExecutionError, match=rf"input 0 \(x0\): .*{words}"):
        model.execute(value)


def counting(*types):
    """A model that adds one to its first buffer and doubles its second."""
    with Graph("g", inputs=list(types)) as graph:
        one, two = graph.inputs
        ops.buffer_store(one, ops.buffer_load(one) + 1)
        ops.buffer_store(two, ops.buffer_load(two) * 2)
        graph.output(ops.buffer_load(one) + ops.buffer_load(two))
    return compile(graph)


def test_mutable_buffers_that_overlap_are_refused():
    model = counting(BufferType("f32", (8,)), BufferType("f32", (8,)))
    memory = np.ones(16, np.float32)
    for one, two in ((memory[:8], memory[4:12]), (memory[:8], memory[:8])):
        with pytest.raises(ExecutionError, match="x0 and x1 overlap in memory; each mutable buffer needs an array"):
            model.execute(one, two)
    np.testing.assert_array_equal(memory, np.ones(16))
    np.testing.assert_array_equal(model.execute(memory[:8], memory[8:])[0], np.full(8, 4.0))
    with pytest.raises(ExecutionError, match="a mutable buffer must be an array"):
        model.execute([0.0] * 8, memory[8:])


@pytest.mark.parametrize("use", [lambda x, q: x[q], lambda x, q: x[q:], lambda x, q: x[:, q], lambda x, q: x[2:q]])
def test_a_size_that_no_input_has_is_refused_where_it_is_used(use):
    with Graph("g", inputs=[TensorType("f32", (8, "N"))]) as graph:
        with pytest.raises(GraphError, match="the dim Q is not a dim of any input of graph 'g'"):
            use(graph.inputs[0], dim("Q"))
        use(graph.inputs[0], dim("N") - dim("N") + 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_forked_in_the_middle_of_a_run_runs_the_model_itself():
    size = 1 << 22
    model = model_of(TensorType("f32", ("M",)), build=lambda x: ops.sum(ops.tanh(x), axis=0) * 2)
    x = np.ones(size, np.float32)
    (expected,) = model.execute(x)
    running, stop = threading.Event(), threading.Event()

    def run() -> None:
        while not stop.is_set():
            running.set()
            model.execute(x)

    thread = threading.Thread(target=run)
    thread.start()
    running.wait()
    try:
        for _ in range(4):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # instead of waiting for ever
                good = bool(model.execute(x, threads=2)[0] == expected)
                os._exit(0 if good else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        stop.set()
        thread.join()
