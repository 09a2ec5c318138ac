"""`x[...]`, read and written: lanes of values, items of tuples, elements of tensors and fused inputs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import limits
from compiler.language.values import arithmetic as math
from compiler.language.values import memory
from compiler.language.values.dtypes import INDEX
from compiler.language.values.kinds import Frame, Position, Simd
from compiler.language.values.loadables import FusedOutput, Loadable, Tensor

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


def load(run: Interpreter, node: ast.Subscript, frame: Frame) -> Any:
    """The value of `x[...]`."""
    base = run.evaluate(node.value, frame)
    if type(node.slice) is ast.Slice:
        return _sliced(run, base, node.slice, frame)
    index = run.evaluate(node.slice, frame)
    run.node = node
    if isinstance(base, Loadable):
        return base.load(run, position_of(base.rank, index))
    if isinstance(base, (tuple, list, str)):
        return base[_static_index(index, len(base))]
    if isinstance(base, Simd):
        return memory.extract(run.b, base, index)
    if isinstance(base, Position):
        return base.index[_static_index(index, len(base.index))]
    raise KernelError(f"{math.describe(base)} has no elements")


def store(run: Interpreter, target: ast.Subscript, value: Any, frame: Frame) -> None:
    """`x[...] = value`; a list is replaced by a changed copy, so that branches and loops can merge it."""
    base = run.evaluate(target.value, frame)
    index = run.evaluate(target.slice, frame)
    run.node = target
    if isinstance(base, (Tensor, FusedOutput)):
        put(run, base, position_of(base.rank, index), value)
    elif isinstance(base, list):
        place = _static_index(index, len(base))
        changed = list(base)
        changed[place] = value
        _rebind(run, target.value, limits.sequence(changed) if isinstance(value, (tuple, list)) else changed, frame)
    elif isinstance(base, Simd):
        _rebind(run, target.value, memory.insert(run.b, base, index, value), frame)
    else:
        raise KernelError(f"elements of {math.describe(base)} cannot be assigned")


def _rebind(run: Interpreter, target: ast.expr, value: Any, frame: Frame) -> None:
    if isinstance(target, ast.Name) and target.id not in frame.env:
        # Its owner would not see the change.
        raise run.fail(f"{target.id} belongs to the enclosing function; a nested function cannot change it", target)
    run.assign(target, value, frame)


def put(run: Interpreter, sink: Tensor | FusedOutput, at: Position, value: Any) -> None:
    """Store a value; a literal takes the sink's dtype, and its lanes decide how many elements are written."""
    if not isinstance(value, Simd):
        value = math.literal(run.b, value, sink.dtype, at.width)
    if value.dtype is not sink.dtype:
        raise KernelError(f"a {value.type_name} cannot be stored where {sink.dtype.name} is asked for; cast it")
    if at.width > 1:
        value = math.splat(run.b, value, at.width)
    elif value.width > 1 and not at.index:
        raise KernelError(f"a {value.type_name} cannot be stored in a single element")
    sink.store(run, Position(at.index, value.width, at.axis), value)


def position_of(rank: int, index: Any, width: int = 1, axis: Any = None) -> Position:
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
        if isinstance(part, Simd):
            if part.dtype is not INDEX or part.width != 1:
                raise KernelError(f"an index must be one index, not {part.type_name}; convert with index(x)")
        elif isinstance(part, bool) or not isinstance(part, (int, Dim)):
            raise KernelError(f"{math.describe(part)} is not an index")
    if width > 1 and not rank:
        raise KernelError(f"{width} lanes of a single element; use splat")
    place = rank - 1 if axis is None else axis_number(axis, rank) if rank else 0
    return Position(tuple(index), width, max(place, 0))


def axis_number(axis: Any, rank: int) -> int:
    """A compile-time axis, counted from the end when below zero."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise KernelError(f"an axis is a compile-time whole number, not {math.describe(axis)}")
    if not -rank <= axis < rank:
        raise KernelError(f"axis {axis} of {rank} axes")
    return axis % rank


def _static_index(index: Any, length: int) -> int:
    if isinstance(index, bool) or not isinstance(index, int):
        raise KernelError(f"a compile-time index is needed here, not {math.describe(index)}")
    if not -length <= index < length:
        raise KernelError(f"index {index} of {length} items")
    return index


def _sliced(run: Interpreter, base: Any, node: ast.Slice, frame: Frame) -> Any:
    parts = [None if part is None else run.evaluate(part, frame) for part in (node.lower, node.upper, node.step)]
    run.node = node
    if any(part is not None and (isinstance(part, bool) or not isinstance(part, int)) for part in parts):
        raise KernelError("a slice needs compile-time bounds")
    if parts[2] == 0:
        raise KernelError("the step of a slice cannot be 0")
    where = slice(*parts)
    if isinstance(base, (tuple, list, str)):
        return base[where]
    if isinstance(base, Position):
        return base.index[where]
    if isinstance(base, Simd):
        order = tuple(range(base.width))[where]
        if not order:
            raise KernelError("a slice of no lanes")
        return memory.shuffle(run.b, base, base, order)
    raise KernelError(f"{math.describe(base)} cannot be sliced; use .slice(...)")
