"""Constant folding: ops on constants are computed now, by the NumPy reference, when the result is small."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from compiler.dialects.mo import GraphOp, MoOp, attrs_of, make
from compiler.dialects.operations import put_before
from compiler.errors import CompilerError
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import TensorType
from compiler.passes.graph.rewrite import array_of, erase, is_view, maker, mo_ops, splat_of, union

LIMIT = 1 << 16  # bytes of operands and result


def fold_constants(graph: GraphOp, limit: int = LIMIT) -> int:
    """Replace ops on constants by their result; how many. An elementwise op on operands that are the same everywhere
    becomes one number, broadcast, whatever its shape."""
    folded = 0
    for op in mo_ops(graph):
        if not op._operands or not all(map(_may_be_constant, op._operands)):
            continue
        kind = op.results[0].type if len(op.results) == 1 else None
        if op.spec.effects or op.name == "mo.custom" or not isinstance(kind, TensorType):
            continue
        if op.spec.elementwise and _fold_splat(op, kind):
            folded += 1
            continue
        arrays = [array_of(operand) for operand in op._operands]
        if all(a is not None for a in arrays) and _is_small(op, kind, arrays, limit):
            folded += _replace(op, _evaluate(op, arrays))
    return folded


def _may_be_constant(value: SSAValue) -> bool:
    """Whether a value is a constant or a view, perhaps of one: what most ops read is neither."""
    owner = maker(value)
    return owner is not None and (owner.name == "mo.constant" or is_view(owner))


def _is_small(op: MoOp, kind: TensorType, arrays: list[Any], limit: int) -> bool:
    size = kind.bytes
    if kind.symbols or not isinstance(size, int) or size > limit or sum(a.nbytes for a in arrays) > limit:
        return False
    # A repeated constant is better repeated by the kernel that reads it.
    return not op.spec.repeats or size <= sum(a.nbytes for a in arrays)


def _fold_splat(op: MoOp, kind: TensorType) -> bool:
    if not kind.shape:
        return False  # a scalar: folded the plain way
    elements = [splat_of(operand) for operand in op.operands]
    if any(e is None for e in elements):
        return False
    value = _evaluate(op, [np.asarray(e) for e in elements])
    if value is None or value.shape != ():
        return False
    number = _constant(op, value, ())
    spread = make("mo.broadcast_to", (number,), (kind,), {"shape": kind.shape}, union(op))
    _put(op, spread)
    return True


def _evaluate(op: MoOp, arrays: list[Any]) -> np.ndarray | None:
    from compiler.reference import REFERENCES  # late: the reference is not needed to compile most graphs

    function = REFERENCES.get(op.name)
    if function is None:
        return None
    attrs = attrs_of(op)
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*arrays, **attrs))
    except CompilerError:
        return None  # what is wrong with it is said when it is compiled or run


def _constant(op: MoOp, value: np.ndarray, shape: tuple[int, ...]) -> SSAValue:
    dtype = op.results[0].type.dtype  # type: ignore[attr-defined]
    array = np.ascontiguousarray(value.reshape(shape), dtype=numpy_dtype(dtype)).reshape(shape)
    sources = [o.owner for o in op.operands if isinstance(o.owner, MoOp)]
    # A number beside a broadcast that keeps the op's name is named after the constants it was made of.
    nodes = union(op, *sources) if shape == op.results[0].type.shape else union(*sources, op)  # type: ignore[attr-defined]
    made = make("mo.constant", (), (TensorType.of(dtype, shape),), {"value": array}, nodes)
    return put_before(made, op).results[0]


def _replace(op: MoOp, value: np.ndarray | None) -> int:
    kind = op.results[0].type
    if value is None or value.shape != kind.shape:  # type: ignore[attr-defined]
        return 0
    made = _constant(op, value, kind.shape)  # type: ignore[attr-defined]
    op.results[0].replace_all_uses_with(made)
    erase(op)
    return 1


def _put(op: MoOp, new: MoOp) -> None:
    put_before(new, op)
    op.results[0].replace_all_uses_with(new.results[0])
    erase(op)
