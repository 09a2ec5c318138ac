"""Passes over graphs: one file a pass, named after it. They never change a value, only the work."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_IN_ORDER = ("infer_shapes", "fold_constants", "simplify", "cse", "dce")


def __getattr__(name: str) -> Any:
    if name == "GRAPH_PASSES":  # (name, function of a mo.graph) in the order they run; loaded on first use
        made = tuple(
            (pass_.replace("_", "-"), getattr(import_module(f"compiler.passes.graph.{pass_}"), pass_))
            for pass_ in _IN_ORDER
        )
        globals()["GRAPH_PASSES"] = made
        return made
    raise AttributeError(f"module 'compiler.passes.graph' has no attribute {name!r}")
