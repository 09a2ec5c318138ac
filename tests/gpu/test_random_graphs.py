"""Random graphs on the GPU give what the reference gives, fused and unfused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, note, settings

from compiler import reference
from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gpu


def _other(name: str) -> Any:
    path = Path(__file__).parents[1] / "integration" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"kg_gpu_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


graphs = _other("random_graphs")
agreement = _other("agreement")


@pytest.mark.parametrize("fuse", [True, False])
def test_random_graphs(fuse: bool, run: Any, device: Any) -> None:
    options = CompileOptions(target=device.target, fuse=fuse, cache=False)

    @settings(
        max_examples=60 if fuse else 25,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(graphs.recipes())
    def check(recipe: Any) -> None:
        graph, arrays = recipe.build(), recipe.arrays()
        try:
            with np.errstate(all="ignore"):
                expected = reference(graph, *arrays)
                wide = reference(recipe.build(widen=True), *recipe.arrays(widen=True))
        except ExecutionError:
            return  # sizes this graph cannot take
        response = run(compile_graph(graph, options), arrays)
        for number, (result, truth, wider) in enumerate(zip(response.outputs, expected, wide, strict=True)):
            problem = agreement.disagreement(result, truth, wider if truth.dtype.kind not in "iub" else None)
            if problem:
                note(str(graph))
                pytest.fail(f"fuse={fuse} output {number}: {problem}", pytrace=False)

    check()
