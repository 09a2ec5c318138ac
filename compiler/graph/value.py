"""What a graph is made of: values, with the operators and methods of an array, and the ops that compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np

from compiler.errors import GraphError
from compiler.graph.location import BUILDERS, fail
from compiler.graph.opspec import OpSpec
from compiler.graph.types import BufferType, Shape, Size, TensorType, Type, format_shape


class Scope(Protocol):
    """The graph that values belong to and builders add to; `Graph` is the one there is."""

    name: str
    module: str
    custom_references: dict[str, Callable[..., Any]]

    @property
    def chain(self) -> Value: ...

    @chain.setter
    def chain(self, value: Value) -> None: ...

    def emit(
        self, op_name: str, operands: Sequence[Value], attrs: Mapping[str, Any] | None = None,
        result_types: Sequence[Any] | None = None,
    ) -> tuple[Value, ...]: ...  # fmt: skip

    def scalar(self, number: np.ndarray, dtype: str) -> Value: ...

    def rename(self, value: Value, name: str) -> None: ...

    def free_name(self, wanted: str) -> str: ...


entered: ContextVar[tuple[Scope, ...]] = ContextVar("entered_graphs", default=())


def current_graph() -> Scope | None:
    """The graph of the innermost `with graph:` of this thread."""
    stack = entered.get()
    return stack[-1] if stack else None


class Op:
    """An op of a graph: operands, attributes as plain values, results, and the nodes it answers for, its own first.

    A node is what a user sees of a graph and what all later stages refer to. Passes merge ops, so that the graph read
    from the text of a later stage may have ops of several nodes.
    """

    __slots__ = ("attrs", "name", "nodes", "operands", "results", "spec")

    def __init__(
        self, spec: OpSpec, operands: Sequence[Value], attrs: dict[str, Any], nodes: tuple[str, ...],
        results: Iterable[tuple[str, Type]], graph: Scope,
    ) -> None:  # fmt: skip
        self.spec = spec
        self.name = spec.name
        self.operands = tuple(operands)
        self.attrs = attrs
        self.nodes = nodes
        self.results = tuple([Value(type, name, self, graph) for name, type in results])

    @property
    def all_attrs(self) -> dict[str, Any]:
        """Its attributes, with None for an optional one that is absent."""
        return self.spec.completed(self.attrs)

    def check(self) -> None:
        """Check it against its spec."""
        wrong = self.spec.disagreement(
            [operand.type for operand in self.operands], self.all_attrs, [result.type for result in self.results]
        )
        if wrong:
            raise GraphError(wrong)


def _operator(name: str) -> Callable[[Value, Any], Value]:
    """The method of an operator between a value and another operand; looked up late, as builders are made of values."""
    return lambda self, other: BUILDERS[name](self, other)


def _reflected(name: str) -> Callable[[Value, Any], Value]:
    """As `_operator`, with the value on the right."""
    return lambda self, other: BUILDERS[name](other, self)


def _prefix(name: str) -> Callable[[Value], Value]:
    """As `_operator`, with the value alone."""
    return lambda self: BUILDERS[name](self)


class Value:
    """A value of a graph: a tensor, or a buffer input. Made by ops, never directly.

    `owner` is the op it is a result of, None for an input; `name` is its name in the text of the graph.
    """

    __slots__ = ("graph", "name", "owner", "type")
    __array_ufunc__ = None  # NumPy arrays on the left leave the operator to us
    __array_priority__ = 1000

    def __init__(self, type: Type, name: str, owner: Op | None, graph: Scope) -> None:
        self.type = type
        self.name = name
        self.owner = owner
        self.graph = graph

    @property
    def shape(self) -> Shape:
        """The sizes of the axes; a symbolic size is a Dim."""
        return self._shaped("shape").shape

    @property
    def dtype(self) -> str:
        """The element type."""
        return self._shaped("dtype").dtype

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    ndim = rank

    @property
    def size(self) -> Size:
        """How many elements there are."""
        return self._shaped("size").size

    @property
    def node_name(self) -> str:
        """The name of the graph node that makes this value (`add_3`), or of the input."""
        return self.name if self.owner is None else self.owner.nodes[0]

    def named(self, name: str) -> Value:
        """Give the node that makes this value a name of your own."""
        self.graph.rename(self, name)
        return self

    def _shaped(self, what: str) -> TensorType | BufferType:
        type = self.type
        if not isinstance(type, (TensorType, BufferType)):
            fail(f"a value of type {type} has no {what}")
        return type

    def __repr__(self) -> str:
        type, name = self.type, self.name
        if isinstance(type, (TensorType, BufferType)):
            kind = "buffer " if isinstance(type, BufferType) else ""
            return f"<{name}: {kind}{type.dtype} {format_shape(type.shape)}>"
        return f"<{name}: {type}>"

    __hash__ = object.__hash__  # `==` builds an op

    def __bool__(self) -> bool:
        fail(f"{self!r} has no truth value while the graph is built; use ops.where")

    def __len__(self) -> int:
        if not self.shape:
            fail(f"{self!r} has no axes, so no length")
        if not isinstance(self.shape[0], int):
            fail(f"the length of {self!r} is symbolic; it is known only when the graph runs")
        return self.shape[0]

    def __iter__(self) -> Iterator[Value]:
        return iter([self[i] for i in range(len(self))])

    def __getitem__(self, index: Any) -> Value:
        return BUILDERS["getitem"](self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        fail("graph values do not change; use ops.where, ops.concat or a BufferType input")

    __add__ = _operator("add")
    __radd__ = _reflected("add")
    __sub__ = _operator("sub")
    __rsub__ = _reflected("sub")
    __mul__ = _operator("mul")
    __rmul__ = _reflected("mul")
    __truediv__ = _operator("div")
    __rtruediv__ = _reflected("div")
    __floordiv__ = _operator("floordiv")
    __rfloordiv__ = _reflected("floordiv")
    __mod__ = _operator("mod")
    __rmod__ = _reflected("mod")
    __pow__ = _operator("pow")
    __rpow__ = _reflected("pow")
    __matmul__ = _operator("matmul")
    __rmatmul__ = _reflected("matmul")
    __and__ = _operator("bitwise_and")
    __rand__ = __and__
    __or__ = _operator("bitwise_or")
    __ror__ = __or__
    __xor__ = _operator("bitwise_xor")
    __rxor__ = __xor__
    __invert__ = _prefix("bitwise_not")
    __neg__ = _prefix("neg")
    __abs__ = _prefix("abs")
    __eq__ = _operator("equal")  # type: ignore[override]
    __ne__ = _operator("not_equal")  # type: ignore[override]
    __lt__ = _operator("less")
    __le__ = _operator("less_equal")
    __gt__ = _operator("greater")
    __ge__ = _operator("greater_equal")

    def __pos__(self) -> Value:
        return self

    @property
    def T(self) -> Value:
        """All axes reversed."""
        return BUILDERS["transpose"](self)

    def reshape(self, *shape: Any) -> Value:
        """`x.reshape(2, -1)` or `x.reshape((2, -1))`."""
        return BUILDERS["reshape"](self, _packed(shape))

    def transpose(self, *axes: Any) -> Value:
        """`x.transpose()` reverses the axes; `x.transpose(0, 2, 1)` permutes them."""
        return BUILDERS["transpose"](self, _packed(axes) if axes and axes[0] is not None else None)

    def permute(self, *dims: Any) -> Value:
        """`x.permute(0, 2, 1)`."""
        return BUILDERS["permute"](self, _packed(dims))

    def swapaxes(self, axis1: int, axis2: int) -> Value:
        """Two axes exchanged."""
        return BUILDERS["swapaxes"](self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Value:
        """Axes of size 1 dropped."""
        return BUILDERS["squeeze"](self, axis)

    def unsqueeze(self, dim: int) -> Value:
        """An axis of size 1 put in."""
        return BUILDERS["unsqueeze"](self, dim)

    def flatten(self) -> Value:
        """One axis."""
        return BUILDERS["reshape"](self, (-1,))

    ravel = flatten

    def broadcast_to(self, shape: Any) -> Value:
        """Broadcast to a shape."""
        return BUILDERS["broadcast_to"](self, shape)

    def cast(self, dtype: str) -> Value:
        """Converted to another dtype."""
        return BUILDERS["cast"](self, dtype)

    astype = cast

    def sum(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The sum along axes."""
        return BUILDERS["sum"](self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The mean along axes."""
        return BUILDERS["mean"](self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The product along axes."""
        return BUILDERS["prod"](self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Value:
        """The largest along axes."""
        return BUILDERS["max"](self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Value:
        """The smallest along axes."""
        return BUILDERS["min"](self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether any along axes is true."""
        return BUILDERS["any"](self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether all along axes are true."""
        return BUILDERS["all"](self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Value:
        """The index of the largest."""
        return BUILDERS["argmax"](self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Value:
        """The index of the smallest."""
        return BUILDERS["argmin"](self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: str | None = None) -> Value:
        """The running sum."""
        return BUILDERS["cumsum"](self, axis=axis, dtype=dtype)

    def round(self, decimals: int = 0) -> Value:
        """Rounded to the nearest, halves to even."""
        return BUILDERS["round"](self, decimals)

    def clip(self, a_min: Any = None, a_max: Any = None) -> Value:
        """Limited to a range."""
        return BUILDERS["clip"](self, a_min, a_max)


def _packed(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else arguments
