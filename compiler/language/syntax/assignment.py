"""Binding values to what stands left of `=`: names, several of them at once, and elements."""

from __future__ import annotations

import ast
from typing import Any

from compiler.errors import KernelError
from compiler.language import limits
from compiler.language.syntax.functions import Frame
from compiler.language.syntax.run import Run
from compiler.language.values import lanes
from compiler.language.values.arguments import static_index
from compiler.language.values.loadables import FusedOutput, Tensor, put
from compiler.language.values.positions import position_of
from compiler.language.values.records import Simd, describe
from compiler.language.values.structs import Struct


def assign(run: Run, target: ast.expr, value: Any, frame: Frame) -> None:
    """Bind a target to a value."""
    if type(target) is ast.Name:
        frame.env[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = list(value) if isinstance(value, (tuple, list)) else None
        if items is None or len(items) != len(target.elts):
            raise run.fail(f"cannot unpack {describe(value)} into {len(target.elts)} names", target)
        for item, part in zip(target.elts, items, strict=True):
            assign(run, item, part, frame)
    elif isinstance(target, ast.Subscript):
        _store(run, target, value, frame)
    elif isinstance(target, ast.Attribute) and isinstance(base := run.evaluate(target.value, frame), Struct):
        run.node = target
        base.set(run, target.attr, value)
    else:
        raise run.fail("this cannot be assigned to", target)


def _store(run: Run, target: ast.Subscript, value: Any, frame: Frame) -> None:
    """`x[...] = value`; a list is replaced by a changed copy, so that branches and loops can merge it."""
    base = run.evaluate(target.value, frame)
    index = run.evaluate(target.slice, frame)
    run.node = target
    if isinstance(base, (Tensor, FusedOutput)):
        put(run, base, position_of(base.rank, index), value)
    elif isinstance(base, list):
        place = static_index(index, len(base))
        changed = list(base)
        changed[place] = value
        _rebind(run, target.value, limits.sequence(changed) if isinstance(value, (tuple, list)) else changed, frame)
    elif isinstance(base, Simd):
        _rebind(run, target.value, lanes.insert(run.b, base, index, value), frame)
    else:
        raise KernelError(f"elements of {describe(base)} cannot be assigned")


def _rebind(run: Run, target: ast.expr, value: Any, frame: Frame) -> None:
    if isinstance(target, ast.Name) and target.id not in frame.env:
        # Its owner would not see the change.
        raise run.fail(f"{target.id} belongs to the enclosing function; a nested function cannot change it", target)
    assign(run, target, value, frame)
