"""The reference interpreter: evaluates a graph op by op, in order, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import ExecutionError, GraphError
from compiler.graph.constraints import check_sizes, constraints_of
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.types import TensorType, format_shape
from compiler.program.binding import bind, resolve
from compiler.reference.elementwise import ELEMENTWISE
from compiler.reference.indexing import INDEXING
from compiler.reference.linalg import LINALG
from compiler.reference.nn import NN
from compiler.reference.precision import quiet
from compiler.reference.reductions import REDUCTIONS
from compiler.reference.views import VIEWS

if TYPE_CHECKING:
    from xdsl.ir import Attribute, Operation, SSAValue

    from compiler.dialects.mo import GraphOp
    from compiler.graph.graph import Graph

_CHAIN = object()  # what a chain value is here: ops run in order anyway


def _buffer_load(buffer: np.ndarray, _chain: object) -> tuple[Any, ...]:
    return buffer.copy(), _CHAIN


def _buffer_store(buffer: np.ndarray, tensor: np.ndarray, _chain: object) -> object:
    buffer[...] = tensor
    return _CHAIN


REFERENCES: dict[str, Callable[..., Any]] = {
    name: quiet(function)
    for family in (ELEMENTWISE, REDUCTIONS, VIEWS, INDEXING, LINALG, NN)
    for name, function in family.items()
} | {
    "mo.chain": lambda: _CHAIN,
    "mo.buffer_load": _buffer_load,
    "mo.buffer_store": _buffer_store,
}


def reference(graph: Graph, *arrays: np.ndarray) -> list[np.ndarray]:
    """The graph's outputs for these inputs, computed op by op in NumPy; arguments that do not fit are ExecutionErrors.

    Buffers are written in place, as a compiled model does.
    """
    return evaluate(graph.op, *arrays, custom=graph.custom_references)


def evaluate(
    graph: GraphOp, *arrays: np.ndarray, custom: Mapping[str, Callable[..., Any]] | None = None
) -> list[np.ndarray]:
    """`reference` for the IR itself: the meaning of a graph at any stage that is still made of mo ops.

    `custom` holds the references of users' own kernels by name.
    """
    inputs = graph.body.args
    types: list[Any] = [x.type for x in inputs]
    sizes = bind(types, arrays, [x.name_hint or f"x{i}" for i, x in enumerate(inputs)])
    check_sizes(constraints_of(graph), sizes)
    values: dict[SSAValue, Any] = dict(zip(inputs, arrays))
    for op in graph.body.ops:
        operands = [values[x] for x in op.operands]
        if op is graph.output:
            return [np.array(x, order="C") for x in operands]  # a copy: an output may be a view of an input
        results = _evaluate_op(op, operands, sizes, custom or {})
        for result, value in zip(op.results, results if isinstance(results, tuple) else (results,), strict=True):
            values[result] = _checked(op, value, result.type, sizes)
    raise GraphError(f"graph {graph.sym_name!r} has no output; finish it with graph.output(value)")


def _evaluate_op(
    op: Operation, operands: list[Any], sizes: dict[str, int], custom: Mapping[str, Callable[..., Any]]
) -> Any:
    from compiler.dialects.mo import attrs_of

    attrs = {name: resolve(value, sizes) for name, value in attrs_of(op).items()}
    if op.name != "mo.custom":
        return REFERENCES[op.name](*operands, **attrs)
    kernel = attrs.pop("kernel")
    if kernel not in custom:
        raise ExecutionError(f"custom kernel {kernel!r} has no NumPy reference; give ops.custom one with reference=")
    return custom[kernel](*operands, **attrs)


def _checked(op: Operation, value: Any, declared: Attribute, sizes: dict[str, int]) -> Any:
    """The value, which must have the declared type: a custom reference may have got it wrong."""
    if isinstance(declared, TensorType):
        wanted = resolve(declared.shape, sizes)
        if not isinstance(value, np.ndarray | np.generic):
            raise ExecutionError(f"{op.name}: its reference gave {type(value).__name__}, not an array")
        if value.shape != wanted or value.dtype != numpy_dtype(declared.dtype):
            given = f"{value.dtype} of shape {format_shape(value.shape)}"
            raise ExecutionError(f"{op.name}: its reference gave {given} where {declared} was declared")
    return np.asarray(value) if isinstance(value, np.generic) else value
