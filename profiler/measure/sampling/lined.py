"""Kernels with line tables, loaded to be sampled: each compiled alone, which is the code that listings show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from compiler.backend.listing import functions_of, laid_out, object_functions
from compiler.backend.llvm import CompiledUnit, compile_llvm
from compiler.backend.provenance import Written, line_places
from compiler.backend.runtime import load_runtime, runtime_object
from compiler.program.execution import Program
from compiler.targets import get_target
from compiler.targets.target import Target

if TYPE_CHECKING:
    from compiler.model import Kernel, Model


@dataclass(frozen=True)
class LinedKernel:
    """A kernel, its LLVM IR with line tables, and what LLVM made of that."""

    kernel: Kernel
    target: Target
    llvm: str
    unit: CompiledUnit

    def places(self, stage: str) -> tuple[str, list[Written]]:
        """A stage's text, and the place in the kernel language of each of its lines."""
        if stage in ("kgen", "kernel"):
            return self.kernel.places(stage)
        text = self.llvm if stage == "llvm" else self.unit.llvm_opt if stage == "llvm-opt" else self.unit.asm
        return text, line_places(text, stage)


def lined_kernels(model: Model) -> list[LinedKernel]:
    """The kernels of a model, compiled with line tables whatever the model was compiled with."""
    from compiler.lowering.llvm_text import emit_module

    made: list[LinedKernel] = []
    for kernel in model.kernels:
        text = emit_module(kernel.kernel_ir().module, model.target, "line-tables").text
        made.append(LinedKernel(kernel, model.target, text, compile_llvm(text, model.target, model.options.opt_level)))
    return made


def lined_program(model: Model, kernels: Sequence[LinedKernel]) -> Program:
    """The model's own host program over these kernels."""
    return Program(model.host, [kernel.unit.object for kernel in kernels])


@dataclass(frozen=True, eq=False)
class LoadedRanges:
    """Functions where they were loaded, in order of address; `owner` numbers the kernel, -1 for the runtime."""

    starts: np.ndarray
    ends: np.ndarray
    owners: np.ndarray
    names: tuple[str, ...]

    def find(self, addresses: np.ndarray) -> np.ndarray:
        """The function that each address lies in, -1 for none."""
        at = np.searchsorted(self.starts, addresses, "right").astype(np.int64) - 1
        outside = (at < 0) | (addresses >= self.ends[np.maximum(at, 0)])
        return np.where(outside, -1, at)


def loaded_ranges(program: Program, kernels: Sequence[LinedKernel]) -> LoadedRanges:
    """Where the functions of the kernels and of the runtime lie: an object's code is loaded in one piece."""
    rows: list[tuple[int, int, int, str]] = []

    def add(image: bytes, symbol: str, address: int, owner: int) -> None:
        functions = object_functions(image)
        base = address - next(function.start for function in functions if function.name == symbol)
        rows.extend((base + f.start, base + f.start + f.size, owner, f.name) for f in functions)

    for number, lined in enumerate(kernels):
        name = lined.kernel.name
        add(lined.unit.object, name, program.entry_point.kernel_address(name), number)
    add(runtime_object(get_target("cpu")), "kg_run", load_runtime().address("kg_run"), -1)
    rows.sort()
    starts, ends, owners, names = zip(*rows, strict=True)
    return LoadedRanges(np.array(starts, np.uint64), np.array(ends, np.uint64), np.array(owners), tuple(names))


def instruction_lines(lined: LinedKernel) -> dict[str, tuple[np.ndarray, tuple[int, ...]]]:
    """For each function of a kernel, the offset of each instruction and its line in the listing (from 0).

    Functions that are not as long in the listing as they were loaded are left out: it is not their code.
    """
    listing = lined.unit.asm
    loaded = {function.name: function.size for function in object_functions(lined.unit.object)}
    lines = {function.name: function.lines for function in functions_of(listing)}
    return {
        name: (np.array(laid.offsets), lines[name])
        for name, laid in laid_out(listing, lined.target).items()
        if loaded.get(name) == laid.size
    }
