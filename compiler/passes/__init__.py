"""Graph and kernel passes: one file a pass, named after it; `fusion/` turns a graph into kernels."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_GRAPH = ("infer_shapes", "fold_constants", "simplify", "cse", "dce")


def __getattr__(name: str) -> Any:
    if name == "GRAPH_PASSES":  # (name, function of a mo.graph) in the order they run; loaded on first use
        made = tuple(
            (pass_.replace("_", "-"), getattr(import_module(f"compiler.passes.{pass_}"), pass_)) for pass_ in _GRAPH
        )
        globals()["GRAPH_PASSES"] = made
        return made
    raise AttributeError(f"module 'compiler.passes' has no attribute {name!r}")
