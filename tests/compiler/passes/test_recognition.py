"""Patterns of plain ops that the graph passes recognise, what they leave alone, and how it is turned off."""

from __future__ import annotations

import math

import numpy as np
import pytest

from compiler import Graph, TensorType, ops, reference
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

ROOT = math.sqrt(2 / math.pi)


def softmax(x):
    e = ops.exp(x - ops.max(x, axis=-1, keepdims=True))
    return e / ops.sum(e, axis=-1, keepdims=True)


def graph_of(function, *types):
    made = [TensorType("f32", kind) if isinstance(kind, tuple) else kind for kind in types]
    with Graph("g", inputs=made) as graph:
        result = function(*graph.inputs)
        graph.output(*(result if isinstance(result, tuple) else (result,)))
    return graph


SOFTMAX = "softmax"
OF_ROWS = "softmax, by the reciprocal of the sum"


def notes(model):
    found = [decision.reason for decision in model.fusion.ledger if decision.rule == "recognised"]
    return [reason for reason in found if reason not in (SOFTMAX, OF_ROWS)]


def arrays_of(graph, seed=0):
    rng = np.random.default_rng(seed)
    sizes = {"B": 2, "S": 9}
    made = []
    for kind in graph.input_types:
        shape = [size if isinstance(size, int) else sizes[str(size)] for size in kind.shape]
        array = rng.standard_normal(shape)
        made.append(array > 0 if kind.dtype == "bool" else array.astype(np.float32))
    return made


def check(function, types, wanted, arrays=None):
    """Compile a graph: what is recognised in it is as wanted, and it computes what the reference does."""
    graph = graph_of(function, *types)
    arrays = arrays_of(graph) if arrays is None else arrays
    found = compile_graph(graph, CompileOptions(cache=False, opt_level=1))
    assert notes(found) == wanted
    with np.errstate(invalid="ignore"):
        truth = reference(graph, *arrays)
    for got, true in zip(found.execute(*arrays), truth, strict=True):
        np.testing.assert_allclose(got, true, rtol=2e-5, atol=2e-6)
    return found


QKV = [("B", 2, 9, 8)] * 3


def turned(k):
    return ops.swapaxes(k, -1, -2)


ATTENTION = {
    "plain": (lambda q, k, v: softmax(q @ turned(k) / math.sqrt(8)) @ v, QKV, "attention"),
    "with the named softmax": (lambda q, k, v: ops.softmax(0.3 * (q @ turned(k)), axis=-1) @ v, QKV, "attention"),
    "without a scale": (lambda q, k, v: softmax(q @ turned(k)) @ v, QKV, "attention"),
    "keys already turned": (lambda q, k, v: softmax(q @ k) @ v, [("B", 9, 8), ("B", 8, 9), ("B", 9, 8)], "attention"),
    "two axes": (lambda q, k, v: softmax(q @ turned(k)) @ v, [(9, 8)] * 3, "attention"),
    "added mask": (
        lambda q, k, v, m: softmax(q @ turned(k) * 0.5 + m) @ v, [*QKV, (9, 9)], "attention, masked"
    ),
    "chosen keys": (
        lambda q, k, v, m: softmax(ops.where(m, q @ turned(k), -math.inf)) @ v,
        [*QKV, TensorType("bool", (9, 9))], "attention, masked",
    ),
    "causal": (
        lambda q, k, v: softmax(ops.where(ops.iota((9, 9), 0) >= ops.iota((9, 9), 1), q @ turned(k), -1e38)) @ v,
        QKV, "attention, causal",
    ),
    "causal by a constant": (
        lambda q, k, v: softmax(ops.where(np.tri(9, dtype=bool), q @ turned(k), -math.inf)) @ v,
        QKV, "attention, causal",
    ),
    "shared heads": (
        lambda q, k, v: softmax(q @ turned(ops.repeat(k, 2, axis=1))) @ ops.repeat(v, 2, axis=1),
        [("B", 4, 9, 8), ("B", 2, 9, 8), ("B", 2, 9, 8)], None,
    ),
    "heads shared by broadcasting": (
        lambda q, k, v: softmax(q @ turned(spread(k))) @ spread(v),
        [("B", 4, 9, 8), ("B", 2, 9, 8), ("B", 2, 9, 8)], "attention, shared heads",
    ),
}  # fmt: skip


def spread(t):
    return ops.reshape(ops.broadcast_to(t[:, :, None], ("B", 2, 2, 9, 8)), ("B", 4, 9, 8))


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_recognised(name: str) -> None:
    function, types, wanted = ATTENTION[name]
    if wanted is None:
        graph = graph_of(function, *types)
        assert notes(compile_graph(graph, CompileOptions(cache=False, opt_level=1)))[0].startswith("attention")
    else:
        check(function, types, [wanted])


def test_recognition_can_be_turned_off() -> None:
    function, types, _ = ATTENTION["plain"]
    plain = compile_graph(graph_of(function, *types), CompileOptions(cache=False, opt_level=1, recognise=False))
    assert notes(plain) == [] and "attention" not in [call.kernel.name for call in plain.fusion.calls]


def test_a_query_that_sees_no_key_gives_nan_as_the_ops_do() -> None:
    function, types, wanted = ATTENTION["chosen keys"]
    arrays = arrays_of(graph_of(function, *types))
    arrays[3][4] = False
    found = check(function, types, [wanted], arrays)
    assert np.isnan(found.execute(*arrays)[0][:, :, 4]).all()


def sources_of(model) -> list[str]:
    return [call.kernel.source for call in model.fusion.calls]


@pytest.mark.parametrize("around", [lambda x: x, lambda x: ops.relu(x) * 2.0])
def test_a_softmax_written_out_is_the_kernel_of_the_named_one(around) -> None:
    graph = graph_of(lambda x: around(softmax(around(x))), ("S", 33))
    model = compile_graph(graph, CompileOptions(cache=False, opt_level=1))
    named = graph_of(lambda x: around(ops.softmax(around(x), axis=-1)), ("S", 33))
    assert SOFTMAX in [decision.reason for decision in model.fusion.ledger]
    assert sources_of(model) == sources_of(compile_graph(named, CompileOptions(cache=False, opt_level=1)))
    (x,) = arrays_of(graph)
    np.testing.assert_allclose(model.execute(x)[0], reference(graph, x)[0], rtol=3e-7)


def centred(x):
    return x - ops.mean(x, axis=-1, keepdims=True)


MORE_OF_ITS_ROWS = {
    "reduced": lambda x: ops.sum(ops.square(softmax(x)), axis=-1),
    "of reduced rows": lambda x: softmax(centred(x) * 3.0),
    "its powers are wanted": lambda x: (
        (e := ops.exp(x - ops.max(x, axis=-1, keepdims=True))) / ops.sum(e, axis=-1, keepdims=True), e
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE_OF_ITS_ROWS)
def test_a_softmax_stays_in_a_kernel_that_does_more_with_its_rows_and_divides_once_a_row(name: str) -> None:
    graph = graph_of(MORE_OF_ITS_ROWS[name], ("S", 33))
    model = compile_graph(graph, CompileOptions(cache=False, opt_level=1))
    assert OF_ROWS in [decision.reason for decision in model.fusion.ledger]
    assert len(model.fusion.calls) == 1
    (x,) = arrays_of(graph)
    for found, wanted in zip(model.execute(x), reference(graph, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


NOT_ATTENTION = {
    "weights are an output": lambda q, k, v: ((p := softmax(q @ turned(k))) @ v, p),
    "along another axis": lambda q, k, v: ops.softmax(q @ turned(k), axis=-2) @ v,
    "a number that hides some": lambda q, k, v: softmax(ops.where(q @ turned(k) > 0, q @ turned(k), -1e4)) @ v,
    "a sum of something else": lambda q, k, v: (
        (ops.exp((s := q @ turned(k)) - ops.max(s, axis=-1, keepdims=True)) / ops.sum(s, axis=-1, keepdims=True)) @ v
    ),
    "smallest for largest": lambda q, k, v: softmax(-(q @ turned(k))) @ v,
}


@pytest.mark.parametrize("name", NOT_ATTENTION)
def test_what_is_no_attention_stays(name: str) -> None:
    check(NOT_ATTENTION[name], [(2, 9, 8)] * 3, [])


ACTIVATIONS = {
    "gelu": [
        lambda x: 0.5 * x * (1 + ops.erf(x / math.sqrt(2))),
        lambda x: x * 0.5 * (1.0 + ops.erf(x * 0.70710678)),
        lambda x: x * (0.5 * (ops.erf(x * math.sqrt(0.5)) + 1)),
        lambda x: 0.5 * x * (1 + ops.tanh(ROOT * (x + 0.044715 * ops.pow(x, 3.0)))),
        lambda x: 0.5 * x * (1 + ops.tanh(ROOT * (x + 0.044715 * x * x * x))),
        lambda x: 0.5 * x * (1 + ops.tanh(0.79788456 * x * (1 + 0.044715 * x * x))),
    ],
    "silu": [
        lambda x: x * ops.sigmoid(x),
        lambda x: ops.sigmoid(x) * x,
        lambda x: x / (1 + ops.exp(-x)),
        lambda x: x * (1 / (1 + ops.exp(-x))),
    ],
}


@pytest.mark.parametrize(
    ("name", "number"), [(name, k) for name, some in ACTIVATIONS.items() for k in range(len(some))]
)
def test_activations_are_recognised(name: str, number: int) -> None:
    check(ACTIVATIONS[name][number], [("S", 33)], [name])


@pytest.mark.parametrize("function", [
    lambda x, y: 0.5 * x * (1 + ops.erf(y / math.sqrt(2))),
    lambda x, y: 0.6 * x * (1 + ops.erf(x / math.sqrt(2))) + y,
    lambda x, y: x * ops.sigmoid(y),
    lambda x, y: ((gate := ops.sigmoid(x)) * x, gate + y),
    lambda x, y: x / (1 + ops.exp(y)),
])  # fmt: skip
def test_what_is_no_activation_stays(function) -> None:
    check(function, [("S", 33)] * 2, [])


def rotated_halves(x, cos, sin):
    a, b = x[..., :4], x[..., 4:]
    return ops.concat([a * cos - b * sin, b * cos + a * sin], axis=-1)


def rotated_turned(x, cos, sin):
    cos, sin = ops.concat([cos, cos], axis=-1), ops.concat([sin, sin], axis=-1)
    return x * cos + ops.concat([-x[..., 4:], x[..., :4]], axis=-1) * sin


@pytest.mark.parametrize("function", [rotated_halves, rotated_turned])
def test_rotary_embedding_is_recognised(function) -> None:
    check(function, [("B", 2, 9, 8), (9, 4), (9, 4)], ["rotary embedding"])


def test_a_table_of_two_different_halves_is_no_rotary_embedding() -> None:
    def rotated(x, cos, sin):
        return x * cos + ops.concat([-x[..., 4:], x[..., :4]], axis=-1) * sin

    check(rotated, [("B", 2, 9, 8), (9, 8), (9, 8)], [])


def test_batch_norm_goes_into_the_convolution() -> None:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((6, 3, 3, 3)).astype(np.float32)
    mean, variance, gamma, beta = (rng.random((1, 6, 1, 1)).astype(np.float32) + 0.5 for _ in range(4))

    def normed(x):
        scaled = (ops.conv2d(x, weights) - mean) * ops.rsqrt(ops.constant(variance) + 1e-5)
        return ops.relu(scaled * gamma + beta)

    found = check(normed, [("B", 3, 8, 8)], ["convolution with batch norm"])
    assert [call.kernel.name for call in found.fusion.calls] == ["conv2d_add_relu"]


def mean(x):
    return ops.mean(x, axis=-1, keepdims=True)


NORMS = {
    "rms": (lambda x, w, b: x * ops.rsqrt(mean(ops.square(x)) + 1e-6) * w, ["rms_norm"]),
    "rms, weight first": (lambda x, w, b: w * (ops.rsqrt(1e-6 + mean(x * x)) * x), ["rms_norm"]),
    "rms, divided": (lambda x, w, b: x / ops.sqrt(mean(x**2) + 1e-6) * w, ["rms_norm"]),
    "rms of a sum": (lambda x, w, b: (lambda h: h * ops.rsqrt(mean(h * h) + 1e-6) * w)(x + b), ["rms_norm"]),
    "rms, twice": (lambda x, w, b: x * ops.rsqrt(mean(x * x) + 1e-6) * w * 2.0, ["rms_norm"]),
    "layer": (lambda x, w, b: centred(x) * ops.rsqrt(mean(ops.square(centred(x))) + 1e-5) * w + b, ["layer_norm"]),
    "layer, divided": (lambda x, w, b: b + centred(x) / ops.sqrt(mean(centred(x) ** 2) + 1e-5) * w, ["layer_norm"]),
    # What a row kernel of all of it does better, and what is no norm.
    "rms and what it is of": (lambda x, w, b: (lambda h: (h * ops.rsqrt(mean(h * h) + 1e-6) * w, h))(x + b), []),
    "layer and the mean": (
        lambda x, w, b: (centred(x) * ops.rsqrt(mean(centred(x) ** 2) + 1e-5) * w + b, mean(x)), []
    ),
    "rms, summed": (lambda x, w, b: ops.sum(x * ops.rsqrt(mean(x * x) + 1e-6) * w, axis=-1), []),
    "rms of something else": (lambda x, w, b: x * ops.rsqrt(mean(ops.square(x + 1)) + 1e-6) * w, []),
    "third power": (lambda x, w, b: x * ops.rsqrt(mean(x**3 * x) + 1e-6) * w, []),
    "along columns": (
        lambda x, w, b: x * ops.rsqrt(ops.mean(x * x, axis=-2, keepdims=True) + 1e-6) * w, []
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NORMS)
def test_norms_written_out_are_recognised_where_nothing_else_reads_their_parts(name: str) -> None:
    function, wanted = NORMS[name]
    check(function, [("B", "S", 24), (24,), (24,)], wanted)


def test_a_norm_of_narrow_floats_is_rounded_where_it_says() -> None:
    types = [TensorType("bf16", (9, 24)), TensorType("bf16", (24,))]
    graph = graph_of(lambda x, w: x * ops.rsqrt(mean(ops.square(x)) + 1e-6) * w, *types)
    assert notes(compile_graph(graph, CompileOptions(cache=False, opt_level=1))) == []


def test_a_norm_written_out_is_the_kernel_of_the_named_one() -> None:
    types = [("S", 33), (33,), (33,)]
    written = compile_graph(graph_of(NORMS["layer"][0], *types), CompileOptions(cache=False, opt_level=1))
    named = graph_of(lambda x, w, b: ops.layer_norm(x, w, b, 1e-5), *types)
    assert sources_of(written) == sources_of(compile_graph(named, CompileOptions(cache=False, opt_level=1)))
