"""The reference interpreter: evaluates a graph op by op, in order, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.errors import ExecutionError, GraphError
from compiler.graph.binding import as_arrays, bind, resolve
from compiler.graph.constraints import check_sizes, constraints_of
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType, Type, format_shape
from compiler.graph.value import Op, Value
from compiler.reference.elementwise import ELEMENTWISE
from compiler.reference.indexing import INDEXING
from compiler.reference.linalg import LINALG
from compiler.reference.nn import NN
from compiler.reference.precision import quiet
from compiler.reference.reductions import REDUCTIONS
from compiler.reference.views import VIEWS

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


def reference(graph: Graph, *arrays: Any) -> list[np.ndarray]:
    """The graph's outputs for these inputs, computed op by op in NumPy; arguments that do not fit are ExecutionErrors.

    Buffers are written in place, as a compiled model does.
    """
    types: list[Any] = list(graph.input_types)
    arrays = tuple(as_arrays(types, arrays, graph.input_names))
    sizes = bind(types, arrays, graph.input_names)
    check_sizes(constraints_of(graph), sizes)
    if not graph.outputs:
        raise GraphError(f"graph {graph.name!r} has no output; finish it with graph.output(value)")
    values: dict[Value, Any] = dict(zip(graph.inputs, arrays))
    for op in graph.ops:
        results = _evaluate_op(op, [values[x] for x in op.operands], sizes, graph.custom_references)
        for result, value in zip(op.results, results if isinstance(results, tuple) else (results,), strict=True):
            values[result] = _checked(op, value, result.type, sizes)
    return [np.array(values[x], order="C") for x in graph.outputs]  # a copy: an output may be a view of an input


def _evaluate_op(op: Op, operands: list[Any], sizes: dict[str, int], custom: dict[str, Callable[..., Any]]) -> Any:
    attrs = {name: resolve(value, sizes) for name, value in op.all_attrs.items()}
    if op.name != "mo.custom":
        return REFERENCES[op.name](*operands, **attrs)
    kernel = attrs.pop("kernel")
    if kernel not in custom:
        raise ExecutionError(f"custom kernel {kernel!r} has no NumPy reference; give ops.custom one with reference=")
    return custom[kernel](*operands, **attrs)


def _checked(op: Op, value: Any, declared: Type, sizes: dict[str, int]) -> Any:
    """The value, which must have the declared type: a custom reference may have got it wrong."""
    if isinstance(declared, TensorType):
        wanted = resolve(declared.shape, sizes)
        if not isinstance(value, np.ndarray | np.generic):
            raise ExecutionError(f"{op.name}: its reference gave {type(value).__name__}, not an array")
        if value.shape != wanted or value.dtype != numpy_dtype(declared.dtype):
            given = f"{value.dtype} of shape {format_shape(value.shape)}"
            raise ExecutionError(f"{op.name}: its reference gave {given} where {declared} was declared")
    return np.asarray(value) if isinstance(value, np.generic) else value
