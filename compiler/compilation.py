"""One compilation as its steps see it: what each of them gets, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.cache import Cache
    from compiler.dialects.mo import GraphOp
    from compiler.language.library import Library
    from compiler.options import CompileOptions
    from compiler.passes.fusion.records import FusedKernel
    from compiler.program.host_program import HostProgram
    from compiler.targets.target import Target
    from compiler.trace import Trace


Known = Callable[[object, Callable[[], Any]], Any]
"""Gives what a function finds out about a model, or found out before; the first argument says about what."""


@dataclass(frozen=True)
class Compilation:
    """Options, library, target, where passes are recorded, and the cache if there is one."""

    options: CompileOptions
    library: Library
    target: Target
    trace: Trace
    cache: Cache | None
    without: frozenset[str] = frozenset()
    """Passes that are left out, to find the one that does harm: `kernel:unroll`, `llvm:loop-unroll`."""


@dataclass(frozen=True)
class Compiled:
    """What a compilation comes to, made or found."""

    graph: Callable[[], GraphOp]
    """The graph after its passes; one that was found has them run when this is asked."""
    host: HostProgram
    kernels: tuple[FusedKernel, ...]
    """Those that were fused, with the user's edits."""
    objects: tuple[bytes, ...]
