"""Buffers, which a graph may write, and custom ops, whose kernel the user brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from compiler.errors import GraphError
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, as_tensor, find_graph, to_dtype, to_shape
from compiler.graph.ops.specs import define
from compiler.graph.opspec import MANY, free
from compiler.graph.rules import Attrs, refuse, sequence
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueType, TensorType, Type
from compiler.graph.value import Value

__all__ = ["buffer_load", "buffer_store", "custom"]


def _chain_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """The chain a graph starts with."""
    return (CHAIN,)


def _buffer_load_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Read a whole buffer."""
    buffer, after = types
    if not isinstance(buffer, BufferType) or not isinstance(after, ChainType):
        refuse("mo.buffer_load", f"operands must be a buffer and a chain, not {buffer} and {after}")
    return (buffer.tensor, CHAIN)


def _buffer_store_rule(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Write a whole buffer."""
    buffer, value, after = types
    if not isinstance(buffer, BufferType) or not isinstance(value, TensorType) or not isinstance(after, ChainType):
        refuse("mo.buffer_store", f"operands must be a buffer, a tensor and a chain, not {buffer}, {value} and {after}")
    if buffer.tensor != value:
        refuse("mo.buffer_store", f"a {value} does not fit in a {buffer}")
    return (CHAIN,)


define("chain", _chain_rule, 0, effects=True, flops=free)
define("buffer_load", _buffer_load_rule, 2, effects=True, flops=free)
define("buffer_store", _buffer_store_rule, 3, effects=True, flops=free)
define("custom", None, (0, MANY), attrs={"kernel": "str"}, open_attrs=True, flops=lambda s: None)


def _buffer(op: str, buffer: Any) -> BufferType:
    if not isinstance(buffer, Value) or not isinstance(buffer.type, BufferType):
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
    tensor = as_tensor("buffer_store", value, graph, type.dtype)
    tensor = to_shape(to_dtype(tensor, type.dtype), type.shape)
    (graph.chain,) = graph.emit("mo.buffer_store", (buffer, tensor, graph.chain))


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
    if not isinstance(kernel, str) or not kernel:
        raise GraphError(f"custom: the kernel is named by a string, not {kernel!r}")
    if "kernel" in params:
        raise GraphError("custom: 'kernel' cannot be a parameter")
    listed = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    graph = find_graph("custom", listed)
    operands = [v if isinstance(v, Value) and v.graph is graph else as_tensor("custom", v, graph) for v in listed]
    if result_types is None:
        if library is None:
            raise GraphError("custom: needs result_types, or the library whose @shape function computes them")
        if not hasattr(library, "result_types"):
            raise GraphError(f"custom: the library comes from load_library, it is not {library!r}")
        result_types = list(library.result_types(kernel, [operand.type for operand in operands], params))
    types = (
        [result_types]
        if isinstance(result_types, (TensorType, OpaqueType))
        else sequence("custom", "result_types", result_types)
    )
    for type in types:
        if not isinstance(type, (TensorType, OpaqueType)):
            raise GraphError(f"custom: a result type is a TensorType or an OpaqueType, not {type!r}")
    if not types:
        raise GraphError("custom: needs at least one result type")
    values = graph.emit("mo.custom", operands, {"kernel": kernel, **params}, types)
    if reference is not None:
        graph.custom_references[kernel] = reference
    return values[0] if len(values) == 1 else values
