"""Norms over the last axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.errors import GraphError
from compiler.graph.broadcasting import common_dtype
from compiler.graph.dtypes import float_result, numpy_dtype
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, emit, find_graph, scalar_value, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import per_element
from compiler.graph.rules import FLOATS, Attrs, Infer, check_dtype, check_same, refuse
from compiler.graph.types import TensorType
from compiler.graph.value import Value

__all__ = ["layer_norm", "rms_norm"]


def _norm_rule(op: str) -> Infer:
    """A norm over the last axis: every other operand is a vector of that length."""

    def infer(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
        x, *vectors = types
        check_dtype(op, x.dtype, FLOATS)
        if not x.rank:
            refuse(op, "the operand needs at least one axis")
        check_same(op, (TensorType.of(x.dtype, x.shape[-1:]), *vectors))
        return (x,)

    return infer


define("layer_norm", _norm_rule("mo.layer_norm"), 3, attrs={"eps": "float"}, flops=per_element(8))
define("rms_norm", _norm_rule("mo.rms_norm"), 2, attrs={"eps": "float"}, flops=per_element(4))


def _norm(op: str, x: Operand, vectors: list[tuple[Operand | None, int]], eps: float | None) -> Value:
    """Each vector comes with the number that stands for it when it is not given."""
    graph = find_graph(op, [x, *(v for v, _ in vectors)])
    value = as_tensor(op, x, graph)
    if not value.rank:
        raise GraphError(f"{op}: the input needs at least one axis")
    given = [None if v is None else as_tensor(op, v, graph) for v, _ in vectors]
    dtype = float_result(common_dtype([value.dtype, *(v.dtype for v in given if v is not None)], ()))
    if eps is None:
        eps = epsilon(value.dtype)
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not eps >= 0:
        raise GraphError(f"{op}: eps must be a number of at least 0, not {eps!r}")
    last = value.shape[-1:]
    filled = [
        to_dtype(v, dtype) if v is not None else to_shape(scalar_value(op, graph, fill, dtype), last)
        for v, (_, fill) in zip(given, vectors, strict=True)
    ]
    return emit(op, (to_dtype(value, dtype), *filled), {"eps": float(eps)})


def epsilon(dtype: str) -> float:
    """The distance from 1 to the next number, torch's default eps."""
    if dtype == "bf16":
        return 2.0**-7
    return float(np.finfo(numpy_dtype(float_result(dtype))).eps)


@builder
def layer_norm(x: Operand, weight: Operand | None = None, bias: Operand | None = None, eps: float = 1e-5) -> Value:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axis.

    >>> ops.layer_norm(x, np.ones(4, np.float32))
    <layer_norm_0: f32 (M, 4)>
    """
    return _norm("layer_norm", x, [(weight, 1), (bias, 0)], eps)


@builder
def rms_norm(x: Operand, weight: Operand | None = None, eps: float | None = None) -> Value:
    """x / sqrt(mean(x * x) + eps) * weight over the last axis; eps defaults to the dtype's epsilon.

    >>> ops.rms_norm(x, np.ones(4, np.float32), eps=1e-6)
    <rms_norm_0: f32 (M, 4)>
    """
    return _norm("rms_norm", x, [(weight, 1)], eps)
