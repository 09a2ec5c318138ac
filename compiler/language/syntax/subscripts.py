"""`x[...]` read: lanes of values, items of tuples, elements of tensors and fused inputs."""

from __future__ import annotations

import ast
from typing import Any

from compiler.errors import KernelError
from compiler.language.syntax.functions import Frame
from compiler.language.syntax.run import Run
from compiler.language.values import lanes
from compiler.language.values.arguments import static_index, to_shape
from compiler.language.values.dtypes import DType
from compiler.language.values.loadables import Loadable
from compiler.language.values.positions import check_inside, position_of
from compiler.language.values.records import Position, Simd, describe
from compiler.language.values.structs import FieldType


def subscript(run: Run, node: ast.Subscript, frame: Frame) -> Any:
    """The value of `x[...]`."""
    expressions = run.language.expressions
    base, index = node.value, node.slice
    base = expressions[type(base)](run, base, frame)
    if type(index) is ast.Slice:
        return _sliced(run, base, index, frame)
    index = expressions[type(index)](run, index, frame)
    run.node = node
    if isinstance(base, Loadable):
        at = position_of(base.rank, index)
        check_inside(run.b, base.shape, at)
        return base.load(run, at)
    if isinstance(base, (tuple, list, str)):
        return base[static_index(index, len(base))]
    if isinstance(base, Simd):
        return lanes.extract(run.b, base, index)
    if isinstance(base, Position):
        return base.index[static_index(index, len(base.index))]
    if isinstance(base, DType):
        return FieldType(base, to_shape(index))
    raise KernelError(f"{describe(base)} has no elements")


def _sliced(run: Run, base: Any, node: ast.Slice, frame: Frame) -> Any:
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
        return lanes.shuffle(run.b, base, base, order)
    raise KernelError(f"{describe(base)} cannot be sliced; use .slice(...)")
