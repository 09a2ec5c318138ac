"""Kernelglass's graph-to-kernel compiler. Names load on first use, so importing this is cheap.

Large because what joins the rooms (the pipeline, what may be asked, the caches, the model) stands beside them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.graph import ops as ops
    from compiler.graph.dim_text import dim as dim
    from compiler.graph.graph import Graph as Graph
    from compiler.graph.types import BufferType as BufferType
    from compiler.graph.types import OpaqueBufferType as OpaqueBufferType
    from compiler.graph.types import OpaqueType as OpaqueType
    from compiler.graph.types import TensorType as TensorType
    from compiler.importers.onnx import from_onnx as from_onnx
    from compiler.importers.torch import from_torch as from_torch
    from compiler.language.library import load_library as load_library
    from compiler.loading import load as load
    from compiler.pipeline import compile as compile
    from compiler.reference import reference as reference

_HOMES = {
    "Graph": "compiler.graph.graph", "TensorType": "compiler.graph.types", "BufferType": "compiler.graph.types",
    "OpaqueType": "compiler.graph.types", "OpaqueBufferType": "compiler.graph.types", "dim": "compiler.graph.dim_text",
    "compile": "compiler.pipeline", "load": "compiler.loading", "load_library": "compiler.language.library",
    "from_onnx": "compiler.importers.onnx", "from_torch": "compiler.importers.torch",
}  # fmt: skip
_MODULES = {"ops": "compiler.graph.ops"}
__all__ = [*_HOMES, *_MODULES, "reference"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    from compiler.collector_pauses import rare_collection

    with rare_collection():
        return _loaded(name)


def _loaded(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name == "reference":
        # The package `compiler.reference` is bound to this name by its own import, so the function must replace it.
        function = import_module("compiler.reference").reference
        globals()["reference"] = function
        return function
    if name not in _HOMES:
        raise AttributeError(f"module 'compiler' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
