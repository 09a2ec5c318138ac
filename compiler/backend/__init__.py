"""LLVM work: optimise, emit, load, and run on the host's threads. Names load on first use.

A model from the cache is loaded and run; what optimises and emits is then not needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.backend.executor import Executor, TableStep, load_kernels
    from compiler.backend.jit import LoadedCode, load_objects
    from compiler.backend.llvm import (
        CompiledUnit,
        Optimised,
        PassTime,
        compile_llvm,
        emit_asm,
        emit_object,
        optimise,
    )
    from compiler.backend.provenance import line_provenance
    from compiler.backend.runtime import default_threads

_NAMES = {
    "executor": ("Executor", "TableStep", "load_kernels"),
    "jit": ("LoadedCode", "load_objects"),
    "llvm": ("CompiledUnit", "Optimised", "PassTime", "compile_llvm", "emit_asm", "emit_object", "optimise"),
    "provenance": ("line_provenance",),
    "runtime": ("default_threads",),
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "CompiledUnit",
    "Executor",
    "LoadedCode",
    "Optimised",
    "PassTime",
    "TableStep",
    "compile_llvm",
    "default_threads",
    "emit_asm",
    "emit_object",
    "line_provenance",
    "load_kernels",
    "load_objects",
    "optimise",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'compiler.backend' has no attribute {name!r}")
    return getattr(import_module(f"compiler.backend.{_HOMES[name]}"), name)
