"""The memory plan: when each intermediate buffer lives, which ones share memory, and where each lies in the arena.

Two buffers that live at the same time never overlap, except that a kernel's output may take the place of an input that
dies there, where the kernel allows it. Lifetimes do not depend on sizes, so a model plans anew for new sizes quickly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from compiler.graph.dims import Dim, evaluate
from compiler.graph.dtypes import dtype_info
from compiler.passes.fusion.records import Buffer, KernelCall

ALIGNMENT = 64


class Calls(Protocol):
    """What is planned: kernel calls in execution order, as fusion gives them."""

    @property
    def calls(self) -> tuple[KernelCall, ...]: ...


class Workspace(Protocol):
    """Scratch memory that one kernel asks for."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> tuple[int | Dim, ...]: ...


@dataclass(frozen=True)
class Block:
    """A piece of the arena: bytes `offset` to `offset + size`, from call `first` to call `last`.

    `key` is the buffer it holds, or (call, number) for a kernel's workspace. `reuses` names the block whose memory it
    takes over in place; that one ends where this one begins.
    """

    name: str
    offset: int
    size: int
    first: int
    last: int
    reuses: str | None
    key: Buffer | tuple[int, int]


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


@dataclass(frozen=True, eq=False)
class Lifetime:
    """A temporary buffer from the call that writes it to the last call that reads it."""

    buffer: Buffer
    first: int
    last: int
    reuses: Buffer | None  # the input of call `first` whose place it takes


def lifetimes(program: Calls) -> tuple[Lifetime, ...]:
    """When each temporary lives, and which take the place of another; the order is that of birth."""
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for number, call in enumerate(program.calls):
        for buffer in call.results:
            if buffer.kind == "temporary":
                first.setdefault(buffer, number)
                last[buffer] = number
        for buffer in call.operands:
            if buffer.kind == "temporary":
                first.setdefault(buffer, number)  # without elements: nobody writes it
                last[buffer] = number
    made: list[Lifetime] = []
    for number, call in enumerate(program.calls):
        taken: set[Buffer] = set()
        placed: dict[Buffer, Buffer] = {}
        for output, operand in call.kernel.inplace:
            result, source = call.results[output], call.operands[operand]
            if result not in first or source not in first or source in taken or result in placed:
                continue
            if first[source] < number == first[result] == last[source]:
                taken.add(source)
                placed[result] = source
        for buffer in dict.fromkeys((*call.operands, *call.results)):
            if first.get(buffer) == number:
                made.append(Lifetime(buffer, number, last[buffer], placed.get(buffer)))
    return tuple(made)


def plan(
    program: Calls, sizes: Mapping[str, int], workspaces: Mapping[str, Sequence[Workspace]] | None = None
) -> MemoryPlan:
    """Lay out the temporaries (and the kernels' workspaces) for given sizes of the symbols.

    Blocks that share in place are laid out as one. The largest go first, each into the tightest gap that is free for
    its whole life.
    """
    pieces = [_Piece(_bytes(life.buffer.type, sizes), life.first, life.last, [life]) for life in lifetimes(program)]
    whole = _joined(pieces)
    if workspaces:
        for number, call in enumerate(program.calls):
            for k, asked in enumerate(workspaces.get(call.kernel.name, ())):
                name = f"{call.kernel.name}.{asked.name}"
                whole.append(_Piece(_bytes(asked, sizes), number, number, [], (number, k), name))
    _place(whole)
    blocks: list[Block] = []
    for piece in whole:
        for life in piece.members:
            reuses = life.reuses.name if life.reuses is not None else None
            blocks.append(Block(life.buffer.name, piece.offset, piece.size, life.first, life.last, reuses, life.buffer))
        if not piece.members:
            blocks.append(Block(piece.name, piece.offset, piece.size, piece.first, piece.last, None, piece.key))
    blocks.sort(key=lambda block: (block.first, block.last, block.offset))
    return MemoryPlan(
        blocks=tuple(blocks),
        peak=max((piece.offset + _aligned(piece.size) for piece in whole), default=0),
        total_without_reuse=sum(_aligned(block.size) for block in blocks),
    )


class _Piece:
    """Memory to be placed: one buffer, or several that follow each other in place."""

    __slots__ = ("first", "key", "last", "members", "name", "offset", "size")

    def __init__(
        self, size: int, first: int, last: int, members: list[Lifetime], key: tuple[int, int] = (0, 0), name: str = ""
    ) -> None:
        self.size = size
        self.first = first
        self.last = last
        self.members = members
        self.key = key
        self.name = name
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


def _bytes(kind: Workspace | object, sizes: Mapping[str, int]) -> int:
    count = dtype_info(kind.dtype).bytes  # type: ignore[attr-defined]
    for size in kind.shape:  # type: ignore[attr-defined]
        count *= evaluate(size, sizes)
    return count


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
