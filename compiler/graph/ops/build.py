"""What every builder does: find the graph, turn operands into values, promote and broadcast them, add the op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from compiler.constants.file_arrays import FileArray
from compiler.errors import GraphError
from compiler.graph.broadcasting import Scalar, broadcast_shapes, common_dtype, fits
from compiler.graph.dims import Dim
from compiler.graph.dtypes import dtype_info, from_numpy, numpy_dtype
from compiler.graph.location import builder
from compiler.graph.types import Shape, TensorType
from compiler.graph.value import Scope, Value, current_graph

Operand = Value | bool | int | float | np.ndarray | np.generic | list[Any] | tuple[Any, ...]
_Builder = TypeVar("_Builder", bound=Callable[..., Value])


def find_graph(op: str, operands: Iterable[Any]) -> Scope:
    """The graph the operands belong to, or else the current one."""
    graph: Scope | None = None
    current = current_graph()
    for operand in operands:
        if isinstance(operand, Value):
            if graph is None:
                graph = operand.graph
            elif operand.graph is not graph:
                raise GraphError(f"{op}: {operand!r} belongs to graph {operand.graph.name!r}, not to {graph.name!r}")
    if graph is None:
        if current is None:
            raise GraphError(f"{op}: no graph to add to; build inside `with graph:` or pass a value of a graph")
        return current
    if current is not None and current is not graph:
        raise GraphError(f"{op}: a value of graph {graph.name!r} is used inside graph {current.name!r}")
    return graph


def given_array(value: Any) -> np.ndarray:
    """What NumPy makes of a value, in this machine's byte order; an array in a file stays there."""
    return value if isinstance(value, FileArray) and value.dtype.isnative else _native(np.asarray(value))


def _native(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _array(op: str, operand: Any) -> np.ndarray:
    try:
        array = given_array(operand)
        from_numpy(array.dtype)
    except (ValueError, TypeError, GraphError):
        kind = type(operand).__name__
        raise GraphError(
            f"{op}: an operand must be a value, a number or an array of a known dtype, not {kind}"
        ) from None
    return array


def is_scalar(operand: Any) -> bool:
    """Whether it is a plain Python number, which takes the dtype of what it meets."""
    return isinstance(operand, (bool, int, float)) and not isinstance(operand, np.generic)


def constant_value(graph: Scope, array: np.ndarray) -> Value:
    """A constant in the graph; one of shape () is shared."""
    if array.ndim == 0:
        return graph.scalar(array, from_numpy(array.dtype))
    return graph.emit("mo.constant", (), {"value": array})[0]


def scalar_value(op: str, graph: Scope, number: Scalar, dtype: str) -> Value:
    """A Python number as a constant of shape () with that dtype."""
    if not fits(number, dtype):
        raise GraphError(f"{op}: the number {number} does not fit in {dtype}")
    try:
        with np.errstate(over="ignore"):  # 1e40 in f32 is inf, as NumPy has it
            array = np.array(number, dtype=numpy_dtype(dtype))
    except OverflowError:
        raise GraphError(f"{op}: the number {number} does not fit in {dtype}") from None
    return graph.scalar(array, dtype)


def as_tensor(op: str, operand: Any, graph: Scope | None = None, dtype: str | None = None) -> Value:
    """Any operand as a tensor value; a Python number gets `dtype`, or NumPy's default."""
    if isinstance(operand, Value):
        owner = find_graph(op, (operand,))
        if graph is not None and owner is not graph:
            raise GraphError(f"{op}: {operand!r} belongs to graph {owner.name!r}, not to {graph.name!r}")
        if not isinstance(operand.type, TensorType):
            raise GraphError(f"{op}: {operand!r} is not a tensor; read a buffer with ops.buffer_load")
        return operand
    graph = graph or find_graph(op, ())
    if is_scalar(operand):
        return scalar_value(op, graph, operand, dtype or common_dtype((), (operand,)))
    if isinstance(operand, Dim):
        raise GraphError(f"{op}: the dim {operand} is a size, not a value")
    return constant_value(graph, _array(op, operand))


def tensors(op: str, *operands: Any) -> tuple[Value, ...]:
    """Operands as tensor values of one graph, Python numbers at NumPy's default dtype."""
    graph = find_graph(op, operands)
    return tuple(as_tensor(op, o, graph) for o in operands)


def emit(op: str, operands: Sequence[Value], attrs: Mapping[str, Any] | None = None) -> Value:
    """Add an op with one result."""
    return operands[0].graph.emit(f"mo.{op}", operands, attrs)[0]


def to_dtype(value: Value, dtype: str) -> Value:
    """A cast, where one is needed."""
    if value.dtype == dtype:
        return value
    dtype_info(dtype)
    return emit("cast", (value,), {"dtype": dtype})


def to_shape(value: Value, shape: Shape) -> Value:
    """A broadcast_to, where one is needed."""
    return value if value.shape == shape else emit("broadcast_to", (value,), {"shape": shape})


def reshaped(value: Value, shape: Shape) -> Value:
    """A reshape, where one is needed."""
    return value if value.shape == shape else emit("reshape", (value,), {"shape": shape})


class Meeting:
    """Operands that meet in an elementwise op: their common dtype and shape, and then each of them as such."""

    def __init__(self, op: str, *operands: Any, graph: Scope | None = None) -> None:
        self.op = op
        self.graph = graph or find_graph(op, operands)
        self.parts: list[Value | Scalar] = [o if is_scalar(o) else as_tensor(op, o, self.graph) for o in operands]
        values = [p for p in self.parts if isinstance(p, Value)]
        self.scalars = [p for p in self.parts if not isinstance(p, Value)]
        self.dtype = common_dtype([v.dtype for v in values], self.scalars)
        self.shape: Shape = broadcast_shapes(*[v.shape for v in values], op=op) if values else ()

    def values(self, dtype: str | None = None) -> list[Value]:
        """Every operand cast and broadcast; `dtype` overrides the common one."""
        dtype = dtype or self.dtype
        return [to_shape(self._as(p, dtype), self.shape) for p in self.parts]

    def _as(self, part: Value | Scalar, dtype: str) -> Value:
        return to_dtype(part, dtype) if isinstance(part, Value) else scalar_value(self.op, self.graph, part, dtype)


class OneOperand(Protocol):
    """A builder of one operand."""

    def __call__(self, x: Operand) -> Value: ...


class TwoOperands(Protocol):
    """A builder of two operands."""

    def __call__(self, x1: Operand, x2: Operand) -> Value: ...


def one_operand(build: Callable[[str, Operand], Value], op: str, says: str, given: str, result: str) -> OneOperand:
    """The builder of one op of a family: `build` of its name. What it says and an example are its docstring."""

    def function(x: Operand) -> Value:
        return build(op, x)

    return builder(described(function, build, op, says, given, result))


def two_operands(
    build: Callable[[str, Operand, Operand], Value], op: str, says: str, given: str, result: str
) -> TwoOperands:
    """As `one_operand`."""

    def function(x1: Operand, x2: Operand) -> Value:
        return build(op, x1, x2)

    return builder(described(function, build, op, says, given, result))


def described(function: _Builder, build: Callable[..., Value], op: str, says: str, given: str, result: str) -> _Builder:
    """Give a function made for an op the op's name, the module of its family, and a docstring with an example."""
    function.__name__ = function.__qualname__ = op
    function.__module__ = build.__module__
    function.__doc__ = f"{says}\n\n    >>> ops.{op}({given})\n    <{result}>\n    "
    return function
