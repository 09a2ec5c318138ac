"""Short ways through xDSL's operations: to a new one at the end of a block, through all of them, and to be rid of them.

`Operation.create` followed by `Block.add_op` takes 11 us, most of it checks whose outcome is known here: the operation
is new, has no successors, and the block is not inside it. This does the same writes in 3 us. The test of this module
holds both ways against each other field by field, so that a change in xDSL is noticed.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import LocationAttr, UnknownLoc
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OptionalDef

_NOWHERE = UnknownLoc()
_NO_VALUES: Any = SSAValues(())
_DEFAULTS: dict[type[Operation], dict[str, Attribute]] = {}


def make(
    kind: type[Operation],
    operands: tuple[SSAValue, ...],
    result_types: tuple[Any, ...],
    properties: Mapping[str, Attribute] | None = None,
    location: LocationAttr = _NOWHERE,
    regions: tuple[Region, ...] = (),
) -> Operation:
    """A new operation, in no block yet."""
    operation: Any = kind.__new__(kind)
    uses: list[Use] = []
    for number, operand in enumerate(operands):
        use = Use(operation, number)
        following = operand.first_use
        if following is not None:
            use._next_use = following
            following._prev_use = use
        operand.first_use = use
        uses.append(use)
    defaults = _DEFAULTS.get(kind)
    if defaults is None:
        defaults = _defaults(kind)
    operation._operands = SSAValues(operands)
    operation._operand_uses = tuple(uses)
    if len(result_types) == 1:
        operation.results = SSAValues((OpResult(result_types[0], operation, 0),))
    else:
        operation.results = SSAValues([OpResult(result, operation, k) for k, result in enumerate(result_types)])
    operation.properties = {**defaults, **properties} if properties else defaults.copy()
    operation.attributes = {}
    operation.location = location
    operation._successors = operation._successor_uses = ()
    operation.regions = regions
    for region in regions:
        region.parent = operation
    operation.parent = operation._prev_op = operation._next_op = None
    return operation


def take_place(old: Operation, kind: type[Operation], properties: Mapping[str, Attribute] | None = None) -> Operation:
    """A new operation with the operands, the results and the place of another, which is used up; neither has regions.

    Nothing that uses the results is looked at: they are the same values, of another operation.
    """
    new = make(kind, (), (), properties, old.location)
    new._operands, new._operand_uses = old._operands, old._operand_uses
    for use in new._operand_uses:
        use._operation = new
    new.results = old.results
    for result in new.results:
        result.op = new
    before, after = old._prev_op, old._next_op
    new.parent, new._prev_op, new._next_op = old.parent, before, after
    if before is not None:
        before._next_op = new
    elif new.parent is not None:
        new.parent._first_op = new
    if after is not None:
        after._prev_op = new
    elif new.parent is not None:
        new.parent._last_op = new
    old.parent = old._prev_op = old._next_op = None
    old._operands = old.results = _NO_VALUES
    old._operand_uses = ()
    return new


def append(block: Block, operation: Operation) -> None:
    """Make an operation that is in no block the last of this one."""
    operation.parent = block
    last = operation._prev_op = block._last_op
    if last is None:
        block._first_op = operation
    else:
        last._next_op = operation
    block._last_op = operation


def put_before(made: Operation, place: Operation) -> Operation:
    """Put a new operation before another."""
    block = place.parent
    assert block is not None
    block.insert_op_before(made, place)
    return made


def operations_in(root: Operation) -> list[Operation]:
    """The operations below `root`, each before what is in it."""
    found: list[Operation] = []
    _add_operations(root, found)
    return found


def _add_operations(root: Operation, found: list[Operation]) -> None:
    for region in root.regions:
        block = region._first_block
        while block is not None:
            operation = block._first_op
            while operation is not None:
                found.append(operation)
                if operation.regions:
                    _add_operations(operation, found)
                operation = operation._next_op
            block = block._next_block


def count_operations(root: Operation) -> int:
    """How many operations there are below `root`."""
    return len(operations_in(root))


def release(operation: Operation) -> None:
    """Take apart what is inside an operation that nobody will look into again.

    Operations, their values and their uses point at each other, so that only Python's collector of cycles would free
    them: much later, and in four times the time that this takes.
    """
    for region in operation.regions:
        block = region._first_block
        while block is not None:
            inner = block._first_op
            while inner is not None:
                following = inner._next_op
                if inner.regions:
                    release(inner)
                for use in inner._operand_uses:
                    use._prev_use = use._next_use = None
                inner.parent = inner._prev_op = inner._next_op = None
                inner._operands = inner.results = _NO_VALUES
                inner._operand_uses = ()
                inner = following
            block._first_op = block._last_op = block.parent = None
            block._args = ()
            following_block = block._next_block
            block._prev_block = block._next_block = None
            block = following_block
        region._first_block = region._last_block = region.parent = None


def _defaults(kind: type[Operation]) -> dict[str, Attribute]:
    """The properties an operation has when nothing is said about them."""
    known: dict[str, Attribute] = {}
    if issubclass(kind, IRDLOperation):
        for name, definition in kind.get_irdl_definition().properties.items():
            if not isinstance(definition, OptionalDef) and definition.default_value is not None:
                known[name] = definition.default_value
    _DEFAULTS[kind] = known
    return known
