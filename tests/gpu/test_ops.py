"""Every op family on the GPU against the reference: f32 within 1e-5 of float64, 16-bit floats within their rounding."""

from __future__ import annotations

import pickle
import sys
from typing import Any

import numpy as np
import pytest

from compiler.graph.dtypes import from_numpy, is_float
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
