"""sroa: stack arrays that only constants index come apart into one small array for each piece that is used.

A piece is an element, or the elements that a vector is loaded from or stored to. Pieces that nobody reads go, with what
is stored there; the others are left to mem2reg.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IndexType, MemRefType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from compiler.dialects.operations import put_before
from compiler.passes.kernel.census import Census, constant_of, drop, put_constant

_LOADS, _STORES = (memref.LoadOp, vector.LoadOp), (memref.StoreOp, vector.StoreOp)


@dataclass(frozen=True)
class Access:
    """A load or store of one piece of a one-dimensional array."""

    operation: Operation
    start: int
    kind: Attribute
    """The type of what is loaded or stored."""

    @property
    def stores(self) -> bool:
        """Whether it writes."""
        return type(self.operation) in _STORES

    @property
    def width(self) -> int:
        """How many elements it is about."""
        kind = self.kind
        return kind.get_shape()[0] if isinstance(kind, VectorType) else 1


def accesses_of(alloca: memref.AllocaOp) -> list[Access] | None:
    """Everything that is done with an array; None where some of it is not a load or store of a known piece."""
    found: list[Access] = []
    for use in alloca.results[0].uses:
        operation = use.operation
        kind = type(operation)
        operands = operation._operands
        if kind in _LOADS and len(operands) == 2:
            held = operation.results[0].type
        elif kind in _STORES and use.index == 1 and len(operands) == 3:
            held = operands[0].type
        else:
            return None
        start = constant_of(operands[-1])
        if start is None or (isinstance(held, VectorType) and len(held.get_shape()) != 1):
            return None
        found.append(Access(operation, start, held))
    return found


def sroa(census: Census) -> int:
    """Take arrays apart; the number of operations taken out, less those put in."""
    removed = 0
    for alloca in list(census.allocas):
        if not census.is_gone(alloca):
            removed += _take_apart(alloca, census)
    return removed


def _take_apart(alloca: memref.AllocaOp, census: Census) -> int:
    kind = alloca.results[0].type
    if not isinstance(kind, MemRefType) or kind.get_num_dims() != 1 or kind.get_shape()[0] <= 1:
        return 0
    accesses = accesses_of(alloca)
    if not accesses:
        return 0
    (size,) = kind.get_shape()
    pieces: dict[tuple[int, int], list[Access]] = {}
    for access in accesses:
        if access.start < 0 or access.start + access.width > size:
            return 0
        pieces.setdefault((access.start, access.width), []).append(access)
    order = sorted(pieces)
    if any(start + width > following for (start, width), (following, _) in pairwise(order)):
        return 0  # a piece lies across others
    read = [piece for piece in order if any(not access.stores for access in pieces[piece])]
    if order == [(0, size)] and read:
        return 0  # in one piece already
    census.mark(alloca)
    census.edits += 1
    removed = 0
    for piece in order:
        if piece not in read:
            for access in pieces[piece]:
                drop(access.operation)
                removed += 1
    zero: SSAValue | None = None
    for piece in read:
        if zero is None:
            zero = put_constant(0, IndexType(), alloca)
            removed -= 1
        part = _part(alloca, kind, piece[1])
        census.allocas.append(part)
        removed -= 1
        for access in pieces[piece]:
            at = 1 if access.stores else 0
            access.operation.operands[at] = part.results[0]
            access.operation.operands[at + 1] = zero
    drop(alloca)
    return removed + 1


def _part(alloca: memref.AllocaOp, kind: MemRefType[Attribute], width: int) -> memref.AllocaOp:
    smaller = MemRefType(kind.element_type, [width], kind.layout, kind.memory_space)
    part = memref.AllocaOp.create(
        operands=[], result_types=[smaller], properties=dict(alloca.properties), attributes=dict(alloca.attributes),
        location=alloca.location,
    )  # fmt: skip
    part.results[0].name_hint = alloca.results[0].name_hint
    put_before(part, alloca)
    return part
