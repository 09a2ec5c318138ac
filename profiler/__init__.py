"""Launching kernels and remembering what happened: devices, timing, memory, and the trace store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from profiler.placing import place as place

__all__ = ["place"]


def __getattr__(name: str) -> Any:
    if name != "place":
        raise AttributeError(f"module 'profiler' has no attribute {name!r}")
    from profiler.placing import place

    return place
