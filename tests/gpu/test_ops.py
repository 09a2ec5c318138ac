"""Every op family on the GPU against the reference: f32 within 1e-5 of float64, 16-bit floats within their rounding."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

from compiler import Graph, TensorType, ops
from compiler.graph.dtypes import from_numpy, is_float, numpy_dtype
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph
from profiler.measure.cuda.messages import FINISHED

pytestmark = pytest.mark.gpu
BOUNDS = {"f64": 1e-12, "f32": 1e-5, "f16": 1e-3, "bf16": 8e-3}


def test_case(variant: str, prepared: Any, worker: Any, apart: Any) -> None:
    with prepared(variant).open("rb") as file:
        request, expected, truth = pickle.load(file)
    case = next(c for c, dtype in sys.modules["kg_gpu_cases"].variants() if f"{c.name}[{dtype}]" == variant)
    response = worker.run(request, time_limit=60.0)
    if response.status != FINISHED:
        pytest.fail(f"{response.failure} in {response.kernel or '?'}: {response.error}", pytrace=False)
    for number, (result, wanted, wide) in enumerate(zip(response.outputs, expected, truth, strict=True)):
        assert (result.shape, result.dtype) == (wanted.shape, wanted.dtype)
        dtype = from_numpy(wanted.dtype)
        if not is_float(dtype):
            wrong = int(np.count_nonzero(result != wanted))
            assert not wrong, f"output {number}: {wrong} of {wanted.size} elements differ"
            continue
        # 16-bit results round after every op, as the reference in the same dtype does.
        bound = BOUNDS[dtype] * case.slack
        error = apart(result, wide if dtype in ("f32", "f64") else wanted)
        assert error <= bound, f"output {number}: relative error {error:.3g}, bound {bound:.0e}"
    assert response.replay_equal, "the CUDA graph's replay gives other results than the launches"


@pytest.mark.parametrize("n", [136, 141])
def test_what_lies_before_a_row_is_not_part_of_it(n: int, run: Any, device: Any) -> None:
    """Rows that begin anywhere are copied from a multiple of 16 bytes on: the end of the row before is hidden."""
    m, k = 2045, 129
    rng = np.random.default_rng(0)
    kind = numpy_dtype("bf16")
    left, right = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    left[::3, -7:], left[1::3, 0] = np.inf, np.nan
    with Graph("special", inputs=[TensorType("bf16", (m, k)), TensorType("bf16", (k, n))]) as graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    model = compile_graph(graph, CompileOptions(target=device.target, cache=False))
    (result,) = run(model, [left.astype(kind), right.astype(kind)]).outputs
    finite = np.isfinite(np.asarray(result, np.float32))
    assert finite[2::3].all() and not finite[0::3].any() and not finite[1::3].any()


@pytest.mark.parametrize(
    ("dtype", "m", "k", "n", "side"),
    [
        ("bf16", 256, 4096, 264, "both"),
        ("bf16", 16, 4096, 1024, "both"),
        *[("f16", 13, 4104, 777, side) for side in ("left", "right", "both")],
        *[("f32", 256, 4096, 264, side) for side in ("left", "right", "both")],
    ],
)
def test_what_is_fused_into_an_operand_changes_no_bit_of_a_divided_product(
    dtype: str, m: int, k: int, n: int, side: str, run: Any, device: Any
) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(numpy_dtype(dtype)) for shape in ((m, k), (k, n))]
    with Graph("product", inputs=[TensorType(dtype, (m, k)), TensorType(dtype, (k, n))]) as graph:
        a, b = graph.inputs
        graph.output((a if side == "right" else ops.abs(a)) @ (b if side == "left" else ops.abs(b)))
    models = [compile_graph(graph, CompileOptions(device.target, fuse=fuse, cache=False)) for fuse in (True, False)]
    assert [len(model.kernels) == 1 for model in models] == [True, False]
    fused, apart = (run(model, arrays).outputs[0] for model in models)
    assert fused.tobytes() == apart.tobytes()
