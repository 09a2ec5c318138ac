"""One compilation as its steps see it: what each of them gets, and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.cache import Cache
    from compiler.dialects.mo import GraphOp
    from compiler.language.kernel import ElaboratedKernel
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.passes.fusion.records import FusedKernel, FusionResult
    from compiler.targets.target import Target
    from compiler.trace import Trace


@dataclass(frozen=True)
class Compilation:
    """Options, library, target, where passes are recorded, and the cache if there is one."""

    options: CompileOptions
    library: Library
    target: Target
    trace: Trace
    cache: Cache | None


@dataclass(frozen=True)
class Compiled:
    """What a compilation comes to, made or found."""

    graph: Callable[[], GraphOp]
    """The graph after its passes; one that was found has them run when this is asked."""
    fusion: FusionResult
    kernels: tuple[FusedKernel, ...]
    """Those of `fusion`, with the user's edits."""
    records: Mapping[str, ElaboratedKernel]
    objects: tuple[bytes, ...]
    needs: Any
    """The part of `records` that running the kernels takes."""
