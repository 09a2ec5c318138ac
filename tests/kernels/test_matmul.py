"""Matrix products: every path (panels, one row, one column), edges, transposed operands, batches, dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile
from tests.kernels.checked import DTYPES, MODES, Shape, assert_matches, random_array, run, wide

TOLERANCES = {"f64": 1e-11, "f32": 1e-4, "f16": 2e-2, "bf16": 1e-1}


def expected_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.dtype == bool:
        return (a.astype(np.int32) @ b.astype(np.int32)) > 0
    return (wide(a) @ wide(b)).astype(a.dtype)


def check(dtype: str, m: int, n: int, k: int, batch=(), flip_a=False, flip_b=False, symbols="", **mode) -> None:
    """One product; `flip` stores an operand transposed, `symbols` names the sizes that are not known when compiling."""
    a = random_array(dtype, (*batch, *((k, m) if flip_a else (m, k))), 1)
    b = random_array(dtype, (*batch, *((n, k) if flip_b else (k, n))), 2)
    rank = len(batch)
    flip = f"transpose(in{{}}, perm={(*range(rank), rank + 1, rank)})"
    call = f"matmul(out, {flip.format(0) if flip_a else 'in0'}, {flip.format(1) if flip_b else 'in1'})"
    sizes = {"M": m, "N": n, "K": k}
    m_, n_, k_ = (name if name in symbols else size for name, size in sizes.items())
    shapes: list[Shape] = [
        (*batch, *((k_, m_) if flip_a else (m_, k_))), (*batch, *((n_, k_) if flip_b else (k_, n_)))
    ]  # fmt: skip
    result = run(call, dtype, (*batch, m_, n_), a, b, shapes=shapes, sizes=sizes, **mode)
    left, right = (a.swapaxes(-1, -2) if flip_a else a), (b.swapaxes(-1, -2) if flip_b else b)
    assert_matches(result, expected_product(left, right), TOLERANCES.get(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n, k", [(17, 29, 23), (1, 40, 33), (40, 1, 33)])
def test_every_dtype(dtype, m, n, k):
    check(dtype, m, n, k)


@pytest.mark.parametrize("dtype", ["i8", "i32"])
def test_integers_wrap_around(dtype):
    a = np.full((3, 20), np.iinfo(dtype.replace("i", "int")).max, dtype.replace("i", "int"))
    assert_matches(run("matmul(out, in0, in1)", dtype, (3, 3), a, a.T), expected_product(a, a.T))


@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (5, 7, 3), (8, 12, 16), (50, 130, 600), (3, 200, 1100), (1, 300, 1100)])
@pytest.mark.parametrize("mode", MODES)
def test_sizes_around_the_tiles(m, n, k, mode):
    check("f32", m, n, k, **mode)


@pytest.mark.parametrize("m, n, k", [(0, 5, 3), (3, 0, 4), (3, 4, 0), (1, 5, 0), (0, 1, 2)])
def test_empty_matrices(m, n, k):
    check("f32", m, n, k, threads=2)


@pytest.mark.parametrize("flip_a", [False, True])
@pytest.mark.parametrize("flip_b", [False, True])
@pytest.mark.parametrize("m, n, k", [(33, 41, 50), (1, 60, 50), (60, 1, 50)])
def test_transposed_operands(flip_a, flip_b, m, n, k):
    for mode in MODES[:2]:
        check("f32", m, n, k, (), flip_a, flip_b, **mode)


@pytest.mark.parametrize("batch", [(3,), (2, 3), (0,)])
@pytest.mark.parametrize("m, n", [(9, 20), (1, 20), (33, 20)])
def test_batches(batch, m, n):
    check("f32", m, n, 11, batch, threads=3)


@pytest.mark.parametrize("symbols", ["M", "N", "K", "MNK"])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (1, 40, 33), (17, 29, 600), (300, 60, 26), (0, 5, 3), (3, 4, 0)])
def test_one_kernel_serves_every_size(symbols, m, n, k):
    check("f32", m, n, k, symbols=symbols, threads=2)


@pytest.mark.parametrize(("m", "k", "n"), [(9, 2, 1), (9, 6, 40), (65, 3, 17)])
def test_rows_that_repeat_one_value(m, k, n):
    from compiler import Graph, TensorType, compile, ops

    with Graph("g", inputs=[TensorType("f32", (m,)), TensorType("f32", (k, n))]) as graph:
        x, w = graph.inputs
        graph.output(ops.transpose(ops.broadcast_to(x, (k, m)), (1, 0)) @ w)
    x, w = np.arange(m, dtype=np.float32), random_array("f32", (k, n), 0)
    (found,) = compile(graph).execute(x, w)
    np.testing.assert_allclose(found, np.outer(x, w.sum(axis=0)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("k", [1, 4, 7, 8, 9])
def test_few_rows_are_not_read_beyond_the_last_on_any_processor(k):
    with Graph("few", inputs=[TensorType("f32", (8, k)), TensorType("f32", (k, 512))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    assert compile(graph, target="x86-64-v4").kernels
