"""Emits operations for the elaborator and keeps them few: constants live once at the top of a function, equal pure
operations are emitted once, and a pure operation lands in the outermost loop whose values it needs.

Doing this while building is cheaper than building more and cleaning up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FloatAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from compiler.dialects import operations
from compiler.errors import KernelError
from compiler.language.limits import MAX_OPERATIONS
from compiler.language.values.dtypes import BOOL, INDEX, DType, register_type
from compiler.language.values.records import Simd

_ATTRIBUTES: dict[Any, Attribute] = {}  # of constants, by dtype, width and text: the same few recur in every kernel
_MOST_ATTRIBUTES = 1 << 14


@dataclass(slots=True, eq=False)
class Scope:
    """A block being filled. `barrier` scopes (the arms of an `if`) keep their operations: nothing is hoisted out."""

    block: Block
    depth: int
    barrier: bool
    table: dict[Any, SSAValue] = field(default_factory=dict)


class Builder:
    """The insertion point, the scopes around it and the location new operations get."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.depths: dict[int, int] = {}  # id of a value -> the scope it belongs to; blocks keep values alive
        self.constants: dict[Any, Simd] = {}
        self.last_constant: Operation | None = None
        self.file = ""
        self.line = 0
        self.provenance = 0
        # By the id of a value, as xDSL hashes in Python; each holds on to its values, so that no id comes back.
        self.literals: dict[int, Any] = {}  # the number behind each constant
        self.symbols: dict[str, Simd] = {}  # run-time sizes the function was given
        self.dims: dict[Any, Simd] = {}  # symbolic sizes computed where the whole function sees them
        self.nonnegative: dict[int, SSAValue] = {}  # positions known not to be below zero: cheaper division
        self.lanes: dict[int, tuple[SSAValue, int, SSAValue]] = {}  # scalars that are a lane of a vector
        self.multiples: dict[SSAValue, int] = {}  # what positions are known to be multiples of
        self.state_alignment = False  # say how far vector accesses are aligned: GPUs need to be told
        self.operations = 0
        self.stack_bytes = 0
        self.effects = False  # whether a call of this function does more than give a value
        self.read_only: dict[int, SSAValue] = {}  # buffers of the kernel's inputs, which it may not write
        self.sources: dict[int, SSAValue] = {}  # by the id of a buffer that shows another's memory: that one
        self.written: dict[int, bool] = {}  # by the id of a buffer: stored to (True), or its address was taken
        self.traps = False  # whether a call of this function may trap, so that it must not be moved

    def open(self, block: Block, *, barrier: bool = False) -> Scope:
        """Start filling `block`; its arguments belong to the new scope."""
        scope = Scope(block, len(self.scopes), barrier)
        self.scopes.append(scope)
        for argument in block.args:
            self.depths[id(argument)] = scope.depth
        return scope

    def close(self) -> None:
        """Stop filling the innermost block."""
        self.scopes.pop()

    def location(self) -> FileLineColLoc:
        """The location of the source line being elaborated; its column is the provenance id."""
        return file_location(self.file, self.line, self.provenance)

    def emit(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        result_types: tuple[Attribute, ...],
        properties: Mapping[str, Attribute] | None = None,
        regions: tuple[Region, ...] = (),
        attributes: dict[str, Attribute] | None = None,
    ) -> Operation:
        """Append an operation with effects (or regions) at the current place."""
        scope = self.scopes[-1]
        where = file_location(self.file, self.line, self.provenance)
        operation = operations.make(kind, operands, result_types, properties, where, regions)
        operations.append(scope.block, operation)
        if attributes:
            operation.attributes = attributes
        for result in operation.results:
            self.depths[id(result)] = scope.depth
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise _too_many()
        return operation

    def pure(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        result_type: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        key: Any = None,
        *,
        speculate: bool = True,
    ) -> SSAValue:
        """The value of a pure operation: an equal one already in sight, or a new one as far out as its operands allow.

        `key` tells apart operations that differ in their properties only. What may trap is not to be speculated.
        """
        scopes = self.scopes
        depths = self.depths
        needed = 0
        for operand in operands:
            depth = depths[id(operand)]
            if depth > needed:
                needed = depth
        level = len(scopes) - 1
        if speculate:
            while level > needed and not scopes[level].barrier:
                level -= 1
        else:
            self.traps = True
        # Types are shared objects and values compare by identity, so ids serve and hash far faster.
        identity = (kind, id(result_type), key, *map(id, operands))
        for scope in scopes[needed : level + 1]:  # an equal one is where its operands are, or further in
            found = scope.table.get(identity)
            if found is not None:
                return found
        scope = scopes[level]
        where = file_location(self.file, self.line, self.provenance)
        operation = operations.make(kind, operands, (result_type,), properties, where)
        operations.append(scope.block, operation)
        (result,) = operation.results
        scope.table[identity] = result
        depths[id(result)] = level
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise _too_many()
        return result

    def constant(self, dtype: DType, width: int, value: Any) -> Simd:
        """A constant of the function, emitted once at its top; `value` is a number or one number a lane."""
        # repr tells -0.0 from 0.0 and makes every NaN one constant; an int is as good as its repr, which True is not.
        key = (dtype, width, value if type(value) is int else repr(value))
        found = self.constants.get(key)
        if found is None and not self.scopes:
            raise KernelError("values are computed in the body of a kernel, not in its signature")
        if found is None:
            attribute = _ATTRIBUTES.get(key)
            if attribute is None:
                if len(_ATTRIBUTES) > _MOST_ATTRIBUTES:
                    _ATTRIBUTES.clear()
                attribute = _ATTRIBUTES[key] = constant_attribute(dtype, width, value)
            operation = operations.make(arith.ConstantOp, (), (register_type(dtype, width),), {"value": attribute})
            block = self.scopes[0].block
            if self.last_constant is not None:
                block.insert_op_after(operation, self.last_constant)
            elif block.first_op is not None:
                block.insert_op_before(operation, block.first_op)
            else:
                block.add_op(operation)
            self.last_constant = operation
            (result,) = operation.results
            self.depths[id(result)] = 0
            found = self.constants[key] = Simd(result, dtype, width)
            self.literals[id(result)] = value
            if dtype is INDEX and width == 1 and value >= 0:
                self.nonnegative[id(result)] = result
        return found

    def index(self, value: int) -> Simd:
        """A constant position."""
        return self.constant(INDEX, 1, value)


def _too_many() -> KernelError:
    return KernelError(f"a function of more than {MAX_OPERATIONS} operations; use run-time loops")


@lru_cache(maxsize=1 << 15)
def file_location(file: str, line: int, provenance: int) -> FileLineColLoc:
    """A location; making one takes longer than making the operation that bears it."""
    return FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(provenance))


def constant_attribute(dtype: DType, width: int, value: Any) -> Attribute:
    """The attribute of a constant: two's complement for integers, rounded once for floats."""
    element = register_type(dtype, 1)
    convert = rounded if dtype.is_float else wrapped
    if width == 1 and not isinstance(value, tuple):
        make = FloatAttr if dtype.is_float else IntegerAttr
        return make(convert(dtype, value), element)  # pyright: ignore[reportArgumentType, reportCallIssue]
    kind = register_type(dtype, width)
    assert isinstance(kind, VectorType)
    lanes = value if isinstance(value, tuple) else (value,)
    return DenseIntOrFPElementsAttr.from_list(kind, [convert(dtype, lane) for lane in lanes])


def wrapped(dtype: DType, value: Any) -> int:
    """An integer as two's complement of the dtype's width; booleans are -1 and 0 as MLIR prints i1."""
    if dtype is BOOL:
        return -1 if value else 0
    number, bits = int(value), dtype.bits
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise KernelError(f"{number} does not fit {dtype.name}")
    return number - (1 << bits) if number >= 1 << (bits - 1) else number


def rounded(dtype: DType, value: Any) -> float:
    """A float rounded once to the dtype, so that printing and packing agree."""
    import numpy as np

    from compiler.graph.dtypes import numpy_dtype

    if dtype.name == "f64":
        return float(value)
    with np.errstate(over="ignore"):
        return float(np.array(float(value), dtype="float64").astype(numpy_dtype(dtype.name)))
