"""Passes over kernels between elaboration and LLVM; one file a pass, named after it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# In the order they run: what opens up the IR first, then what cleans up after it.
_SHRINKING = (
    "inline", "canonicalise", "sccp", "unroll", "sroa", "mem2reg", "cse", "licm", "dead_args", "dead_symbols",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "SHRINKING":  # (name, function of a census that says how many operations it took out)
        made = tuple(
            (pass_.replace("_", "-"), getattr(import_module(f"compiler.passes.kernel.{pass_}"), pass_))
            for pass_ in _SHRINKING
        )
        globals()["SHRINKING"] = made
        return made
    raise AttributeError(f"module 'compiler.passes.kernel' has no attribute {name!r}")
