"""Attention: masks, causality, grouped heads, blocks of queries and keys that do not come out even."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.checked import FLOATS, MODES, assert_matches, random_array, run, wide

TOLERANCES = {"f64": 1e-9, "f32": 1e-4, "f16": 1e-2, "bf16": 3e-2}
MASKS = {
    "bool": lambda shape: np.random.default_rng(0).random(shape[-2:]) > 0.4,
    "half the rows": lambda shape: np.broadcast_to((np.arange(shape[-2]) % 2 == 0)[:, None], shape),
    "last key only": lambda shape: np.broadcast_to(np.arange(shape[-1]) == shape[-1] - 1, shape[-2:]),
    "added": lambda shape: random_array("f32", shape, 9),
}


def expected_attention(q, k, v, mask=None, is_causal=False, scale=None, enable_gqa=False) -> np.ndarray:
    dtype, keys = q.dtype, k.shape[-2]
    q, k, v = wide(q), wide(k), wide(v)
    if enable_gqa:
        k, v = (np.repeat(part, q.shape[-3] // part.shape[-3], -3) for part in (k, v))
    scores = q @ k.swapaxes(-1, -2) * q.dtype.type(q.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + wide(mask)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
        weights = weights / (weights.sum(-1, keepdims=True) if keys else 1)
    blind = np.isneginf(scores).all(-1, keepdims=True)  # who sees nothing gets zeros, as in torch
    weights = np.where(blind, 0, weights)
    return (weights @ v).astype(dtype)


def check(dtype, lead, length, keys, size, value_size, mask=None, kv_heads=None, symbolic=False, **options) -> None:
    modes = {name: options.pop(name) for name in ("fused", "threads", "opt_level") if name in options}
    kv_lead = lead if kv_heads is None else (*lead[:-1], kv_heads)
    q, k = random_array(dtype, (*lead, length, size)), random_array(dtype, (*kv_lead, keys, size), 1)
    arrays = [q, k, random_array(dtype, (*kv_lead, keys, value_size), 2)]
    if mask is not None:
        arrays.append(np.ascontiguousarray(MASKS[mask]((*lead, length, keys))))
    params = {"is_causal": False, "scale": None, "enable_gqa": kv_heads is not None} | options
    text = ", ".join([f"in{n}" for n in range(len(arrays))] + [f"{name}={value}" for name, value in params.items()])
    call = f"{'attention' if mask is None else 'masked_attention'}(out, {text})"
    shapes = [array.shape for array in arrays]
    out_length: int | str = length
    if symbolic:
        out_length = "L"
        shapes[0] = (*lead, "L", size)
        shapes[1:3] = [(*kv_lead, "S", size), (*kv_lead, "S", value_size)]
        shapes[3:] = [(*array.shape[:-2], "L", "S") for array in arrays[3:]]
    result = run(
        call, dtype, (*lead, out_length, value_size), *arrays, shapes=shapes, sizes={"L": length, "S": keys}, **modes
    )
    expected = expected_attention(*arrays[:3], arrays[3] if mask is not None else None, **params)
    assert_matches(result, expected, TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_dtype(dtype):
    check(dtype, (2, 3), 10, 13, 16, 16)
    check(dtype, (2,), 70, 130, 20, 8, is_causal=True, threads=3)


@pytest.mark.parametrize("size, value_size", [(4128, 4128), (20, 9000), (9000, 20)], ids=str)
@pytest.mark.parametrize("symbolic", [False, True], ids=["known", "symbolic"])
def test_heads_so_wide_that_fewer_fit_at_a_time(size, value_size, symbolic):
    check("f32", (1,), 70, 67, size, value_size, is_causal=True, symbolic=symbolic)
    check("f64", (), 1, 9, size, value_size, symbolic=symbolic)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_masks_and_rows_that_see_nothing(mask, is_causal, mode):
    check("f32", (2, 2), 9, 140, 8, 5, mask, is_causal=is_causal, **mode)


@pytest.mark.parametrize("mask", [None, "added"])
def test_many_blocks_of_queries_and_a_given_scale(mask):
    check("f32", (2, 2), 140, 140, 8, 8, mask, is_causal=True, scale=0.3, threads=3)


@pytest.mark.parametrize("heads, kv_heads, length", [(6, 2, 33), (4, 1, 1)])
def test_query_heads_share_key_heads(heads, kv_heads, length):
    check("f32", (2, heads), length, 40, 32, 32, kv_heads=kv_heads, threads=2)


def test_no_leading_axes_and_no_keys():
    check("f32", (), 5, 6, 4, 4)
    check("f32", (1, 1), 3, 0, 8, 8)


@pytest.mark.parametrize("length, keys", [(1, 1), (1, 77), (64, 65), (100, 3), (3, 0), (0, 3)])
@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"mask": "bool"}])
def test_one_kernel_serves_every_length(length, keys, options):
    check("f32", (2,), length, keys, 16, 16, symbolic=True, threads=2, **options)


@pytest.mark.parametrize("dtype", ["f32", "f64", "bf16"])
@pytest.mark.parametrize(("keys", "size", "wide"), [(1, 8, 8), (70, 64, 64), (130, 24, 40), (65, 3, 16)])
def test_one_query_reads_keys_and_values_where_they_lie(dtype, keys, size, wide):
    from compiler import Graph, TensorType, compile, ops, reference
    from compiler.graph.dtypes import numpy_dtype

    shapes = [(2, 4, 1, size), (2, 2, keys, size), (2, 2, keys, wide)]
    random = np.random.default_rng(keys)
    arrays = [random.standard_normal(shape).astype(numpy_dtype(dtype)) for shape in shapes]
    with Graph("g", inputs=[TensorType(dtype, shape) for shape in shapes]) as graph:
        q, k, v = graph.inputs
        turned = ops.transpose(ops.transpose(k, (0, 1, 3, 2)) * 0.5, (0, 1, 3, 2))  # keys that lie across
        graph.output(
            ops.scaled_dot_product_attention(q, k, v, enable_gqa=True),
            ops.scaled_dot_product_attention(q, turned, v, is_causal=True, enable_gqa=True),
        )
    bound = {"f32": 2e-6, "f64": 1e-14, "bf16": 2e-2}[dtype]
    for found, expected in zip(compile(graph, cache=False).execute(*arrays), reference(graph, *arrays), strict=True):
        np.testing.assert_allclose(found.astype(float), expected.astype(float), rtol=bound, atol=bound)
