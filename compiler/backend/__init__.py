"""LLVM work: optimise, emit, load, and run on the host's threads."""

from __future__ import annotations

from compiler.backend.host import Executor, HostCall, host_program, load_kernels
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

__all__ = [
    "CompiledUnit",
    "Executor",
    "HostCall",
    "LoadedCode",
    "Optimised",
    "PassTime",
    "compile_llvm",
    "default_threads",
    "emit_asm",
    "emit_object",
    "host_program",
    "line_provenance",
    "load_kernels",
    "load_objects",
    "optimise",
]
