"""Every sample on the GPU, at its own sizes and at others, compiled once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.inputs import random_inputs
from app.sources import load_source, samples
from compiler import load_library, reference
from compiler.importers.mlir_text import parse_graph
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gpu


def in_double(graph: Any, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The graph's results with f64 for every f32."""
    wide = parse_graph(str(graph).replace("f32", "f64"), "<wide>")
    return reference(wide, *[array.astype(np.float64) if array.dtype == np.float32 else array for array in arrays])


@pytest.mark.parametrize("name", [sample.name for sample in samples() if not sample.is_model])
def test_sample(name: str, run: Any, device: Any, apart: Any) -> None:
    source = load_source(f"sample:{name}")
    library = load_library(*source.library_paths) if source.library_paths else None
    options = CompileOptions(target=device.target, cache=False)
    model = compile_graph(source.graph, options, library)
    for shrink in (0, 3):
        sizes = {symbol: max(size - shrink, 1) for symbol, size in source.dims.items()}
        arrays = random_inputs(source.graph, {symbol: sizes[symbol] for symbol in source.graph.symbols}, seed=shrink)
        response = run(model, arrays, replays=1)
        expected = reference(source.graph, *arrays)
        floats = any(array.dtype == np.float32 for array in expected)
        truth = in_double(source.graph, arrays) if floats else expected
        for result, wanted, wide in zip(response.outputs, expected, truth, strict=True):
            if wanted.dtype.kind in "iub":
                np.testing.assert_array_equal(result, wanted)
            else:
                assert apart(result, wide) <= 1e-5
        assert response.replay_equal
