"""Loads and stores that a kernel issues, counted by walking its IR with the sizes filled in; nothing is executed.

Only numbers that decide control flow are followed. A loop whose trips all do the same is counted once and multiplied.
Traffic to the kernel's own stack is left out: what is counted is traffic to its arguments.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from compiler.passes.kernel.lower_kgen import TAKE

_MOST_STEPS = 35_000
"""Blocks walked before long loops are sampled in place of being walked trip by trip."""
_SAMPLED, _FEWEST = 9, 3
"""Trips of a loop that are sampled, and past that number of blocks: nested loops multiply."""


class Varies(Exception):
    """Control flow depends on a loop's counter: the loop has to be walked trip by trip."""


class DependsOnData(Exception):
    """Control flow depends on what memory holds: no count can be had without running."""


class _Unknown:
    """A number that is not followed: a loop's counter, or something that comes from memory."""

    def __init__(self, reason: type[Exception]) -> None:
        self.reason = reason


_COUNTER, _DATA = _Unknown(Varies), _Unknown(DependsOnData)
_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add, "arith.subi": operator.sub, "arith.muli": operator.mul, "arith.minsi": min,
    "arith.maxsi": max, "arith.minui": min, "arith.maxui": max, "arith.andi": operator.and_, "arith.ori": operator.or_,
    "arith.xori": operator.xor, "arith.shli": operator.lshift, "arith.shrsi": operator.rshift,
    "arith.shrui": operator.rshift,
}  # fmt: skip
_DIVIDES: dict[str, Callable[[int, int], int]] = {
    "arith.divui": operator.floordiv, "arith.floordivsi": operator.floordiv, "arith.remui": operator.mod,
    "arith.divsi": lambda a, b: _cut(a, b), "arith.ceildivsi": lambda a, b: -(-a // b),
    "arith.ceildivui": lambda a, b: -(-a // b), "arith.remsi": lambda a, b: a - b * _cut(a, b),
}  # fmt: skip
_COMPARES = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.lt, operator.le,
             operator.gt, operator.ge)  # fmt: skip
_CASTS = frozenset({"arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.trunci"})


def _cut(a: int, b: int) -> int:
    """a / b, cut towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@dataclass(frozen=True, slots=True)
class _Step:
    """An op of a block, with what is asked of it on every walk looked up once."""

    name: str
    op: Operation
    operands: tuple[SSAValue, ...]
    result: SSAValue | None


@dataclass(frozen=True)
class Traffic:
    """Bytes loaded and stored by one launch on one thread, None where that depends on data; `note` says how sure."""

    loads: int | None
    stores: int | None
    note: str


def count_traffic(function: Operation, sizes: Sequence[int], functions: Mapping[str, Operation]) -> Traffic:
    """Count for a kernel's entry function whose last arguments are `sizes`."""
    block = function.regions[0].blocks[0]
    values: dict[SSAValue, Any] = {}
    arguments = list(block.args)
    numbers: list[Any] = [0, 1, None]
    buffers = len(arguments) - 3 - len(sizes)
    for argument, value in zip(arguments, [*numbers, *["argument"] * buffers, *sizes], strict=True):
        values[argument] = value
    walk = Walk(functions)
    try:
        loads, stores = walk.block(block, values)
    except (DependsOnData, Varies):
        return Traffic(None, None, "depends on the data")
    return Traffic(int(loads), int(stores), "exact" if walk.exact else "estimated from some of the trips")


class Walk:
    """Walks of one kernel; on a GPU, places are the numbers of the thread and its block, by op and dimension."""

    def __init__(self, functions: Mapping[str, Operation]) -> None:
        self._functions = functions
        self._relevant: dict[Block, list[_Step]] = {}
        self.steps = 0  # blocks of IR walked since the last move
        self.exact = True
        self._places: dict[tuple[str, str], int] = {}

    def move(self, places: dict[tuple[str, str], int]) -> None:
        """Walk as another thread from now on."""
        self._places = places
        self.steps = 0

    def block(self, block: Block, values: dict[SSAValue, Any]) -> tuple[float, float]:
        """Loads and stores of one walk through a block."""
        self.steps += 1
        loads = stores = 0.0
        for step in self._steps_of(block):
            name = step.name
            if name in ("vector.load", "memref.load"):
                assert step.result is not None
                if values.get(step.operands[0]) == "argument":
                    loads += _bytes(step.result.type)
                values[step.result] = _DATA
            elif name in ("vector.store", "memref.store"):
                if values.get(step.operands[1]) == "argument":
                    stores += _bytes(step.operands[0].type)
            elif name == "memref.view":  # another look at the same memory
                assert step.result is not None
                values[step.result] = values.get(step.operands[0], _DATA)
            elif step.op.regions or name == "func.call":
                more_loads, more_stores = self._nested(step.op, values)
                loads, stores = loads + more_loads, stores + more_stores
            elif step.result is not None:
                values[step.result] = self._number(step, values)
        return loads, stores

    def _steps_of(self, block: Block) -> list[_Step]:
        """The ops that matter: memory, control, and whole numbers."""
        found = self._relevant.get(block)
        if found is None:
            kept = [op for op in block.ops if op.regions or op.name == "func.call" or _memory(op) or _whole(op)]
            found = [_Step(op.name, op, tuple(op.operands), op.results[0] if op.results else None) for op in kept]
            self._relevant[block] = found
        return found

    def _number(self, step: _Step, values: dict[SSAValue, Any]) -> Any:
        """What a whole number comes to, as far as it is followed."""
        name, op = step.name, step.op
        if name == "arith.constant":
            value = op.properties["value"]
            return value.value.data if isinstance(value, IntegerAttr) else _DATA
        operands = [values.get(operand, _DATA) for operand in step.operands]
        for operand in operands:
            if not isinstance(operand, int):
                return _DATA if any(x is _DATA for x in operands) or _COUNTER not in operands else _COUNTER
        if name in _ARITHMETIC:
            return _ARITHMETIC[name](operands[0], operands[1])
        if name in _DIVIDES:
            return _DIVIDES[name](operands[0], operands[1]) if operands[1] else _DATA
        if name == "arith.cmpi":
            predicate: Any = op.properties["predicate"]
            return int(_COMPARES[predicate.value.data](operands[0], operands[1]))
        if name == "arith.select":
            return operands[1] if operands[0] else operands[2]
        if name in _CASTS:
            return operands[0]
        kind = step.result.type if step.result else None
        if name == "math.ctlz" and isinstance(kind, IntegerType):
            return kind.width.data - operands[0].bit_length()
        if name.startswith("gpu."):
            dimension: Any = op.properties.get("dimension")
            axis = "" if dimension is None else str(dimension.data).rpartition(".")[2].lower()
            return self._places.get((name, axis), _DATA)
        return _DATA

    def _nested(self, op: Operation, values: dict[SSAValue, Any]) -> tuple[float, float]:
        if op.name == "scf.for":
            return self._for(op, values)
        if op.name == "scf.if":
            return self._if(op, values)
        if op.name == "scf.while":
            return self._while(op, values)
        if op.name == "func.call":
            return self._call(op, values)
        raise DependsOnData

    def _call(self, op: Operation, values: dict[SSAValue, Any]) -> tuple[float, float]:
        callee: Any = op.properties["callee"]
        for result in op.results:
            values[result] = _DATA
        if callee.root_reference.data == TAKE:  # one thread gets all there is, and then nothing
            items, _, before = [values.get(operand, _DATA) for operand in op.operands[3:]]
            first = before if not isinstance(before, int) else items if before < 0 else 0
            values.update(zip(op.results, (0, first)))
            return 0.0, 0.0
        function = self._functions.get(callee.root_reference.data)
        if function is None or not function.regions[0].blocks:
            return 0.0, 0.0
        block = function.regions[0].blocks[0]
        whole = any(_is_whole(result.type) for result in op.results)
        if not whole and not any(isinstance(a.type, MemRefType) for a in block.args):
            return 0.0, 0.0
        inner: dict[SSAValue, Any] = {a: values.get(v, _DATA) for a, v in zip(block.args, op.operands)}
        counts = self.block(block, inner)
        if whole and block.last_op is not None:
            values.update(zip(op.results, [inner.get(operand, _DATA) for operand in block.last_op.operands]))
        return counts

    def _for(self, op: Operation, values: dict[SSAValue, Any]) -> tuple[float, float]:
        bounds = [values.get(operand, _DATA) for operand in op.operands[:3]]
        for bound in bounds:
            if isinstance(bound, _Unknown):
                raise bound.reason
        low, high, step = bounds
        block = op.regions[0].blocks[0]
        trips = max(-(-(high - low) // step), 0) if step > 0 else 0
        carried = [values.get(operand, _DATA) for operand in op.operands[3:]]
        if trips == 0:
            values.update(zip(op.results, carried))
            return 0.0, 0.0
        try:
            inner = dict(values)
            inner[block.args[0]] = _COUNTER
            for argument in block.args[1:]:
                inner[argument] = _COUNTER if _is_whole(argument.type) else _DATA
            loads, stores = self.block(block, inner)
            values.update(zip(op.results, [_DATA] * len(op.results)))
            return loads * trips, stores * trips
        except Varies:
            return self._trip_by_trip(op, block, range(low, high, step), carried, values)

    def _trip_by_trip(
        self, op: Operation, block: Block, trips: range, carried: list[Any], values: dict[SSAValue, Any]
    ) -> tuple[float, float]:
        few = self.steps + len(trips) <= _MOST_STEPS
        begun, last = self.steps, block.last_op
        loads = stores = 0.0
        for number, trip in enumerate(trips if few else ()):
            inner = self._trip(block, trip, carried, values)
            more_loads, more_stores = self.block(block, inner)
            loads, stores = loads + more_loads, stores + more_stores
            if last is not None:
                carried = [inner.get(operand, _DATA) for operand in last.operands]
            if number == 0 and begun + (self.steps - begun) * len(trips) > _MOST_STEPS:
                few = False  # one trip has shown what all of them would take
                break
        if not few:
            carried = [_DATA] * len(carried)
            loads, stores = self._sampled(block, trips, carried, values)
        values.update(zip(op.results, carried))
        return loads, stores

    def _sampled(
        self, block: Block, trips: range, carried: list[Any], values: dict[SSAValue, Any]
    ) -> tuple[float, float]:
        """The first trip and the last, which are those at an edge, and some between that stand for the others."""
        self.exact = False
        most = _SAMPLED if self.steps <= _MOST_STEPS else _FEWEST
        between, count = trips[1:-1], most - 2
        some = between if len(between) <= count else [between[len(between) * k // count] for k in range(count)]
        walk = lambda trip: self.block(block, self._trip(block, trip, carried, values))  # noqa: E731
        ends = [walk(trip) for trip in dict.fromkeys((trips[0], trips[-1]))]
        inside = [walk(trip) for trip in some]
        scale = len(between) / len(inside) if inside else 0.0
        loads, stores = (sum(x[k] for x in ends) + scale * sum(x[k] for x in inside) for k in (0, 1))
        return loads, stores

    def _trip(self, block: Block, trip: int, carried: list[Any], values: dict[SSAValue, Any]) -> dict[SSAValue, Any]:
        inner = dict(values)
        inner[block.args[0]] = trip
        inner.update(zip(block.args[1:], carried))
        return inner

    def _if(self, op: Operation, values: dict[SSAValue, Any]) -> tuple[float, float]:
        condition = values.get(op.operands[0], _DATA)
        branches = [region.blocks[0] if region.blocks else None for region in op.regions]
        if isinstance(condition, int):
            chosen = branches[0] if condition else branches[1] if len(branches) > 1 else None
            if chosen is None:
                return 0.0, 0.0
            inner = dict(values)
            counts = self.block(chosen, inner)
            last = chosen.last_op
            values.update(zip(op.results, [inner.get(x, _DATA) for x in last.operands] if last else []))
            return counts
        counts = [self.block(branch, dict(values)) if branch is not None else (0.0, 0.0) for branch in branches]
        values.update(zip(op.results, [condition] * len(op.results)))
        if len({*counts}) > 1 or len(counts) < len(op.regions):
            if condition is _COUNTER:
                raise Varies
            self.exact = False
        return max((x for x, _ in counts), default=0.0), max((x for _, x in counts), default=0.0)

    def _while(self, op: Operation, values: dict[SSAValue, Any]) -> tuple[float, float]:
        before, after = op.regions[0].blocks[0], op.regions[1].blocks[0]
        carried = [values.get(operand, _DATA) for operand in op.operands]
        loads = stores = 0.0
        turns = 0
        while True:
            turns += 1
            if self.steps > _MOST_STEPS and turns > _FEWEST:
                raise DependsOnData
            inner = dict(values) | dict(zip(before.args, carried))
            counts = self.block(before, inner)
            loads, stores = loads + counts[0], stores + counts[1]
            condition = before.last_op
            assert condition is not None
            going = inner.get(condition.operands[0], _DATA)
            if isinstance(going, _Unknown):
                raise going.reason
            passed = [inner.get(operand, _DATA) for operand in condition.operands[1:]]
            if not going:
                values.update(zip(op.results, passed))
                return loads, stores
            inner = dict(values) | dict(zip(after.args, passed))
            counts = self.block(after, inner)
            loads, stores = loads + counts[0], stores + counts[1]
            last = after.last_op
            carried = [inner.get(operand, _DATA) for operand in last.operands] if last else []


def _memory(op: Operation) -> bool:
    return op.name in ("vector.load", "memref.load", "vector.store", "memref.store", "memref.view")


def _is_whole(kind: Any) -> bool:
    return isinstance(kind, IndexType | IntegerType)


def _whole(op: Operation) -> bool:
    return len(op.results) == 1 and _is_whole(op.results[0].type)


def _bytes(kind: Any) -> int:
    count = 1
    if isinstance(kind, VectorType):
        count = kind.get_shape()[0]
        kind = kind.element_type
    if isinstance(kind, IndexType):
        return count * 8
    bits = kind.width.data if isinstance(kind, IntegerType) else getattr(kind, "bitwidth", None) or 32
    return count * -(-bits // 8)
