"""Mathematical functions on the GPU at zeros, infinities, NaN and every exponent: what the CPU's kernels give there.

Some are computed in other ways on a card: by its estimates of reciprocals and roots, corrected.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gpu

BOUNDS = {
    "exp": 1.0, "exp2": 1.0, "expm1": 1.5, "log": 0.9, "log2": 2.0, "log1p": 1.0, "tanh": 1.5, "erf": 1.5,
    "sigmoid": 2.5, "silu": 3.5, "gelu": 5.1, "sin": 1.6, "cos": 1.6, "sqrt": 0.5, "rsqrt": 1.0, "reciprocal": 0.5,
}  # fmt: skip
"""Units in the last place that each may be off, here and there."""


def arguments(dtype: type) -> np.ndarray:
    limits = np.finfo(dtype)
    exponents = np.arange(int(limits.minexp) - int(limits.nmant), int(limits.maxexp))
    tries = 64 if dtype is np.float32 else 8
    sizes = np.ldexp(np.random.default_rng(1).uniform(1, 2, (tries, len(exponents))), exponents).reshape(-1)
    special = [0, 1, np.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    numbers = np.array([*special, *sizes], dtype)
    other_nan = np.array([np.nan], dtype).view(f"i{numbers.itemsize}") ^ 1
    return np.concatenate([numbers, -numbers, [dtype(np.nan)], other_nan.view(dtype)])


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name", BOUNDS)
def test_a_function_gives_on_the_card_what_it_gives_on_the_cpu(name: str, dtype: str, run: Any, device: Any) -> None:
    x = arguments(np.float32 if dtype == "f32" else np.float64)
    with Graph(name, inputs=[TensorType(dtype, x.shape)]) as graph:
        graph.output(getattr(ops, name)(graph.inputs[0]))
    here = compile_graph(graph, CompileOptions(cache=False)).execute(x)[0]
    there = run(compile_graph(graph, CompileOptions(target=device.target, cache=False)), [x]).outputs[0]
    odd = ~np.isfinite(here) | (here == 0)
    np.testing.assert_array_equal(there[odd], here[odd], err_msg=f"{name} of {x[odd]}")
    np.testing.assert_array_equal(np.signbit(there[here == 0]), np.signbit(here[here == 0]))
    with np.errstate(over="ignore"):  # beside the largest number
        off = np.abs(there[~odd] - here[~odd]) / np.spacing(np.abs(here[~odd]))
    worst = int(off.argmax())
    assert off[worst] <= 2 * BOUNDS[name] + 0.5, f"{name}({x[~odd][worst]!r}) is {off[worst]} units off"
