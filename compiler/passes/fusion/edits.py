"""Kernel sources that the user edited, in place of the generated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.errors import CompilerError
from compiler.passes.fusion.records import FusedKernel


def with_edits(kernels: Sequence[FusedKernel], sources: Sequence[tuple[str, str]]) -> tuple[FusedKernel, ...]:
    """The kernels, those of `sources` (kernel name, edited source) with their new source."""
    edits = dict(sources)
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
