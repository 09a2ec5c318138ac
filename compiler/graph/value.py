"""Value: what a graph computes, with the operators and methods of an array.

It holds a value of the graph's draft, or an SSA value where the graph has come to be IR, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from compiler.graph.draft import DraftValue
from compiler.graph.location import fail
from compiler.graph.types import BufferType, Shape, Size, TensorType, Type, format_shape

if TYPE_CHECKING:
    from xdsl.ir import SSAValue

    from compiler.graph.graph import Graph


def _ops() -> Any:
    return import_module("compiler.graph.ops")


class Value:
    """A value of a graph: a tensor, or a buffer input. Made by ops, never directly."""

    __slots__ = ("_born", "graph")
    __array_ufunc__ = None  # NumPy arrays on the left leave the operator to us
    __array_priority__ = 1000

    def __init__(self, held: DraftValue | SSAValue, graph: Graph) -> None:
        self._born = held
        self.graph = graph

    @property
    def held(self) -> DraftValue | SSAValue:
        """What it stands for now: part of the draft, or of the IR once the graph has that."""
        born = self._born
        return born.ssa if isinstance(born, DraftValue) and born.ssa is not None else born

    @property
    def ssa(self) -> SSAValue:
        """The value in the graph's IR, which is made if need be."""
        if isinstance(self.held, DraftValue):
            self.graph.op  # noqa: B018  makes the IR
        held = self.held
        assert not isinstance(held, DraftValue)
        return held

    @property
    def type(self) -> Type:
        """The value's type."""
        return self.held.type  # type: ignore[return-value]

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
        held = self.held
        if isinstance(held, DraftValue):
            return held.node
        from compiler.dialects.mo.ops import nodes_of

        owner = held.owner
        nodes = nodes_of(owner) if hasattr(owner, "location") else ()  # type: ignore[arg-type]
        return nodes[0] if nodes else held.name_hint or "?"

    def named(self, name: str) -> Value:
        """Give the node that makes this value a name of your own."""
        self.graph.rename(self, name)
        return self

    def _shaped(self, what: str) -> TensorType | BufferType:
        type = self.held.type
        if not isinstance(type, (TensorType, BufferType)):
            fail(f"a value of type {type} has no {what}")
        return type

    def __repr__(self) -> str:
        type, name = self.held.type, self.held.name_hint
        if isinstance(type, (TensorType, BufferType)):
            kind = "buffer " if isinstance(type, BufferType) else ""
            return f"<{name}: {kind}{type.dtype} {format_shape(type.shape)}>"
        return f"<{name}: {type}>"

    def __hash__(self) -> int:
        return hash(self._born)  # the same before and after the IR is made

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
        return _ops().getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        fail("graph values do not change; use ops.where, ops.concat or a BufferType input")

    def __add__(self, other: Any) -> Value:
        return _ops().add(self, other)

    def __radd__(self, other: Any) -> Value:
        return _ops().add(other, self)

    def __sub__(self, other: Any) -> Value:
        return _ops().sub(self, other)

    def __rsub__(self, other: Any) -> Value:
        return _ops().sub(other, self)

    def __mul__(self, other: Any) -> Value:
        return _ops().mul(self, other)

    def __rmul__(self, other: Any) -> Value:
        return _ops().mul(other, self)

    def __truediv__(self, other: Any) -> Value:
        return _ops().div(self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return _ops().div(other, self)

    def __floordiv__(self, other: Any) -> Value:
        return _ops().floordiv(self, other)

    def __rfloordiv__(self, other: Any) -> Value:
        return _ops().floordiv(other, self)

    def __mod__(self, other: Any) -> Value:
        return _ops().mod(self, other)

    def __rmod__(self, other: Any) -> Value:
        return _ops().mod(other, self)

    def __pow__(self, other: Any) -> Value:
        return _ops().pow(self, other)

    def __rpow__(self, other: Any) -> Value:
        return _ops().pow(other, self)

    def __matmul__(self, other: Any) -> Value:
        return _ops().matmul(self, other)

    def __rmatmul__(self, other: Any) -> Value:
        return _ops().matmul(other, self)

    def __and__(self, other: Any) -> Value:
        return _ops().bitwise_and(self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Value:
        return _ops().bitwise_or(self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Value:
        return _ops().bitwise_xor(self, other)

    __rxor__ = __xor__

    def __invert__(self) -> Value:
        return _ops().bitwise_not(self)

    def __neg__(self) -> Value:
        return _ops().neg(self)

    def __pos__(self) -> Value:
        return self

    def __abs__(self) -> Value:
        return _ops().abs(self)

    def __eq__(self, other: Any) -> Value:  # type: ignore[override]
        return _ops().equal(self, other)

    def __ne__(self, other: Any) -> Value:  # type: ignore[override]
        return _ops().not_equal(self, other)

    def __lt__(self, other: Any) -> Value:
        return _ops().less(self, other)

    def __le__(self, other: Any) -> Value:
        return _ops().less_equal(self, other)

    def __gt__(self, other: Any) -> Value:
        return _ops().greater(self, other)

    def __ge__(self, other: Any) -> Value:
        return _ops().greater_equal(self, other)

    @property
    def T(self) -> Value:
        """All axes reversed."""
        return _ops().transpose(self)

    def reshape(self, *shape: Any) -> Value:
        """`x.reshape(2, -1)` or `x.reshape((2, -1))`."""
        return _ops().reshape(self, _packed(shape))

    def transpose(self, *axes: Any) -> Value:
        """`x.transpose()` reverses the axes; `x.transpose(0, 2, 1)` permutes them."""
        return _ops().transpose(self, _packed(axes) if axes and axes[0] is not None else None)

    def permute(self, *dims: Any) -> Value:
        """`x.permute(0, 2, 1)`."""
        return _ops().permute(self, _packed(dims))

    def swapaxes(self, axis1: int, axis2: int) -> Value:
        """Two axes exchanged."""
        return _ops().swapaxes(self, axis1, axis2)

    def squeeze(self, axis: Any = None) -> Value:
        """Axes of size 1 dropped."""
        return _ops().squeeze(self, axis)

    def unsqueeze(self, dim: int) -> Value:
        """An axis of size 1 put in."""
        return _ops().unsqueeze(self, dim)

    def flatten(self) -> Value:
        """One axis."""
        return _ops().reshape(self, (-1,))

    ravel = flatten

    def broadcast_to(self, shape: Any) -> Value:
        """Broadcast to a shape."""
        return _ops().broadcast_to(self, shape)

    def cast(self, dtype: str) -> Value:
        """Converted to another dtype."""
        return _ops().cast(self, dtype)

    astype = cast

    def sum(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The sum along axes."""
        return _ops().sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The mean along axes."""
        return _ops().mean(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(self, axis: Any = None, dtype: str | None = None, keepdims: bool = False) -> Value:
        """The product along axes."""
        return _ops().prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False) -> Value:
        """The largest along axes."""
        return _ops().max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False) -> Value:
        """The smallest along axes."""
        return _ops().min(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether any along axes is true."""
        return _ops().any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False) -> Value:
        """Whether all along axes are true."""
        return _ops().all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Value:
        """The index of the largest."""
        return _ops().argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Value:
        """The index of the smallest."""
        return _ops().argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, dtype: str | None = None) -> Value:
        """The running sum."""
        return _ops().cumsum(self, axis=axis, dtype=dtype)

    def round(self, decimals: int = 0) -> Value:
        """Rounded to the nearest, halves to even."""
        return _ops().round(self, decimals)

    def clip(self, a_min: Any = None, a_max: Any = None) -> Value:
        """Limited to a range."""
        return _ops().clip(self, a_min, a_max)


def _packed(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], (tuple, list)) else arguments
