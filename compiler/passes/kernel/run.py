"""The kernel passes in the order they run: from a kgen module to one that is bound to its target."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp

from compiler.language.kernel import ElaboratedKernel
from compiler.passes.fusion.records import FusedKernel
from compiler.passes.kernel.canonicalise import canonicalise
from compiler.passes.kernel.census import take_census
from compiler.passes.kernel.cse import cse
from compiler.passes.kernel.dce import dce
from compiler.passes.kernel.dead_args import dead_args
from compiler.passes.kernel.dead_symbols import dead_symbols
from compiler.passes.kernel.elaboration import KernelModule
from compiler.passes.kernel.inline import inline
from compiler.passes.kernel.licm import licm
from compiler.passes.kernel.lower_kgen import KernelFacts, lower_kgen
from compiler.passes.kernel.mem2reg import mem2reg
from compiler.passes.kernel.sccp import sccp
from compiler.passes.kernel.slice_offload import slice_offload
from compiler.passes.kernel.sroa import sroa
from compiler.passes.kernel.unroll import unroll
from compiler.targets.target import Target
from compiler.trace import Trace

SHRINKING = (
    ("inline", inline),
    ("canonicalise", canonicalise),
    ("sccp", sccp),
    ("unroll", unroll),
    ("sroa", sroa),
    ("mem2reg", mem2reg),
    ("cse", cse),
    ("licm", licm),
    ("dead-args", dead_args),
    ("dead-symbols", dead_symbols),
)
"""What opens up the IR first, then what cleans up after it: functions of a census that say how many operations go."""


def optional_kernel_passes(opt_level: int) -> tuple[str, ...]:
    """The passes that code can be made without, as `without` names them."""
    return tuple(f"kernel:{name}" for name, _ in SHRINKING) if opt_level >= 2 else ()


def kernel_passes(
    elaborated: KernelModule, target: Target, trace: Trace, opt_level: int = 3, without: Collection[str] = ()
) -> KernelModule:
    """Clean up, then bind to the target; the kgen module is used up. Passes named in `without` are left out."""
    module, owner = elaborated.module, elaborated.owner
    trace.start(owner, module)
    if not target.emission.in_process:
        with trace.span("slice-offload", "kernel", owner) as span:
            module = slice_offload(module, target.name)
            span.module, span.changed = module, True
    with trace.span("dce", "kernel", owner) as span:
        span.ops_before, span.ops_after = dce(module)
        span.module, span.changed = module, span.ops_after != span.ops_before
    with trace.span("lower-kgen", "kernel", owner) as span:
        known = zip(elaborated.sources, elaborated.kernels, strict=True)
        facts = {record.name: _facts(kernel, record) for kernel, record in known}
        module, span.ops_after = lower_kgen(module, gpu_target=target.emission.grid is not None, facts=facts)
        span.module, span.changed = module, True
    if opt_level >= 2:
        _shrink(module, owner, trace, without)
    return replace(elaborated, module=module)


def _shrink(module: ModuleOp, owner: str, trace: Trace, without: Collection[str]) -> None:
    """Passes that make the IR smaller before LLVM reads it; each works on what a census found for it, or not at all."""
    with trace.span("census", "kernel", owner) as span:
        census = take_census(module)
        span.ops_before = span.ops_after = operations = census.operations
    for name, run in SHRINKING:
        if f"kernel:{name}" in without:
            continue
        with trace.span(name, "kernel", owner) as span:
            span.ops_before, edits = operations, census.edits
            operations -= run(census)
            span.ops_after, span.changed, span.module = operations, census.edits != edits, module


def _facts(kernel: FusedKernel, record: ElaboratedKernel) -> KernelFacts:
    """Outputs may share memory with the inputs they are allowed to overwrite; everything else stands alone."""
    outputs = len(kernel.outputs)
    shared = {index for out, index in kernel.inplace for index in (out, outputs + index)}
    count = outputs + len(kernel.inputs)
    workspaces = len(record.workspaces)
    readonly = [False] * outputs + [True] * len(kernel.inputs) + [False] * workspaces
    for _, index in kernel.inplace:
        readonly[outputs + index] = False
    noalias = [position not in shared for position in range(count)] + [True] * workspaces
    launch = record.launch
    asked = (launch.threads, launch.per_processor, launch.cluster) if launch else ()
    return KernelFacts(tuple(readonly), tuple(noalias), *asked)
