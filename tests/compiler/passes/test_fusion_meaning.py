"""Whatever fusion decides, the generated kernels compute what the graph says: random graphs against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from compiler.graph import ops
from compiler.graph.dims import evaluate as size_of
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType
from compiler.reference import REFERENCES, reference

SIZES = {"M": 3, "N": 5}
UNARY = [ops.relu, ops.tanh, ops.exp, ops.abs, ops.negative, ops.square, ops.sigmoid]
BINARY = [ops.add, ops.sub, ops.mul, ops.maximum]


def _numbers(draw, type_):
    shape = [size_of(s, SIZES) for s in type_.shape]
    seed = draw(st.integers(0, 2**16))
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _step(draw, pool, graph):
    """One more op on values of the pool."""
    x = draw(st.sampled_from(pool))
    kind = draw(st.integers(0, 14))
    if kind <= 2:
        return draw(st.sampled_from(UNARY))(x)
    if kind <= 5:
        same = [v for v in pool if v.shape == x.shape]
        return draw(st.sampled_from(BINARY))(x, draw(st.sampled_from(same)))
    if kind == 6:
        return draw(st.sampled_from(BINARY))(x, draw(st.sampled_from([0.5, 2.0, -1.0])))
    if kind == 7 and x.rank >= 2:
        return ops.transpose(x, draw(st.permutations(range(x.rank))))
    if kind == 8 and x.rank >= 2:
        at = draw(st.integers(0, x.rank - 2))
        return ops.reshape(x, (*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :]))
    if kind == 9 and x.rank:
        if x.shape[-1] == 8:
            return ops.reshape(x, (*x.shape[:-1], 2, 4))
        return ops.reshape(x, (*x.shape[:-1], 1, x.shape[-1]))
    if kind == 10 and x.rank >= 2:
        partners = [v for v in pool if v.rank == 2 and v.shape[0] == x.shape[-1]]
        return x @ (draw(st.sampled_from(partners)) if partners else ops.transpose(x, _swap(x.rank)))
    if kind == 11 and x.rank:
        axis = draw(st.integers(0, x.rank - 1))
        return draw(st.sampled_from([ops.sum, ops.mean, ops.max]))(x, axis=axis, keepdims=draw(st.booleans()))
    if kind == 12 and x.rank:
        return draw(st.sampled_from([ops.softmax, ops.cumsum]))(x, axis=draw(st.integers(0, x.rank - 1)))
    if kind == 13 and x.rank:
        return ops.concat([x, draw(st.sampled_from([v for v in pool if v.shape == x.shape]))], axis=x.rank - 1)
    if kind == 14 and x.rank and isinstance(x.shape[-1], int) and x.shape[-1] > 1:
        return x[..., ::-1] if draw(st.booleans()) else x[..., 1:]
    return ops.layer_norm(x) if x.rank else ops.broadcast_to(x, (4,))


def _swap(rank):
    return (*range(rank - 2), rank - 1, rank - 2)


@st.composite
def graphs(draw):
    types = [TensorType("f32", s) for s in (("M", 8), (8, 8), (8,), ("M", "N", 8), (1, 8), (), (2, 4, 8))]
    types.append(BufferType("f32", ("M", 8)))
    graph = Graph("random", inputs=types)
    with graph:
        *pool, memory = graph.inputs
        for _ in range(draw(st.integers(1, 16))):
            if draw(st.integers(0, 9)) == 0:
                fitting = [v for v in pool if v.shape == memory.shape]
                if draw(st.booleans()):
                    ops.buffer_store(memory, draw(st.sampled_from(fitting)))
                else:
                    pool.append(ops.buffer_load(memory))
                continue
            made = _step(draw, pool, graph)
            if np.prod([size_of(s, SIZES) for s in made.shape]) <= 20000:
                pool.append(made)
        graph.output(*draw(st.lists(st.sampled_from(pool), min_size=1, max_size=4)))
    return graph, [_numbers(draw, t) for t in types]


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_graphs_mean_the_same_after_fusion(fused, run_kernels, data):
    graph, arrays = data.draw(graphs())
    options = {"fuse": data.draw(st.sampled_from([True, True, False]))}
    result = fused(graph, **options).result
    expected_arrays = [a.copy() for a in arrays]
    with np.errstate(all="ignore"):
        expected = reference(graph, *expected_arrays)
    given_arrays = [a.copy() for a in arrays]
    got = run_kernels(result, graph, *given_arrays)
    for one, two in zip(got, expected, strict=True):
        np.testing.assert_array_equal(one, two)
    for one, two in zip(given_arrays, expected_arrays, strict=True):
        np.testing.assert_array_equal(one, two)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_forced_edges_change_kernels_but_not_values(fused, run_kernels, data):
    graph, arrays = data.draw(graphs())
    ledger = fused(graph).result.ledger
    edges = [(d.producer, d.consumer) for d in ledger]
    if not edges:
        return
    cut = frozenset(data.draw(st.lists(st.sampled_from(edges), max_size=3)))
    force = frozenset(data.draw(st.lists(st.sampled_from(edges), max_size=3))) - cut
    result = fused(graph, force_cut=cut, force_fuse=force).result
    for decision in result.ledger:
        edge = (decision.producer, decision.consumer)
        if edge in cut:  # a number in the text of a kernel is nothing that could be stored
            inline = decision.reason == "the constant is written into the kernel"
            assert (decision.accepted, decision.rule == "forced-cut") == (inline, inline)
        if edge in force:  # done, or said why not
            assert decision.accepted != (decision.rule == "forced-fuse")
    with np.errstate(all="ignore"):
        expected = reference(graph, *[a.copy() for a in arrays])
    for one, two in zip(run_kernels(result, graph, *[a.copy() for a in arrays]), expected, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("first", ["exp", "concat"])
@pytest.mark.parametrize("second", ["transpose", "flip"])
def test_a_cut_through_a_view_is_kept_beside_a_forced_edge_to_the_same_kernel(fused, run_kernels, first, second):
    graph = Graph("both", inputs=[TensorType("f32", ("M", 8))])
    with graph:
        (x,) = graph.inputs
        made = ops.exp(x) if first == "exp" else ops.concat([x, x], axis=1)
        graph.output(made @ ops.transpose(made, (1, 0)) if second == "transpose" else made + made[:, ::-1])
    producer, view = f"{first}_0", "transpose_0" if second == "transpose" else "slice_0"
    reader = "matmul_0" if second == "transpose" else "add_0"
    found = fused(graph, force_cut=frozenset({(producer, view)}), force_fuse=frozenset({(producer, reader)}))
    assert not found.decisions[producer, view].accepted
    assert found.decisions[producer, view].reason == "forced cut"
    refused = found.decisions[producer, reader]
    assert (refused.accepted, refused.rule) == (False, "forced-fuse")
    assert len(found.sources) == 2, "nothing is computed twice"
    array = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    np.testing.assert_array_equal(run_kernels(found.result, graph, array)[0], reference(graph, array)[0])


@pytest.mark.parametrize("through", ["view", "kernel"])
def test_an_edge_to_a_view_can_be_forced(fused, through):
    graph = Graph("other-users", inputs=[TensorType("f32", ("M", 8)), TensorType("f32", ("M", 8))])
    with graph:
        x, w = graph.inputs
        made = ops.exp(x)
        graph.output(w @ ops.transpose(made, (1, 0)), ops.softmax(made))
    edge = ("exp_0", "transpose_0" if through == "view" else "softmax_0")
    assert fused(graph, force_fuse=frozenset({edge})).decisions[edge].accepted


def test_the_reference_covers_the_test_library(library):
    known = set(REFERENCES) | {"kg.elementwise", "split_sign", "my_scale"}
    assert set(library.operations()) <= known, "the interpreter has no meaning for these"
