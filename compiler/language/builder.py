"""Emits operations for the elaborator and keeps them few: constants live once at the top of a function, equal pure
operations are emitted once, and a pure operation lands in the outermost loop whose values it needs.

Doing this while building is cheaper than building more and cleaning up: every operation not made is 15 us saved.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from xdsl.ir import Attribute, Block, Operation, SSAValue

from compiler.language.dtypes import BOOL, INDEX, DType, register_type
from compiler.language.values import Simd


class Scope:
    """A block being filled. `barrier` scopes (the arms of an `if`) keep their operations: nothing is hoisted out."""

    __slots__ = ("barrier", "block", "depth", "table")

    def __init__(self, block: Block, depth: int, barrier: bool) -> None:
        self.block = block
        self.depth = depth
        self.barrier = barrier
        self.table: dict[Any, tuple[SSAValue, ...]] = {}


class Builder:
    """The insertion point, the scopes around it and the location new operations get."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.depths: dict[SSAValue, int] = {}
        self.constants: dict[Any, Simd] = {}
        self.last_constant: Operation | None = None
        self.file = ""
        self.line = 0
        self.provenance = 0
        self.literals: dict[SSAValue, Any] = {}  # the number behind each constant
        self.symbols: dict[str, Simd] = {}  # run-time sizes the function was given
        self.dims: dict[Any, Simd] = {}  # symbolic sizes already computed
        self.nonnegative: set[SSAValue] = set()  # positions known not to be below zero: cheaper division
        self.multiples: dict[SSAValue, int] = {}  # what positions are known to be multiples of
        self.state_alignment = False  # say how far vector accesses are aligned: GPUs need to be told
        self._locations: dict[tuple[str, int, int], FileLineColLoc] = {}

    def open(self, block: Block, *, barrier: bool = False) -> Scope:
        """Start filling `block`; its arguments belong to the new scope."""
        scope = Scope(block, len(self.scopes), barrier)
        self.scopes.append(scope)
        for argument in block.args:
            self.depths[argument] = scope.depth
        return scope

    def close(self) -> None:
        """Stop filling the innermost block."""
        self.scopes.pop()

    def location(self) -> FileLineColLoc:
        """The location of the source line being elaborated; its column is the provenance id."""
        key = (self.file, self.line, self.provenance)
        found = self._locations.get(key)
        if found is None:
            found = FileLineColLoc(StringAttr(self.file), IntAttr(self.line), IntAttr(self.provenance))
            self._locations[key] = found
        return found

    def emit(
        self,
        kind: type[Operation],
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: dict[str, Attribute] | None = None,
        **parts: Any,
    ) -> Operation:
        """Append an operation with effects (or regions) at the current place."""
        scope = self.scopes[-1]
        operation = kind.create(
            operands=operands, result_types=result_types, properties=properties or {}, location=self.location(), **parts
        )
        scope.block.add_op(operation)
        for result in operation.results:
            self.depths[result] = scope.depth
        return operation

    def pure(
        self,
        kind: type[Operation],
        operands: tuple[SSAValue, ...],
        result_type: Attribute,
        properties: dict[str, Attribute] | None = None,
        *,
        key: Any = None,
        speculate: bool = True,
    ) -> SSAValue:
        """The value of a pure operation: an equal one already in sight, or a new one as far out as its operands allow."""
        scopes = self.scopes
        level = len(scopes) - 1
        if speculate:
            needed = 0
            depths = self.depths
            for operand in operands:
                depth = depths[operand]
                if depth > needed:
                    needed = depth
            while level > needed and not scopes[level].barrier:
                level -= 1
        # Types are shared objects and values compare by identity, so ids serve and hash far faster.
        identity = (kind, id(result_type), key, *map(id, operands))
        for scope in scopes[: level + 1]:
            found = scope.table.get(identity)
            if found is not None:
                return found[0]
        scope = scopes[level]
        operation = kind.create(
            operands=operands, result_types=(result_type,), properties=properties or {}, location=self.location()
        )
        scope.block.add_op(operation)
        result = operation.results[0]
        self.depths[result] = level
        scope.table[identity] = (result,)
        return result

    def constant(self, dtype: DType, width: int, value: Any) -> Simd:
        """A constant of the function, emitted once at its top; `value` is a number or one number a lane."""
        # repr tells -0.0 from 0.0 and makes every NaN one constant.
        key = (dtype, width, repr(value))
        found = self.constants.get(key)
        if found is None:
            kind = register_type(dtype, width)
            operation = arith.ConstantOp.create(
                result_types=(kind,), properties={"value": constant_attribute(dtype, width, value)}
            )
            block = self.scopes[0].block
            if self.last_constant is not None:
                block.insert_op_after(operation, self.last_constant)
            elif block.first_op is not None:
                block.insert_op_before(operation, block.first_op)
            else:
                block.add_op(operation)
            self.last_constant = operation
            result = operation.results[0]
            self.depths[result] = 0
            found = self.constants[key] = Simd(result, dtype, width)
            self.literals[result] = value
            if dtype is INDEX and width == 1 and value >= 0:
                self.nonnegative.add(result)
        return found

    def index(self, value: int) -> Simd:
        """A constant position."""
        return self.constant(INDEX, 1, value)


def constant_attribute(dtype: DType, width: int, value: Any) -> Attribute:
    """The attribute of a constant: wrapped into the dtype's range for integers, rounded by the reader for floats."""
    element = register_type(dtype, 1)
    if width == 1 and not isinstance(value, tuple):
        if dtype.is_float:
            return FloatAttr(rounded(dtype, value), element)  # pyright: ignore[reportArgumentType]
        return IntegerAttr(wrapped(dtype, value), element)  # pyright: ignore[reportArgumentType]
    lanes = value if isinstance(value, tuple) else (value,)
    kind = register_type(dtype, width)
    assert isinstance(kind, VectorType)
    if dtype.is_float:
        return DenseIntOrFPElementsAttr.from_list(kind, [rounded(dtype, v) for v in lanes])
    return DenseIntOrFPElementsAttr.from_list(kind, [wrapped(dtype, v) for v in lanes])


def wrapped(dtype: DType, value: Any) -> int:
    """An integer as two's complement of the dtype's width; booleans are -1 and 0 as MLIR prints i1."""
    if dtype is BOOL:
        return -1 if value else 0
    bits = dtype.bits
    number = int(value) & (2**bits - 1)
    return number - 2**bits if number >= 2 ** (bits - 1) else number


def rounded(dtype: DType, value: Any) -> float:
    """A float rounded once to the dtype, so that printing and packing agree."""
    import numpy as np

    from compiler.graph.dtypes import numpy_dtype

    if dtype.name == "f64":
        return float(value)
    with np.errstate(over="ignore"):
        return float(np.array(float(value), dtype="float64").astype(numpy_dtype(dtype.name)))
