"""What elaboration finds out about a kernel besides its code. Plain records: running a model takes nothing heavier."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.dims import Dim


@dataclass(frozen=True)
class BufferArgument:
    """A tensor argument of a kernel, or a workspace it asks for."""

    name: str
    dtype: str
    shape: tuple[int | Dim, ...]


@dataclass(frozen=True)
class Launch:
    """The grid a GPU kernel asks for."""

    blocks: tuple[int | Dim, ...]
    threads: int


@dataclass(frozen=True)
class ElaboratedKernel:
    """One kernel: its tensors, its workspaces, the sizes it is given, in the order of its arguments."""

    name: str
    arguments: tuple[BufferArgument, ...]
    workspaces: tuple[BufferArgument, ...]
    symbols: tuple[str, ...]
    provenance: tuple[tuple[int, ...], ...]  # provenance id -> slots; id 0 is no slot at all
    launch: Launch | None
