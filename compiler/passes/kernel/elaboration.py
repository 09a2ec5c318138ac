"""Elaboration: the sources of some kernels become one kgen module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from compiler.dialects.kgen import make_offload
from compiler.dialects.operations import count_operations
from compiler.errors import CompilerError
from compiler.language.context import Callers
from compiler.language.elaborate import Elaborator
from compiler.language.kernel import ElaboratedKernel, KernelSource
from compiler.language.library import Library
from compiler.passes.fusion.records import FusedKernel
from compiler.targets.target import Target
from compiler.trace import Trace


@dataclass(frozen=True)
class KernelModule:
    """Some kernels after elaboration or kernel passes: as they came, what was found out about each, what each used."""

    module: ModuleOp
    sources: tuple[FusedKernel, ...]
    kernels: tuple[ElaboratedKernel, ...]
    uses: Mapping[str, frozenset[str]]
    """The library names that each kernel looked up."""
    callers: Callers
    """Who called the lines of the sources."""

    @property
    def owner(self) -> str:
        """Whose passes run over it: the kernel's that is alone here, or everybody's."""
        return self.kernels[0].name if len(self.kernels) == 1 else ""


def elaborate(kernels: Sequence[FusedKernel], library: Library, target: Target, trace: Trace) -> KernelModule:
    """Kernels into one kgen module; what they instantiate in common is instantiated once.

    Code for a GPU is marked as such: it stands in a `kgen.compile_offload`, from which slice-offload takes it.
    """
    elaborator = Elaborator(library, target)
    elaborator.alone = len(kernels) == 1
    records: list[ElaboratedKernel] = []
    uses: dict[str, frozenset[str]] = {}
    callers: Callers = {}
    for kernel in kernels:
        with trace.span("elaborate", "kgen", kernel.name) as span:
            made, tables = len(elaborator.operations), len(elaborator.globals)
            text, slots, file = kernel.source, kernel.line_slots, f"{kernel.name}.py"
            record = elaborator.add(
                KernelSource(kernel.name, text, slots, file, kernel.symbols, outputs=len(kernel.outputs))
            )
            _check_interface(kernel, record)
            records.append(record)
            uses[record.name] = frozenset(elaborator.looked_up)
            callers |= elaborator.callers
            # What is shared counts for the kernel that needed it first: the others got it for nothing.
            functions = elaborator.operations[made:]
            span.ops_after = len(functions) + sum(map(count_operations, functions)) + len(elaborator.globals) - tables
    module = elaborator.module()
    if not target.emission.in_process:
        module = ModuleOp([make_offload(module.detach_region(0), target.name)])
    return KernelModule(module, tuple(kernels), tuple(records), uses, callers)


def _check_interface(kernel: FusedKernel, record: ElaboratedKernel) -> None:
    """An edited kernel must keep its name, and still take what its place in the model hands it."""
    if record.name != kernel.name:
        raise CompilerError(f"{kernel.name}: the source must define a kernel of that name, not {record.name}")
    expected = [(t.dtype, tuple(t.shape)) for t in (*kernel.outputs, *kernel.inputs)]
    found = [(argument.dtype, argument.shape) for argument in record.arguments]
    if expected != found:
        raise CompilerError(f"{kernel.name}: the source takes other tensors than the model gives it")
