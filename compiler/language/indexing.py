"""`x[...]`, read and written: lanes of values, items of tuples, elements of tensors and fused inputs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from compiler.errors import KernelError
from compiler.language import arithmetic as math
from compiler.language import memory
from compiler.language.loadables import FusedOutput, Loadable, Tensor
from compiler.language.values import Frame, Position, Simd

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


def load(run: Interpreter, node: ast.Subscript, frame: Frame) -> Any:
    """The value of `x[...]`."""
    base = run.evaluate(node.value, frame)
    if isinstance(node.slice, ast.Slice):
        return _sliced(run, base, node.slice, frame)
    index = run.evaluate(node.slice, frame)
    run.node = node
    if isinstance(base, Loadable):
        return base.load(run, position_of(base.rank, index))
    if isinstance(base, Position):
        return base.index[_static_index(index, len(base.index))]
    if isinstance(base, Simd):
        if isinstance(index, int) and index < 0:
            index += base.width
        return memory.extract(run.b, base, index)
    if isinstance(base, (tuple, list, str)):
        return base[_static_index(index, len(base))]
    raise KernelError(f"{math.describe(base)} has no elements")


def store(run: Interpreter, target: ast.Subscript, value: Any, frame: Frame) -> None:
    """`x[...] = value`; a list is replaced by a changed copy, so that branches and loops can merge it."""
    base = run.evaluate(target.value, frame)
    index = run.evaluate(target.slice, frame)
    run.node = target
    if isinstance(base, list):
        place = _static_index(index, len(base))
        changed = list(base)
        changed[place] = value
        run.assign(target.value, changed, frame)
        return
    if isinstance(base, Simd):
        lane = index + base.width if isinstance(index, int) and index < 0 else index
        scalar = value if isinstance(value, Simd) else math.literal(run.b, value, base.dtype)
        run.assign(target.value, memory.insert(run.b, base, lane, scalar), frame)
        return
    if isinstance(base, (Tensor, FusedOutput)):
        put(run, base, position_of(base.rank, index), value)
        return
    raise KernelError(f"elements of {math.describe(base)} cannot be assigned")


def put(run: Interpreter, sink: Tensor | FusedOutput, at: Position, value: Any) -> None:
    """Store a value; a literal takes the sink's dtype, and its lanes decide how many elements are written."""
    if not isinstance(value, Simd):
        value = math.literal(run.b, value, sink.dtype, at.width)
    if value.dtype is not sink.dtype:
        raise KernelError(f"a {value.type_name} cannot be stored where {sink.dtype.name} is asked for; cast it")
    if value.width == 1 and at.width > 1:
        value = math.splat(run.b, value, at.width)
    sink.store(run, Position(at.index, value.width, at.axis), value)


def position_of(rank: int, index: Any, width: int = 1, axis: int | None = None) -> Position:
    """A position from what stands in the brackets."""
    if isinstance(index, Position):
        if len(index.index) != rank:
            raise KernelError(f"a position of {len(index.index)} indices for {rank} axes")
        return index
    if not isinstance(index, (tuple, list)):
        index = (index,)
    if len(index) != rank:
        raise KernelError(f"{len(index)} indices for {rank} axes")
    for part in index:
        if isinstance(part, float) or isinstance(part, str) or part is None:
            raise KernelError(f"{math.describe(part)} is not an index")
    place = rank - 1 if axis is None else axis
    if place < 0 and rank:
        place += rank
    if rank and not 0 <= place < rank:
        raise KernelError(f"axis {axis} of {rank} axes")
    return Position(tuple(index), width, max(place, 0))


def _static_index(index: Any, length: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise KernelError(f"a compile-time index is needed here, not {math.describe(index)}")
    if not -length <= index < length:
        raise KernelError(f"index {index} of {length} items")
    return index


def _sliced(run: Interpreter, base: Any, node: ast.Slice, frame: Frame) -> Any:
    parts = [None if part is None else run.evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    run.node = node
    if any(part is not None and not isinstance(part, int) for part in parts):
        raise KernelError("a slice needs compile-time bounds")
    if parts[2] == 0:
        raise KernelError("the step of a slice cannot be 0")
    where = slice(*parts)
    if isinstance(base, (tuple, list, str)):
        return base[where]
    if isinstance(base, Simd):
        order = tuple(range(base.width))[where]
        if not order:
            raise KernelError("a slice of no lanes")
        return memory.shuffle(run.b, base, base, order)
    raise KernelError(f"{math.describe(base)} cannot be sliced; use .slice(...)")
