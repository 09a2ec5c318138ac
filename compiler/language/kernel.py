"""A kernel before and after elaboration, as plain records: whoever keeps or launches kernels needs nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.graph.dims import Dim


@dataclass(frozen=True)
class KernelSource:
    """A kernel to elaborate: generated (or edited) source, and the graph slots behind each of its lines."""

    name: str
    text: str
    line_slots: tuple[tuple[int, ...], ...] = ()
    file: str = ""
    symbols: tuple[str, ...] = ()  # sizes it is given besides those its tensors' shapes name
    outputs: int | None = None  # how many of its tensors, the first ones, it stores to; None: nobody said


@dataclass(frozen=True)
class BufferArgument:
    """A tensor argument of a kernel."""

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
    """What elaboration found out about a kernel besides its code."""

    name: str
    arguments: tuple[BufferArgument, ...]
    workspaces: tuple[BufferArgument, ...]
    symbols: tuple[str, ...]
    provenance: tuple[tuple[int, ...], ...]  # provenance id -> slots; id 0 is no slot at all
    launch: Launch | None
