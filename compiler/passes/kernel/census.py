"""One look at a kernel module before the kernel passes: what there is for each of them to do.

The elaborator folds, merges and hoists while it builds, so most passes find nothing; knowing that costs one walk, and
a pass with nothing to do costs nothing. What the passes share (constants, replacing, purity) is here as well.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import IsTerminator, is_side_effect_free, is_speculatable

from compiler.dialects.operations import operations_in, put_before


@dataclass
class Census:
    """The operations that passes may want to look at, and the functions that got new neighbours for old operations.

    Only those can hold equal operations or ones to hoist: the elaborator left none.
    """

    functions: dict[str, func.FuncOp] = field(default_factory=dict)
    calls: dict[str, list[func.CallOp]] = field(default_factory=dict)
    foldable: list[Operation] = field(default_factory=list)  # integer operations on constants, or on a 0 or 1
    loops: list[scf.ForOp] = field(default_factory=list)
    branches: list[scf.IfOp] = field(default_factory=list)
    allocas: list[memref.AllocaOp] = field(default_factory=list)
    operations: int = 0
    changed: dict[int, func.FuncOp] = field(default_factory=dict)
    numbers: dict[int, int] = field(default_factory=dict)  # id of a constant's result -> its number
    edits: int = 0  # grows with every change that a pass makes
    gone: set[int] = field(default_factory=set)  # ids of operations that went with one around them

    def mark(self, operation: Operation) -> None:
        """Note that the function around an operation has changed."""
        function = enclosing_function(operation)
        if function is not None:
            self.changed[id(function)] = function

    def is_gone(self, operation: Operation) -> bool:
        """Whether a pass has already taken an operation out."""
        return operation.parent is None or id(operation) in self.gone

    def discard(self, operation: Operation) -> int:
        """Note that an operation is about to go with all that is in it; how many operations that are."""
        going = [operation, *operations_in(operation)]
        self.gone.update(map(id, going))
        return len(going)

    def enlist(self, block: Block) -> None:
        """Take in the operations of a block that is new."""
        operations = self.operations
        _look(block, self)
        self.operations = operations


def take_census(module: ModuleOp) -> Census:
    """Walk the module once."""
    census = Census()
    for operation in module.body.block.ops:
        census.operations += 1
        if isinstance(operation, func.FuncOp):
            census.functions[operation.sym_name.data] = operation
            block = operation.body._first_block
            if block is not None:
                _look(block, census)
    return census


def _look(block: Block, census: Census) -> None:
    count = 0
    numbers = census.numbers
    operation = block._first_op
    while operation is not None:
        count += 1
        kind = type(operation)
        if kind in _BINARY:
            first, second = operation._operands
            left, right = numbers.get(id(first)), numbers.get(id(second))
            if left is not None:
                if right is not None or left in _NEUTRAL:
                    census.foldable.append(operation)
            elif right is not None and right in _NEUTRAL:
                census.foldable.append(operation)
        elif kind is arith.ConstantOp:
            held = operation.properties["value"]
            if type(held) is IntegerAttr:
                (result,) = operation.results
                numbers[id(result)] = held.value.data
        elif kind is func.CallOp:
            census.calls.setdefault(operation.properties["callee"].string_value(), []).append(operation)  # type: ignore
        elif kind is arith.SelectOp:
            first, *_ = operation._operands
            if id(first) in numbers:
                census.foldable.append(operation)
        elif kind is memref.AllocaOp:
            census.allocas.append(operation)  # type: ignore[arg-type]
        elif operation.regions:
            if kind is scf.ForOp:
                census.loops.append(operation)  # type: ignore[arg-type]
            elif kind is scf.IfOp:
                census.branches.append(operation)  # type: ignore[arg-type]
            for region in operation.regions:
                inner = region._first_block
                while inner is not None:
                    _look(inner, census)
                    inner = inner._next_block
        operation = operation._next_op
    census.operations += count


_BINARY = frozenset({
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.CmpiOp, arith.MinSIOp,
    arith.MaxSIOp, arith.MinUIOp, arith.MaxUIOp, arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp,
    arith.ShLIOp, arith.ShRUIOp, arith.ShRSIOp,
})  # fmt: skip


_NEUTRAL = (0, 1, -1)  # what identities are about; a true bit is -1


def constant_of(value: SSAValue) -> Any:
    """The number behind a scalar constant, else None."""
    if type(value) is OpResult and type(value.op) is arith.ConstantOp:
        held = value.op.properties["value"]
        if isinstance(held, (IntegerAttr, FloatAttr)):
            return held.value.data
    return None


def enclosing_function(operation: Operation) -> func.FuncOp | None:
    """The function an operation stands in."""
    at: Operation | None = operation
    while at is not None and not isinstance(at, func.FuncOp):
        at = at.parent_op()
    return at


def replace(operation: Operation, values: list[SSAValue]) -> None:
    """Let other values take the place of an operation's results, and take it out."""
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    drop(operation)


def drop(operation: Operation) -> None:
    """Take out an operation whose results nobody uses."""
    operation.detach()
    operation.erase()


def put_constant(number: int, kind: Any, place: Operation) -> SSAValue:
    """A number as a constant of an integer type, before an operation and of the same source line."""
    made = arith.ConstantOp.create(
        result_types=[kind], properties={"value": IntegerAttr(number, kind)}, location=place.location
    )
    return put_before(made, place).results[0]


def splice(block: Block, before: Operation, arguments: list[SSAValue]) -> list[SSAValue]:
    """Move a block's operations before `before`, with values for its arguments; what its terminator hands over."""
    for argument, value in zip(block.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    target = before.parent
    assert target is not None
    last = block.last_op
    assert last is not None
    handed = list(last.operands)
    drop(last)
    operation = block.first_op
    while operation is not None:
        following = operation.next_op
        operation.detach()
        target.insert_op_before(operation, before)
        operation = following
    return handed


_PURE: dict[type[Operation], bool] = {}
_SPECULATABLE: dict[type[Operation], bool] = {}


def is_pure(operation: Operation) -> bool:
    """Whether equal operations may be merged and unused ones dropped."""
    kind = type(operation)
    known = _PURE.get(kind)
    if known is None:
        held = operation.regions or operation.has_trait(IsTerminator) or kind is func.CallOp
        known = _PURE[kind] = not held and bool(operation.results) and is_side_effect_free(operation)
    return known


def may_run_early(operation: Operation) -> bool:
    """Whether an operation may run where it would not have run."""
    kind = type(operation)
    known = _SPECULATABLE.get(kind)
    if known is None:
        divides = kind in (arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp)
        known = _SPECULATABLE[kind] = is_pure(operation) and not divides and is_speculatable(operation)
    return known
