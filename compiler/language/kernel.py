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
    shared: int = 0  # bytes of shared memory that the launch sets aside for each block
    resident: bool = False  # no more blocks than the device runs at once: each takes several shares of the work
    together: bool = False  # all blocks run at once, so that they may wait for each other
    per_processor: int = 0  # blocks that a multiprocessor shall have registers for at once; 0: the compiler's choice


@dataclass(frozen=True)
class TensorMap:
    """A tensor as the copy engine is told of it; the launcher writes it into a workspace of the kernel.

    Sizes and strides (in elements) are of the axes that are not repeated, the contiguous one last.
    """

    workspace: int
    argument: int
    shape: tuple[int | Dim, ...]
    strides: tuple[int | Dim, ...]
    offset: int | Dim
    box: tuple[int, ...]


@dataclass(frozen=True)
class ElaboratedKernel:
    """What elaboration found out about a kernel besides its code."""

    name: str
    arguments: tuple[BufferArgument, ...]
    workspaces: tuple[BufferArgument, ...]
    symbols: tuple[str, ...]
    provenance: tuple[tuple[int, ...], ...]  # provenance id -> slots; id 0 is no slot at all
    launch: Launch | None
    maps: tuple[TensorMap, ...] = ()
