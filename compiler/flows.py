"""The flows. They differ in one thing: which kernels, and which units of LLVM IR, are worked on together.

`per-kernel` takes each kernel through elaboration, kernel passes and LLVM alone. `all-kernel` puts all kernels into one
module, so that what they have in common is elaborated and optimised once, and splits it for LLVM. Both compile equal
kernels once, with the same passes, and give bit-identical results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.backend.split import Unit, bundles

if TYPE_CHECKING:
    from compiler.options import CompileOptions
    from compiler.passes.fusion.records import FusedKernel
    from compiler.targets.target import Target


@dataclass(frozen=True)
class Flow:
    """A way from kernel sources to machine code."""

    together: bool
    """Kernels share a module; functions they have in common are then units of their own."""

    def modules(self, kernels: Sequence[FusedKernel]) -> list[Sequence[FusedKernel]]:
        """The kernels that are elaborated into one module and go through kernel passes in it."""
        if self.together:
            return [kernels] if kernels else []
        return [(kernel,) for kernel in kernels]

    def objects(self, units: Sequence[Unit], target: Target, jobs: int) -> Sequence[tuple[Unit, ...]]:
        """The units that LLVM makes one object of."""
        return bundles(units, target, jobs) if self.together else [(unit,) for unit in units]


def flow_of(options: CompileOptions) -> Flow:
    """The flow that was asked for."""
    return Flow(together=options.flow == "all-kernel")
