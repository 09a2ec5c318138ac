"""Fusion: a graph becomes kernels, decided by the signatures of the kernel library and nothing else.

In order: `analysis` reads the graph, `epilogue` grows kernels forwards, `pull` places the rest backwards (by the moves
of `placement`, within the user's `choices`), `emit` writes each group as kernel-language source (`expressions` in
`pieces`, which `assemble` prints), `ledger` says what was decided and why, `module` shows it all as `mogg` IR.
`fuse` is the table of contents: `from compiler.passes.fusion.fuse import fuse`. Only the records are imported here,
as those who read a fused model need not load what makes one.
"""

from compiler.passes.fusion.records import (
    Buffer,
    FusedKernel,
    FusionDecision,
    FusionOptions,
    FusionResult,
    KernelCall,
    KernelLibrary,
    Signature,
)

__all__ = [
    "Buffer", "FusedKernel", "FusionDecision", "FusionOptions", "FusionResult", "KernelCall", "KernelLibrary",
    "Signature",
]  # fmt: skip
