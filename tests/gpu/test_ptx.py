"""Every GPU test case compiles to PTX that ptxas accepts, on a machine with no GPU; slow, and skipped without ptxas."""

from __future__ import annotations

import sys

import pytest

from compiler.backend.sass import find_tool, resources_of
from compiler.errors import UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    try:
        find_tool("ptxas")
    except UnavailableError as missing:
        pytest.skip(str(missing))


def test_ptx_assembles(variant: str) -> None:
    case, dtype = next((c, d) for c, d in sys.modules["kg_gpu_cases"].variants() if f"{c.name}[{d}]" == variant)
    model = compile_graph(case.graph(dtype), CompileOptions(target="sm_90a", cache=False))
    for kernel in model.kernels:
        (entry,) = resources_of(kernel.unit.object, "sm_90a")
        assert entry.name == kernel.name
