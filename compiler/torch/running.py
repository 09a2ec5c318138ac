"""A graph compiled, kept in the trace store, and put where its tensors lie.

The one place below the profiler that asks it for something: `compiler.torch` is a public name, and what it offers
needs devices and the store.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from time import perf_counter
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError, UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.language.library import Library

Runner = Any
"""A program, or a model on a device: `execute(arrays)`, `execute_into(results, arrays)`, `again` and `again_into`."""


def runner(graph: Graph, device: int, library: Library | None = None, source: str = "", folders: Sequence[str] = ()):
    """A graph ready to run on tensors of a device: -1 for the CPU, else the number of a CUDA device.

    With a `source` the compilation is kept in the trace store under that name.
    """
    start = perf_counter()
    if device < 0:
        model = compile_graph(graph, CompileOptions(), library)
        found: Any = model.program
    else:
        from profiler.measure.cuda.device import open_device
        from profiler.placing import place

        target = open_device(device).target
        model = compile_graph(graph, replace(CompileOptions(), target=target), library)
        found = place(model, f"cuda:{device}")
    if source:
        keep(model, source, perf_counter() - start, folders)
    return found


def keep(model: Any, source: str, seconds: float, folders: Sequence[str] = ()) -> None:
    """Keep a compilation in the user's trace store, from where the window opens it."""
    from profiler.recording import record_compilation
    from profiler.store import open_store

    try:
        with open_store() as store:
            record_compilation(store, model, source, seconds, folders)
    except CompilerError as problem:
        say_once(f"the compilation of {source} is not kept: {problem}")


@cache
def say_once(words: str) -> None:
    """A warning, the first time only."""
    warnings.warn(f"kernelglass: {words}", RuntimeWarning, stacklevel=3)


def device_of(tensors: Sequence[Any]) -> int:
    """The device that tensors lie on: -1 for the CPU, else the number of a CUDA device."""
    for tensor in tensors:
        kind = tensor.device.type
        if kind not in ("cpu", "cuda"):
            raise UnavailableError(f"a tensor lies on {tensor.device}; operators run on cpu and cuda tensors")
    places = {tensor.get_device() for tensor in tensors if tensor.dim()} or {t.get_device() for t in tensors}
    if len(places) > 1:
        raise UnavailableError(f"the tensors lie on {len(places)} devices; bring them to one")
    return next(iter(places), -1)
