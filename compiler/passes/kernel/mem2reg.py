"""mem2reg: stack arrays whose elements are only ever named by constants become values, element by element (SROA).

Stores must stand in one block; a load there, or in something nested there, reads what was stored last before it.
"""

from __future__ import annotations

from xdsl.dialects import memref
from xdsl.ir import Block, Operation, SSAValue

from compiler.passes.kernel.census import Census, constant_of

_LOAD, _STORE = memref.LoadOp, memref.StoreOp


def mem2reg(census: Census) -> int:
    """Promote what can be promoted; the number of operations taken out."""
    return sum(_promote(alloca, census) for alloca in census.allocas if not census.is_gone(alloca))


def _promote(alloca: memref.AllocaOp, census: Census) -> int:
    accesses: dict[Operation, int] = {}
    for use in alloca.results[0].uses:
        operation = use.operation
        loads = type(operation) is _LOAD and len(operation.operands) == 2
        stores = type(operation) is _STORE and use.index == 1 and len(operation.operands) == 3
        where = constant_of(operation.operands[-1]) if loads or stores else None
        if where is None:
            return 0
        accesses[operation] = where
    blocks = {id(op.parent): op.parent for op in accesses if type(op) is _STORE}
    if len(blocks) > 1 or not accesses:
        return 0
    home = next(iter(blocks.values()), None)
    if home is None:
        return 0
    found = _values(home, accesses)
    if found is None:
        return 0
    census.mark(alloca)
    for load, value in found:
        load.results[0].replace_all_uses_with(value)
    for operation in (*accesses, alloca):
        operation.detach()
        operation.erase()
    return len(accesses) + 1


def _values(home: Block, accesses: dict[Operation, int]) -> list[tuple[Operation, SSAValue]] | None:
    """What each load reads; None when one may read what is not known here."""
    at: dict[Operation, list[Operation]] = {}  # operation of the block -> accesses in it
    for operation in accesses:
        anchor: Operation | None = operation
        while anchor is not None and anchor.parent is not home:
            anchor = anchor.parent_op()
        if anchor is None:
            return None
        at.setdefault(anchor, []).append(operation)
    held: dict[int, SSAValue] = {}
    read: list[tuple[Operation, SSAValue]] = []
    renamed: dict[SSAValue, SSAValue] = {}
    operation = home.first_op
    while operation is not None:
        for access in at.get(operation, ()):
            element = accesses[access]
            if type(access) is _STORE:
                stored = access.operands[0]
                held[element] = renamed.get(stored, stored)
            elif element in held:
                read.append((access, held[element]))
                renamed[access.results[0]] = held[element]
            else:
                return None
        operation = operation.next_op
    return read
