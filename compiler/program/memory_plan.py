"""The memory plan: when each intermediate buffer lives, which ones share memory, and where each lies in the arena.

Two buffers that live at the same time never overlap, except that a kernel's output may take the place of an input that
dies there, where the kernel allows it. Lifetimes do not depend on sizes, so a model plans anew for new sizes quickly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from compiler.passes.fusion.records import Buffer
from compiler.program.host_program import HostProgram, Lifetime

ALIGNMENT = 64


@dataclass(frozen=True)
class Block:
    """A piece of the arena: bytes `offset` to `offset + size`, from call `first` to call `last`.

    `reuses` names the block whose memory it takes over in place; that one ends where this one begins.
    """

    buffer: Buffer
    offset: int
    size: int
    first: int
    last: int
    reuses: str | None

    @property
    def name(self) -> str:
        """The name of what it holds."""
        return self.buffer.name


@dataclass(frozen=True)
class MemoryPlan:
    """All blocks in order of birth, the size of the arena, and what it would be if nothing were shared."""

    blocks: tuple[Block, ...]
    peak: int
    total_without_reuse: int

    @property
    def saved(self) -> int:
        """Bytes that sharing saves."""
        return self.total_without_reuse - self.peak


def plan(program: HostProgram, sizes: Mapping[str, int], *, workspaces: bool = True) -> MemoryPlan:
    """Lay out the temporaries (and the kernels' workspaces) for given sizes of the symbols.

    Blocks that share in place are laid out as one. The largest go first, each into the tightest gap that is free for
    its whole life.
    """
    whole = _joined([_Piece(life, sizes) for life in program.lifetimes])
    if workspaces:
        for number, call in enumerate(program.calls):
            whole += [_Piece(Lifetime(buffer, number, number, None), sizes) for buffer in call.workspaces]
    _place(whole)
    blocks = [
        Block(life.buffer, piece.offset, piece.size, life.first, life.last, life.reuses and life.reuses.name)
        for piece in whole
        for life in piece.members
    ]
    blocks.sort(key=lambda block: (block.first, block.last, block.offset))
    return MemoryPlan(
        blocks=tuple(blocks),
        peak=max((piece.offset + _aligned(piece.size) for piece in whole), default=0),
        total_without_reuse=sum(_aligned(block.size) for block in blocks),
    )


class _Piece:
    """Memory to be placed: one buffer, or several that follow each other in place."""

    __slots__ = ("first", "last", "members", "offset", "size")

    def __init__(self, life: Lifetime, sizes: Mapping[str, int]) -> None:
        self.size = life.buffer.bytes(sizes)
        self.first = life.first
        self.last = life.last
        self.members = [life]
        self.offset = 0


def _joined(pieces: list[_Piece]) -> list[_Piece]:
    """Pieces that take each other's place become one with a longer life."""
    holder: dict[Buffer, _Piece] = {}
    whole: list[_Piece] = []
    for piece in pieces:
        (life,) = piece.members
        before = holder.get(life.reuses) if life.reuses is not None else None
        if before is not None and before.size == piece.size:
            before.members.append(life)
            before.last = piece.last
            holder[life.buffer] = before
        else:
            piece.members[0] = replace(life, reuses=None)
            holder[life.buffer] = piece
            whole.append(piece)
    return whole


def _place(pieces: list[_Piece]) -> None:
    """Give every piece an offset: largest first, best fit among those whose lives cross its own."""
    placed: list[_Piece] = []
    for piece in sorted(pieces, key=lambda p: (-p.size, p.first, p.last)):
        if piece.size == 0:
            continue
        need, first, last = _aligned(piece.size), piece.first, piece.last
        busy = sorted(
            (other.offset, other.offset + _aligned(other.size))
            for other in placed
            if other.first <= last and first <= other.last
        )
        best, tightest, end = None, 0, 0
        for start, stop in busy:
            gap = start - end
            if gap >= need and (best is None or gap < tightest):
                best, tightest = end, gap
            end = max(end, stop)
        piece.offset = end if best is None else best
        placed.append(piece)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
