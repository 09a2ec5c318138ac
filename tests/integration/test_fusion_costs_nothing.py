"""Fusing never costs time or changes a value: products read along their rows, and work is not done again for each."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

N = 192
RANDOM = np.random.default_rng(0)
W, X = RANDOM.standard_normal((N, N)).astype(np.float32), RANDOM.standard_normal(N).astype(np.float32)


def models(types, build):
    with Graph("g", inputs=[TensorType("f32", shape) for shape in types]) as graph:
        graph.output(build(*graph.inputs))
    return [compile_graph(graph, CompileOptions(cache=False, fuse=fuse)) for fuse in (True, False)]


@pytest.mark.parametrize(
    "before", [ops.relu, lambda w: w + 1, lambda w: ops.cast(ops.cast(w, "bf16"), "f32"), lambda w: w * w[:, :1],
               lambda w: ops.flip(w, axis=0), lambda w: ops.flip(w, axis=1), lambda w: ops.tile(w, (1, 2))[:, ::2],
               lambda w: ops.relu(ops.flip(w, axis=1)), lambda w: ops.roll(w, 1, axis=1)],
    ids=["relu", "plus-one", "casts", "times-a-column", "rows-in-reverse", "columns-in-reverse", "every-second-column",
         "relu-of-columns-in-reverse", "rolled"],
)  # fmt: skip
def test_a_matrix_times_a_vector_behind_elementwise_work_has_the_same_bits_fused_and_not(before):
    fused, apart = models([(N, N), (N,)], lambda w, x: before(w) @ x)
    assert len(fused.kernels) == 1 < len(apart.kernels)
    np.testing.assert_array_equal(fused.execute(W, X)[0], apart.execute(W, X)[0])


def test_a_fused_input_is_as_contiguous_as_what_it_reads():
    from tests.compiler.language.drive import elaborate, text

    read = "FusedInput(lambda at: {}, f32, (8, 8))"
    cases = {"x[at] + y[at]": (0, 1), "x[at] + x[at]": (0, 1), "z[at]": (1, 0), "x[at] + z[at]": (0, 0),
             "x[at.index[0], at.index[1]]": (0, 0), "at.lanes(lambda one: x[one])": (0, 0)}  # fmt: skip
    for expression, expected in cases.items():
        body = f"    z = x.permute((1, 0))\n    f = {read.format(expression)}\n"
        body += "".join(f"    out[{k}] = f32(1 if f.is_contiguous({k}) else 0)\n" for k in (0, 1))
        head = "@kernel\ndef kernel(out: Tensor[f32, (2,)], x: Tensor[f32, (8, 8)], y: Tensor[f32, (8, 8)]):\n"
        module, _ = elaborate(head + body)
        found = text(module)
        assert ("1.0" in found, "0.0" in found) == (any(expected), not all(expected)), expression


def test_a_transcendental_of_a_vector_is_not_computed_again_for_every_row():
    for function in (ops.exp, ops.gelu, lambda v: ops.pow(v, 2.5)):
        fused, _ = models([(N,), (N, N)], lambda v, y: function(v) * y)  # noqa: B023
        assert len(fused.kernels) == 2
        reasons = [d.reason for d in fused.ledger if not d.accepted]
        assert any(
            f"would compute {N} elements of about" in reason and f"{N} times each" in reason for reason in reasons
        )
    fused, _ = models([("M",), ("K", "M")], lambda v, y: ops.exp(v) * y)
    assert any("again and again" in d.reason for d in fused.ledger)


def test_little_work_or_few_elements_are_computed_again():
    assert len(models([(N,), (N, N)], lambda v, y: ops.relu(v) * y)[0].kernels) == 1
    assert len(models([(N,), (N, N)], lambda v, y: ops.rsqrt(v + 1) * y)[0].kernels) == 1
    assert len(models([(8,), (4, 8)], lambda v, y: ops.exp(v) * y)[0].kernels) == 1


def test_dear_work_along_an_axis_of_one_is_done_for_vectors():
    for types, build in (
        [[(4096, 1)], lambda x: ops.mean(ops.silu(x), axis=0)],
        [[(256, 1)], lambda x: ops.gelu(ops.concat([x, x + 1], axis=0))],
    ):
        fused, apart = models(types, build)
        assert len(fused.kernels) == 2
        assert any("one element at a time" in d.reason for d in fused.ledger if not d.accepted)
        x = RANDOM.standard_normal(types[0]).astype(np.float32)
        np.testing.assert_array_equal(fused.execute(x)[0], apart.execute(x)[0])
    assert len(models([(4096, 1)], lambda x: ops.mean(ops.relu(x), axis=0))[0].kernels) == 1
