"""Buffers, which a graph may write, and custom ops, whose kernel the user brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from compiler.errors import GraphError
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, find_graph, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import MANY, free
from compiler.graph.rules import Attrs, refuse, sequence
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueBufferType, OpaqueType, TensorType, Type
from compiler.graph.value import Scope, Value

__all__ = ["buffer_load", "buffer_store", "custom", "update"]


_BUFFERS = (BufferType, OpaqueBufferType)
_VALUES = (TensorType, OpaqueType)


def _chain_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """The chain a graph starts with."""
    return (CHAIN,)


def _buffer_load_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Read a whole buffer."""
    buffer, after = types
    if not isinstance(buffer, _BUFFERS) or not isinstance(after, ChainType):
        refuse("mo.buffer_load", f"operands must be a buffer and a chain, not {buffer} and {after}")
    return (buffer.tensor, CHAIN)


def _buffer_store_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Write a whole buffer."""
    buffer, value, after = types
    if not isinstance(buffer, _BUFFERS) or not isinstance(value, _VALUES) or not isinstance(after, ChainType):
        refuse("mo.buffer_store", f"operands must be a buffer, a value and a chain, not {buffer}, {value} and {after}")
    if buffer.tensor != value:
        refuse("mo.buffer_store", f"a {value} does not fit in a {buffer}")
    return (CHAIN,)


define("chain", _chain_rule, 0, effects=True, flops=free)
define("buffer_load", _buffer_load_rule, 2, effects=True, flops=free)
define("buffer_store", _buffer_store_rule, 3, effects=True, flops=free)
define("update", None, (2, MANY), attrs={"kernel": "str"}, open_attrs=True, effects=True, flops=lambda s: None)
define("custom", None, (0, MANY), attrs={"kernel": "str"}, open_attrs=True, flops=lambda s: None)


def _buffer(op: str, buffer: Any) -> BufferType | OpaqueBufferType:
    if not isinstance(buffer, Value) or not isinstance(buffer.type, _BUFFERS):
        raise GraphError(f"{op}: needs a buffer, not {buffer!r}; give the graph a BufferType input")
    find_graph(op, (buffer,))
    return buffer.type


@builder
def buffer_load(buffer: Value) -> Value:
    """What the buffer holds at this point of the graph.

    >>> ops.buffer_load(cache)
    <buffer_load_0: f32 (8, 4)>
    """
    _buffer("buffer_load", buffer)
    graph = buffer.graph
    result, graph.chain = graph.emit("mo.buffer_load", (buffer, graph.chain))
    return result


@builder
def buffer_store(buffer: Value, value: Operand) -> None:
    """Write a value, broadcast and cast to the buffer's type, into the buffer; later loads see it.

    >>> ops.buffer_store(cache, ops.buffer_load(cache) + 1)
    """
    type = _buffer("buffer_store", buffer)
    graph = buffer.graph
    if isinstance(type, OpaqueBufferType):
        if not isinstance(value, Value) or not isinstance(value.type, OpaqueType):
            raise GraphError(f"buffer_store: needs a {type.tensor}, not {value!r}")
        find_graph("buffer_store", (buffer, value))
        tensor = value
    else:
        tensor = as_tensor("buffer_store", value, graph, type.dtype)
        tensor = to_shape(to_dtype(tensor, type.dtype), type.shape)
    (graph.chain,) = graph.emit("mo.buffer_store", (buffer, tensor, graph.chain))


@runtime_checkable
class Shapes(Protocol):
    """The part of a kernel library that knows the types of results."""

    def result_types(self, op: str, operands: Sequence[Any], parameters: Mapping[str, Any]) -> Sequence[Any]: ...


@builder
def custom(
    kernel: str,
    inputs: Sequence[Operand],
    result_types: TensorType | OpaqueType | Sequence[TensorType | OpaqueType] | None = None,
    reference: Callable[..., Any] | None = None,
    library: Shapes | None = None,
    **params: Any,
) -> Any:
    """An op whose kernel is in the library under the name `kernel`; `params` are its compile-time parameters.

    One result type gives a value, several give a tuple. Without them a `library`, from `load_library`, computes them by
    the kernel's own `@shape` function. `reference(*arrays, **params)` is its NumPy meaning.

    >>> ops.custom("my_scale", [x], TensorType("f32", ("M", 4)), factor=2.0)
    <custom_0: f32 (M, 4)>
    """
    graph, operands = _given("custom", kernel, inputs, params)
    if result_types is None:
        if library is None:
            raise GraphError("custom: needs result_types, or the library whose @shape function computes them")
        if not isinstance(library, Shapes):
            raise GraphError(f"custom: the library comes from load_library, it is not {library!r}")
        result_types = list(library.result_types(kernel, [operand.type for operand in operands], params))
    types = _result_types("custom", result_types)
    if not types:
        raise GraphError("custom: needs at least one result type")
    values = graph.emit("mo.custom", operands, {"kernel": kernel, **params}, types)
    if reference is not None:
        graph.custom_references[kernel] = reference
    return values[0] if len(values) == 1 else values


@builder
def update(
    kernel: str,
    buffer: Value,
    inputs: Sequence[Operand] = (),
    result_types: TensorType | OpaqueType | Sequence[TensorType | OpaqueType] = (),
    reference: Callable[..., Any] | None = None,
    **params: Any,
) -> Any:
    """A kernel of the library that changes a buffer in place; later loads see what it wrote.

    Its sinks are the results, if there are any, and then the buffer, which it may read as well. Gives what `custom`
    gives, or None where there is no result. `reference(buffer, *arrays, **params)` changes a NumPy array, or the table
    of an opaque value's fields, in place.

    >>> ops.update("append", cache, [x])
    """
    _buffer("update", buffer)
    graph, operands = _given("update", kernel, [buffer, *inputs], params)
    types = [*_result_types("update", result_types), CHAIN]
    *values, graph.chain = graph.emit("mo.update", [*operands, graph.chain], {"kernel": kernel, **params}, types)
    if reference is not None:
        graph.custom_references[kernel] = reference
    return tuple(values) if len(values) > 1 else values[0] if values else None


def _given(op: str, kernel: str, inputs: Any, params: Mapping[str, Any]) -> tuple[Scope, list[Value]]:
    """The graph and the operands of an op whose kernel the library has."""
    if not isinstance(kernel, str) or not kernel:
        raise GraphError(f"{op}: the kernel is named by a string, not {kernel!r}")
    if "kernel" in params:
        raise GraphError(f"{op}: 'kernel' cannot be a parameter")
    listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    graph = find_graph(op, listed)
    return graph, [v if isinstance(v, Value) and v.graph is graph else as_tensor(op, v, graph) for v in listed]


def _result_types(op: str, given: Any) -> list[Any]:
    types = [given] if isinstance(given, _VALUES) else sequence(op, "result_types", given)
    for type in types:
        if not isinstance(type, _VALUES):
            raise GraphError(f"{op}: a result type is a TensorType or an OpaqueType, not {type!r}")
    return list(types)
