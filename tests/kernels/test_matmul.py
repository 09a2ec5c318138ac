"""Matrix products: every path (panels, one row, one column), edges, transposed operands, batches, dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.graph.dtypes import numpy_dtype
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


@pytest.mark.parametrize("batch, n, k", [((), 4096, 600), ((), 4099, 515), ((), 129, 17000), ((2,), 4100, 520)])
@pytest.mark.parametrize("what", ["plain", "relu", "bf16", "column"])
def test_one_row_times_a_large_matrix(batch, n, k, what):
    """Threads share its rows: the result is the same with any number of them, whatever is fused in."""
    kind = "bf16" if what == "bf16" else "f32"
    with Graph("large", inputs=[TensorType("f32", (*batch, 1, k)), TensorType(kind, (*batch, k, n))]) as graph:
        x, w = graph.inputs
        used = {"plain": w, "column": w, "relu": ops.relu(w), "bf16": ops.cast(w, "f32")}[what]
        if what == "column":
            axes = (*range(len(batch)), len(batch) + 1, len(batch))
            graph.output(ops.tanh(ops.transpose(used, axes) @ ops.transpose(x, axes)))
        else:
            graph.output(ops.tanh(x @ used))
    model = compile(graph)
    rng = np.random.default_rng(0)
    row = (rng.standard_normal((*batch, 1, k)) * k**-0.5).astype(np.float32)
    matrix = rng.standard_normal((*batch, k, n)).astype(np.float32)
    given = (matrix.view(np.uint32) >> 16 << 16).view(np.float32) if kind == "bf16" else matrix
    right = given.astype(np.float64).clip(0) if what == "relu" else given.astype(np.float64)
    expected = np.tanh(row.astype(np.float64) @ right)
    stored = (given.view(np.uint32) >> 16).astype(np.uint16).view(numpy_dtype("bf16")) if kind == "bf16" else given
    results = [model.execute(row, stored, threads=threads)[0] for threads in (1, 2, 3, 2)]
    for result in results:
        np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol=0, atol=3e-5)
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("batch, m, n, k", [((), 2, 4096, 520), ((), 3, 4099, 515), ((2,), 2, 4100, 520)])
@pytest.mark.parametrize("what", ["plain", "fused", "bf16"])
def test_a_few_rows_times_a_large_matrix(batch, m, n, k, what):
    """Where threads share its rows, too, the result is the same with any number of them, whatever is fused in."""
    kind = "bf16" if what == "bf16" else "f32"
    with Graph("large", inputs=[TensorType("f32", (*batch, m, k)), TensorType(kind, (*batch, k, n))]) as graph:
        x, w = graph.inputs
        used = {"plain": w, "fused": ops.relu(w), "bf16": ops.cast(w, "f32")}[what]
        graph.output(ops.tanh(x @ used) if what == "fused" else x @ used)
    model = compile(graph)
    rng = np.random.default_rng(0)
    rows = (rng.standard_normal((*batch, m, k)) * k**-0.5).astype(np.float32)
    matrix = rng.standard_normal((*batch, k, n)).astype(np.float32).astype(numpy_dtype(kind))
    right = matrix.astype(np.float64)
    expected = np.tanh(rows @ right.clip(0)) if what == "fused" else rows @ right
    results = [model.execute(rows, matrix, threads=threads)[0] for threads in (1, 2, 3, 2)]
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=0, atol=3e-5)
        np.testing.assert_array_equal(result, results[0])


@pytest.mark.parametrize("target", ["cpu", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("shapes", [[("M", 512), (512, 1024)], [("B", 70, 600), ("B", 600, 90)]], ids=str)
def test_cutting_a_product_into_pieces_divides_without_a_look_at_signs(shapes, target):
    with Graph("g", inputs=[TensorType("f32", shape) for shape in shapes]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    text = compile(graph, target=target, cache=False).kernels[0].stage("llvm").text
    begin = text.index("define void @matmul_kernel")
    assert " udiv " in text
    assert not any(word in text[begin : text.index("\n}", begin)] for word in (" sdiv ", " srem "))
