"""Compiles GPU test cases and computes what they must give: `python compiling.py FOLDER TARGET COUNT NUMBER`.

Takes every COUNT-th line of FOLDER/wanted.txt; writes LINE.pickle (the request, the reference's results, the results of
the same graph in wider floats) or LINE.error.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"kg_gpu_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def prepare(cases: Any, case: Any, dtype: str, target: str, path: Path) -> None:
    """Write the request of one case and what it must give."""
    from compiler import reference
    from compiler.graph.binding import bind
    from compiler.options import CompileOptions
    from compiler.pipeline import compile_graph
    from profiler.measure.cuda.messages import CudaRequest
    from profiler.measure.cuda.program import program_of

    graph, arrays = case.graph(dtype), case.arrays(dtype)
    model = compile_graph(graph, CompileOptions(target=target, cache=False))
    program = program_of(model, bind(graph.input_types, arrays, graph.input_names))
    wide = case.graph(cases.WIDER[dtype])
    with np.errstate(all="ignore"):
        expected = reference(graph, *arrays)
        truth = reference(wide, *cases.widened(arrays, list(graph.input_types), list(wide.input_types)))
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        pickle.dump((CudaRequest(program, tuple(arrays), 0, 1, True), expected, truth), file)
    partial.rename(path)


def main(folder: Path, target: str, count: int, number: int) -> None:
    cases = load(Path(__file__).with_name("cases.py"))
    known = {f"{case.name}[{dtype}]": (case, dtype) for case, dtype in cases.variants()}
    for name in (folder / "wanted.txt").read_text().splitlines()[number::count]:
        try:
            prepare(cases, *known[name], target, folder / f"{name}.pickle")
        except Exception as error:  # the test reports it
            words = str(error) or type(error).__name__
            (folder / f"{name}.error").write_text(f"{type(error).__name__}: {words}\n{traceback.format_exc()[-1500:]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
