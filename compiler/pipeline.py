"""The table of contents of a compilation: graph -> fused kernels -> elaboration -> kernel passes -> LLVM -> objects.

What does the work is imported by whoever does it: a model that comes from the cache needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from compiler.errors import CompilerError
from compiler.passes.fusion.records import FusedKernel
from compiler.targets.target import Target
from compiler.trace import Trace, count_operations

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from compiler.language.elaborate import LanguageTarget
    from compiler.language.kernel import ElaboratedKernel
    from compiler.language.library import Library
    from compiler.passes.kernel.lower_kgen import KernelFacts

FLOWS = ("all-kernel", "per-kernel")
DEBUG = ("none", "line-tables")
STAGES = ("mo", "mogg", "mgp", "kgen", "kernel", "llvm", "llvm-opt", "asm", "ptx", "sass")


@dataclass(frozen=True)
class CompileOptions:
    """Everything that decides what a compilation produces."""

    target: str = "cpu"
    flow: str = "all-kernel"
    opt_level: int = 3
    debug: str = "none"
    jobs: int | None = None
    cache: bool = True
    fuse: bool = True
    force_cut: frozenset[tuple[str, str]] = frozenset()
    force_fuse: frozenset[tuple[str, str]] = frozenset()
    sources: tuple[tuple[str, str], ...] = ()  # kernel name -> edited source that takes its place
    record_passes: bool = False  # kernels are compiled, not looked up, so that the times of all passes are known
    snapshots: bool = False  # also keeps the IR after each pass that changed it; takes several times as long

    @property
    def recompiles(self) -> bool:
        """Whether kernels are compiled even where a cache has them, as what is wanted is how they are."""
        return self.record_passes or self.snapshots

    def check(self) -> None:
        """Raise for a value that is not among the known ones."""
        if self.flow not in FLOWS:
            raise CompilerError(f"unknown flow {self.flow!r}; the flows are {' '.join(FLOWS)}")
        if self.debug not in DEBUG:
            raise CompilerError(f"unknown debug level {self.debug!r}; the levels are {' '.join(DEBUG)}")
        if isinstance(self.opt_level, bool) or self.opt_level not in (0, 1, 2, 3):
            raise CompilerError(f"unknown optimisation level {self.opt_level!r}; the levels are 0 1 2 3")
        if self.jobs is not None and (isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 1):
            raise CompilerError(f"jobs is a number of at least 1, not {self.jobs!r}")


@dataclass(frozen=True)
class KernelModule:
    """Some kernels after elaboration or kernel passes, and the library names that each of them looked up."""

    module: ModuleOp
    kernels: tuple[ElaboratedKernel, ...]
    uses: Mapping[str, frozenset[str]] = field(default_factory=dict)


def language_target(target: Target) -> LanguageTarget:
    """What kernels may ask about a target."""
    from compiler.language.elaborate import LanguageTarget

    digits = "".join(c for c in target.name if c.isdigit())
    return LanguageTarget(
        name=target.name, is_cpu=target.is_cpu, is_gpu=target.is_gpu, is_nvidia=target.is_nvidia, is_amd=target.is_amd,
        simd_bytes=target.simd_bytes, registers=target.vector_registers, warp=target.warp_size,
        shared_bytes=target.limits.shared_memory_bytes, arch=int(digits) if digits and target.is_nvidia else 0,
    )  # fmt: skip


def with_edits(kernels: Sequence[FusedKernel], options: CompileOptions) -> tuple[FusedKernel, ...]:
    """The kernels with the user's edited sources in place of the generated ones."""
    edits = dict(options.sources)
    unknown = set(edits) - {kernel.name for kernel in kernels}
    if unknown:
        raise CompilerError(
            f"no kernel is called {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in kernels)}"
        )
    return tuple(
        replace(kernel, source=edits[kernel.name], line_slots=_all_slots(kernel, edits[kernel.name]))
        if kernel.name in edits else kernel
        for kernel in kernels
    )  # fmt: skip


def _all_slots(kernel: FusedKernel, source: str) -> tuple[tuple[int, ...], ...]:
    """An edited line that is still a generated one keeps its slots; a new one stands for the whole kernel."""
    known = dict(zip(kernel.source.splitlines(), kernel.line_slots, strict=False))
    everything = tuple(range(len(kernel.slots)))
    return tuple(known.get(line, everything if line.strip() else ()) for line in source.splitlines())


def elaborate(kernels: Iterable[FusedKernel], library: Library, target: Target, trace: Trace) -> KernelModule:
    """Kernels into one kgen module; what they instantiate in common is instantiated once."""
    from compiler.language.dependencies import WatchedElaborator
    from compiler.language.kernel import KernelSource

    kernels = tuple(kernels)
    elaborator = WatchedElaborator(library, language_target(target))
    elaborator.alone = len(kernels) == 1
    records: list[ElaboratedKernel] = []
    uses: dict[str, frozenset[str]] = {}
    for kernel in kernels:
        with trace.span("elaborate", "kgen", kernel.name) as span:
            elaborator.looked_up = set()
            made, tables = len(elaborator.operations), len(elaborator.globals)
            record = elaborator.add(
                KernelSource(kernel.name, kernel.source, kernel.line_slots, f"{kernel.name}.py", kernel.symbols)
            )
            _check_interface(kernel, record)
            records.append(record)
            uses[record.name] = frozenset(elaborator.looked_up)
            # What is shared counts for the kernel that needed it first: the others got it for nothing.
            functions = elaborator.operations[made:]
            span.ops_after = len(functions) + sum(map(count_operations, functions)) + len(elaborator.globals) - tables
    module = elaborator.module()
    if target.is_gpu:
        from compiler.passes.kernel.slice_offload import offload

        module = offload(module, target.name)
    return KernelModule(module, tuple(records), uses)


def _check_interface(kernel: FusedKernel, record: ElaboratedKernel) -> None:
    """An edited kernel must keep its name, and still take what its place in the model hands it."""
    if record.name != kernel.name:
        raise CompilerError(f"{kernel.name}: the source must define a kernel of that name, not {record.name}")
    expected = [(t.dtype, tuple(t.shape)) for t in (*kernel.outputs, *kernel.inputs)]
    found = [(argument.dtype, argument.shape) for argument in record.arguments]
    if expected != found:
        raise CompilerError(f"{kernel.name}: the source takes other tensors than the model gives it")


def kernel_passes(
    elaborated: KernelModule, kernels: Mapping[str, FusedKernel], target: Target, trace: Trace, opt_level: int = 3
) -> KernelModule:
    """Clean up, then bind to the target; the kgen module is used up."""
    from compiler.passes.kernel.dce import swept
    from compiler.passes.kernel.lower_kgen import lowered

    module = elaborated.module
    owner = elaborated.kernels[0].name if len(elaborated.kernels) == 1 else ""
    if target.is_gpu:
        from compiler.passes.kernel.slice_offload import slice_offload

        with trace.span("slice-offload", "kernel", owner) as span:
            module = slice_offload(module, target.name)
            span.module, span.changed = module, True
    with trace.span("dce", "kernel", owner) as span:
        span.ops_before, span.ops_after = swept(module)
        span.module, span.changed = module, span.ops_after != span.ops_before
    with trace.span("lower-kgen", "kernel", owner) as span:
        facts = {record.name: _facts(kernels[record.name], record) for record in elaborated.kernels}
        module, span.ops_after = lowered(module, gpu_target=target.is_gpu, facts=facts)
        span.module, span.changed = module, True
    if opt_level >= 2:
        _shrink(module, owner, trace)
    return KernelModule(module, elaborated.kernels, elaborated.uses)


def _shrink(module: ModuleOp, owner: str, trace: Trace) -> None:
    """Passes that make the IR smaller before LLVM reads it; each works on what a census found for it, or not at all."""
    from compiler.passes.kernel import SHRINKING
    from compiler.passes.kernel.census import take_census

    with trace.span("census", "kernel", owner) as span:
        census = take_census(module)
        span.ops_before = span.ops_after = operations = census.operations
    for name, run in SHRINKING:
        with trace.span(name, "kernel", owner) as span:
            span.ops_before, edits = operations, census.edits
            operations -= run(census)
            span.ops_after, span.changed, span.module = operations, census.edits != edits, module


def _facts(kernel: FusedKernel, record: ElaboratedKernel) -> KernelFacts:
    """Outputs may share memory with the inputs they are allowed to overwrite; everything else stands alone."""
    from compiler.passes.kernel.lower_kgen import KernelFacts

    outputs = len(kernel.outputs)
    shared = {index for out, index in kernel.inplace for index in (out, outputs + index)}
    count = outputs + len(kernel.inputs)
    workspaces = len(record.workspaces)
    readonly = [False] * outputs + [True] * len(kernel.inputs) + [False] * workspaces
    for _, index in kernel.inplace:
        readonly[outputs + index] = False
    noalias = [position not in shared for position in range(count)] + [True] * workspaces
    return KernelFacts(tuple(readonly), tuple(noalias), record.launch.threads if record.launch else 0)
