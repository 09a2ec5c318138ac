"""mem2reg: a piece of stack memory that is always loaded and stored whole becomes a value.

Through branches and loops as well: a branch that stores hands the value on as one more result, a loop as one more value
that it carries. Memory that may be read before anything is stored there stays, as does what is stored in other regions.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import memref, scf
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from compiler.dialects.operations import put_before
from compiler.passes.kernel.census import Census, drop
from compiler.passes.kernel.sroa import Access, accesses_of

_STRUCTURED = (scf.ForOp, scf.IfOp)


def mem2reg(census: Census) -> int:
    """Promote what can be promoted; the number of operations taken out."""
    removed = 0
    rebuilt: dict[Operation, Operation] = {}
    for alloca in census.allocas:
        if not census.is_gone(alloca):
            removed += _promote(alloca, census, rebuilt)
    if rebuilt:
        census.loops = [_newest(loop, rebuilt) for loop in census.loops]  # type: ignore[misc]
        census.branches = [_newest(branch, rebuilt) for branch in census.branches]  # type: ignore[misc]
    return removed


def _newest(operation: Operation, rebuilt: dict[Operation, Operation]) -> Operation:
    while operation in rebuilt:
        operation = rebuilt[operation]
    return operation


def _promote(alloca: memref.AllocaOp, census: Census, rebuilt: dict[Operation, Operation]) -> int:
    accesses = accesses_of(alloca)
    if not accesses or any((a.start, a.kind) != (accesses[0].start, accesses[0].kind) for a in accesses):
        return 0
    slot = _slot(alloca, accesses, rebuilt)
    if slot is None or slot.known_after(slot.home, known=False) is None:
        return 0
    census.mark(alloca)
    census.edits += 1
    slot.rewrite(slot.home, None)
    drop(alloca)
    return len(accesses) + 1 - slot.added


def _slot(alloca: memref.AllocaOp, accesses: list[Access], rebuilt: dict[Operation, Operation]) -> _Slot | None:
    """Where the memory is used, seen from the block that has it; None where that is not known."""
    home = alloca.parent
    assert home is not None
    slot = _Slot(home, accesses[0].kind, rebuilt)
    for access in accesses:
        slot.stores[access.operation] = access.stores
        at: Operation | None = access.operation
        while at is not None:
            block = at.parent
            assert block is not None
            listed = slot.steps.setdefault(block, set())
            if at in listed and at is not access.operation and (slot.stores[at] or not access.stores):
                break  # the rest of the way is known
            listed.add(at)
            slot.stores[at] = slot.stores.get(at, False) or access.stores
            if block is home:
                break
            at = at.parent_op()
        if at is None:
            return None
    return slot


@dataclass
class _Slot:
    """One piece of memory while it is promoted."""

    home: Block
    kind: Attribute
    rebuilt: dict[Operation, Operation]
    steps: dict[Block, set[Operation]] = field(default_factory=dict)
    """In each block the operations that access it, or have something inside that does."""
    stores: dict[Operation, bool] = field(default_factory=dict)
    """Whether such an operation writes, itself or inside."""
    added: int = 0
    _ends: dict[Block, bool] = field(default_factory=dict)

    def in_order(self, block: Block) -> list[Operation]:
        """The operations of a block that matter."""
        wanted = self.steps.get(block, set())
        found: list[Operation] = []
        operation = block._first_op
        while operation is not None and len(found) < len(wanted):
            if operation in wanted:
                found.append(operation)
            operation = operation._next_op
        return found

    def known_after(self, block: Block, *, known: bool) -> bool | None:
        """Whether the value is known at a block's end; None where memory is read that nobody is known to have written.

        Notes what it finds for each block, for the rewriting.
        """
        for operation in self.in_order(block):
            if not operation.regions:
                if self.stores[operation]:
                    known = True
                elif not known:
                    return None
                continue
            if self.stores[operation] and not isinstance(operation, _STRUCTURED):
                return None
            ends: list[bool] = []
            for region in operation.regions:
                for inner in region.blocks:
                    after = self.known_after(inner, known=known)
                    if after is None:
                        return None
                    ends.append(after)
            if isinstance(operation, scf.IfOp) and self.stores[operation] and not known:
                known = len(ends) == 2 and all(ends)
        self._ends[block] = known
        return known

    def rewrite(self, block: Block, value: SSAValue | None) -> SSAValue | None:
        """Replace loads by the value and drop stores; the value at the block's end."""
        for operation in self.in_order(block):
            if not operation.regions:
                if self.stores[operation]:
                    value = operation._operands[0]
                else:
                    assert value is not None
                    operation.results[0].replace_all_uses_with(value)
                drop(operation)
            elif not self.stores[operation]:
                for region in operation.regions:
                    for inner in region.blocks:
                        self.rewrite(inner, value)
            elif isinstance(operation, scf.IfOp):
                value = self._through_branch(operation, value)
            else:
                value = self._through_loop(operation, value)
        return value

    def _through_branch(self, branch: Operation, value: SSAValue | None) -> SSAValue | None:
        blocks = [region.blocks[0] for region in branch.regions if region.blocks]
        handed = value is not None or (len(blocks) == 2 and all(self._ends[block] for block in blocks))
        ends = [self.rewrite(block, value) for block in blocks]
        if not handed:
            return None
        regions = [branch.detach_region(0) for _ in range(len(branch.regions))]
        if not regions[1].blocks:
            regions[1] = Region(Block([scf.YieldOp.create(operands=[], location=branch.location)]))
            ends.append(value)
            self.added += 1
        for region, end in zip(regions, ends, strict=True):
            assert end is not None
            _hand_on(region.blocks[0], end)
        return self._rebuild(branch, list(branch.operands), regions)

    def _through_loop(self, loop: Operation, value: SSAValue | None) -> SSAValue | None:
        body = loop.regions[0].blocks[0]
        if value is None:
            self.rewrite(body, None)
            return None
        carried = body.insert_arg(self.kind, len(body.args))
        end = self.rewrite(body, carried)
        assert end is not None
        _hand_on(body, end)
        return self._rebuild(loop, [*loop.operands, value], [loop.detach_region(0)])

    def _rebuild(self, old: Operation, operands: list[SSAValue], regions: list[Region]) -> SSAValue:
        """The operation with one more result, which is the value after it."""
        made = type(old).create(
            operands=operands, result_types=[*(result.type for result in old.results), self.kind], regions=regions,
            properties=dict(old.properties), attributes=dict(old.attributes), location=old.location,
        )  # fmt: skip
        put_before(made, old)
        for before, after in zip(old.results, made.results, strict=False):
            after.name_hint = before.name_hint
            before.replace_all_uses_with(after)
        drop(old)
        self.rebuilt[old] = made
        return made.results[-1]


def _hand_on(block: Block, value: SSAValue) -> None:
    last = block.last_op
    assert last is not None
    last.operands = [*last.operands, value]
