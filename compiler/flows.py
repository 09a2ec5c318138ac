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


FIRST_KERNELS = 8


@dataclass(frozen=True)
class Flow:
    """A way from kernel sources to machine code."""

    together: bool
    """Kernels share a module; functions they have in common are then units of their own."""

    def modules(self, kernels: Sequence[FusedKernel], jobs: int) -> list[Sequence[FusedKernel]]:
        """The kernels that are elaborated into one module and go through kernel passes in it, in the order of work.

        Where other processes can begin with LLVM's part of the first ones, many kernels are several modules, each twice
        as large as the one before: what is shared is elaborated a few times, and LLVM waits for one small module only.
        """
        if not self.together:
            return [(kernel,) for kernel in kernels]
        found: list[Sequence[FusedKernel]] = []
        size = FIRST_KERNELS
        while jobs > 1 and len(kernels) >= 2 * size:
            found.append(kernels[:size])
            kernels, size = kernels[size:], 2 * size
        return [*found, kernels] if kernels else found

    def objects(self, target: Target, units: Sequence[Unit], jobs: int) -> Sequence[tuple[Unit, ...]]:
        """The units that LLVM makes one object of."""
        return bundles(units, target, jobs) if self.together else [(unit,) for unit in units]


def flow_of(options: CompileOptions) -> Flow:
    """The flow that was asked for."""
    return Flow(together=options.flow == "all-kernel")
