"""Graphs: types, symbolic dims, values and the op builders. Names load on first use, so importing this is cheap."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.graph import ops
    from compiler.graph.graph import Graph
    from compiler.graph.ops.specs import SPECS
    from compiler.graph.opspec import OpSpec
    from compiler.graph.types import BufferType, ChainType, OpaqueType, TensorType
    from compiler.graph.value import Value, current_graph

_HOMES = {
    "Graph": "graph", "current_graph": "value", "Value": "value",
    "TensorType": "types", "BufferType": "types", "ChainType": "types", "OpaqueType": "types",
    "OpSpec": "opspec", "SPECS": "ops.specs",
}  # fmt: skip

__all__ = [
    "BufferType",
    "ChainType",
    "Graph",
    "OpSpec",
    "OpaqueType",
    "SPECS",
    "TensorType",
    "Value",
    "current_graph",
    "ops",
]


def __getattr__(name: str) -> Any:
    if name == "ops":
        return import_module("compiler.graph.ops")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'compiler.graph' has no attribute {name!r}")
    return getattr(import_module(f"compiler.graph.{home}"), name)
