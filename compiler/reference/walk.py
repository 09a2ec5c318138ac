"""The reference interpreter: evaluates a graph op by op, in order, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.errors import ExecutionError, GraphError
from compiler.graph.binding import as_arrays, bind, resolve
from compiler.graph.constraints import check_sizes, constraints_of
from compiler.graph.dtypes import numpy_dtype
from compiler.graph.graph import Graph
from compiler.graph.opaque import Opaque, check_value, sizes_of
from compiler.graph.types import OpaqueBufferType, OpaqueType, TensorType, Type, format_shape
from compiler.graph.value import Op, Value
from compiler.reference.elementwise import ELEMENTWISE
from compiler.reference.indexing import INDEXING
from compiler.reference.linalg import LINALG
from compiler.reference.nn import NN
from compiler.reference.ordering import ORDERING
from compiler.reference.precision import quiet
from compiler.reference.reductions import REDUCTIONS
from compiler.reference.views import VIEWS

_CHAIN = object()  # what a chain value is here: ops run in order anyway


def _buffer_load(buffer: np.ndarray | Opaque, _chain: object) -> tuple[Any, ...]:
    return _fields(buffer) if isinstance(buffer, Opaque) else buffer.copy(), _CHAIN


def _buffer_store(buffer: np.ndarray | Opaque, tensor: Any, _chain: object) -> object:
    if isinstance(buffer, Opaque):
        for name, held in buffer.fields().items():
            held[...] = tensor[name]
    else:
        buffer[...] = tensor
    return _CHAIN


def _fields(value: Opaque) -> dict[str, np.ndarray]:
    """An opaque value as references see it: its fields by name, to be changed at will."""
    return {name: held.copy() for name, held in value.fields().items()}


REFERENCES: dict[str, Callable[..., Any]] = {
    name: quiet(function)
    for family in (ELEMENTWISE, REDUCTIONS, VIEWS, INDEXING, ORDERING, LINALG, NN)
    for name, function in family.items()
} | {
    "mo.chain": lambda: _CHAIN,
    "mo.buffer_load": _buffer_load,
    "mo.buffer_store": _buffer_store,
}


def reference(graph: Graph, *arrays: Any) -> list[Any]:
    """The graph's outputs for these inputs, computed op by op in NumPy; arguments that do not fit are ExecutionErrors.

    Buffers are written in place, as a compiled model does. An opaque value is a table of its fields, for the references
    of custom ops as well as among the outputs.
    """
    types: list[Any] = list(graph.input_types)
    arrays, sizes = _bound(graph, types, arrays)
    check_sizes(constraints_of(graph), sizes)
    if not graph.outputs:
        raise GraphError(f"graph {graph.name!r} has no output; finish it with graph.output(value)")
    values: dict[Value, Any] = dict(zip(graph.inputs, arrays))
    for op in graph.ops:
        results = _evaluate_op(op, [values[x] for x in op.operands], sizes, graph.custom_references)
        for result, value in zip(op.results, results if isinstance(results, tuple) else (results,), strict=True):
            values[result] = _checked(op, value, result.type, sizes)
    # Copies: an output may be a view of an input.
    return [
        dict(values[x]) if isinstance(values[x], Mapping) else np.array(values[x], order="C") for x in graph.outputs
    ]


def _bound(graph: Graph, types: list[Any], given: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, int]]:
    """The arguments, checked, with opaque values as their fields; and the sizes of the symbols."""
    opaque = [isinstance(kind, (OpaqueType, OpaqueBufferType)) for kind in types]
    if not any(opaque) or len(types) != len(given):
        arrays = tuple(as_arrays(types, given, graph.input_names))
        return arrays, bind(types, arrays, graph.input_names)
    sizes, values = sizes_of(types, given), list(given)
    for number, (kind, name) in enumerate(zip(types, graph.input_names)):
        if opaque[number]:
            value = check_value(kind, given[number], f"input {number} ({name})", sizes)
            values[number] = value if isinstance(kind, OpaqueBufferType) else _fields(value)
    plain = [number for number, kind in enumerate(opaque) if not kind]
    kinds, names = [types[k] for k in plain], [graph.input_names[k] for k in plain]
    for number, array in zip(plain, as_arrays(kinds, [given[k] for k in plain], names)):
        values[number] = array
    return tuple(values), sizes | bind(kinds, [values[k] for k in plain], names)


def _evaluate_op(op: Op, operands: list[Any], sizes: dict[str, int], custom: dict[str, Callable[..., Any]]) -> Any:
    attrs = {name: resolve(value, sizes) for name, value in op.all_attrs.items()}
    if op.name not in ("mo.custom", "mo.update"):
        return REFERENCES[op.name](*operands, **attrs)
    kernel = attrs.pop("kernel")
    if kernel not in custom:
        raise ExecutionError(f"custom kernel {kernel!r} has no NumPy reference; give ops.custom one with reference=")
    if op.name == "mo.custom":
        return custom[kernel](*operands, **attrs)
    buffer, *given, _ = operands
    made = custom[kernel](buffer.fields() if isinstance(buffer, Opaque) else buffer, *given, **attrs)
    results = () if len(op.results) == 1 else made if isinstance(made, tuple) else (made,)
    return (*results, _CHAIN)


def _checked(op: Op, value: Any, declared: Type, sizes: dict[str, int]) -> Any:
    """The value, which must have the declared type: a custom reference may have got it wrong."""
    if isinstance(declared, OpaqueType):
        if not isinstance(value, Mapping):
            raise ExecutionError(
                f"{op.name}: its reference gave {type(value).__name__}, not the fields of a {declared}"
            )
        return {name: np.asarray(held) for name, held in value.items()}
    if isinstance(declared, TensorType):
        wanted = resolve(declared.shape, sizes)
        if not isinstance(value, np.ndarray | np.generic):
            raise ExecutionError(f"{op.name}: its reference gave {type(value).__name__}, not an array")
        if value.shape != wanted or value.dtype != numpy_dtype(declared.dtype):
            given = f"{value.dtype} of shape {format_shape(value.shape)}"
            raise ExecutionError(f"{op.name}: its reference gave {given} where {declared} was declared")
    return np.asarray(value) if isinstance(value, np.generic) else value
