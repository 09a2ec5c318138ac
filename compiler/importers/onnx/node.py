"""What an op's entry in the tables is given: a node with its tensors, attributes and opset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim
from compiler.graph.types import Shape, Size
from compiler.graph.value import Value
from compiler.importers.compose.functions import size_value
from compiler.importers.names import plain_name


class NeedsValueError(GraphError):
    """A node needs what a tensor holds while the model is imported; `inputs` are the graph's that it comes from."""

    def __init__(self, message: str, inputs: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.inputs = inputs


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor of the model: what it holds where that is known, and the graph's value for it, made when asked for.

    `content` is an array, or an array of objects where some elements are symbolic sizes.
    """

    name: str
    content: np.ndarray | None = None
    made: Value | None = None

    @property
    def value(self) -> Value:
        """The graph's value."""
        if self.made is None:
            assert self.content is not None
            self.made = constant(self.content)
            name = plain_name(self.name)
            if name and self.content.ndim and self.content.dtype != object:  # numbers alone are shared
                self.made.named(self.made.graph.free_name(name))
        return self.made

    @property
    def shape(self) -> Shape:
        """Its sizes."""
        return tuple(self.content.shape) if self.content is not None else self.value.shape


def constant(content: np.ndarray) -> Value:
    """An array as a constant of the graph: the one place where weights enter it."""
    if content.dtype == object:
        sizes = [size_value(size) for size in content.ravel()]
        return ops.reshape(ops.stack(sizes), content.shape) if content.ndim else sizes[0]
    return ops.constant(content)


Result = Value | Tensor | np.ndarray
Handler = Callable[["Node"], Result | Sequence[Result | None]]


@dataclass(slots=True, eq=False)
class Node:
    """A node whose inputs are resolved."""

    op: str
    label: str
    opset: int
    inputs: list[Tensor | None]
    outputs: int
    attributes: dict[str, Any]
    run: Callable[..., Any]
    """Imports a subgraph: `run(graph, tensors of its inputs)` gives the tensors of its outputs."""

    def has(self, at: int) -> bool:
        """Whether an input is given."""
        return at < len(self.inputs) and self.inputs[at] is not None

    def tensor(self, at: int) -> Tensor:
        """An input."""
        if at < len(self.inputs):
            found = self.inputs[at]
            if found is not None:
                return found
        raise GraphError(f"input {at} is missing")

    def x(self, at: int = 0) -> Value:
        """An input as a value of the graph."""
        return self.tensor(at).value

    def maybe(self, at: int) -> Value | None:
        """An optional input."""
        return self.x(at) if self.has(at) else None

    def values(self) -> list[Value]:
        """All inputs, of which there is one at least."""
        if not self.inputs:
            raise GraphError("it has no inputs")
        return [self.x(at) for at in range(len(self.inputs))]

    def known(self, at: int) -> np.ndarray:
        """What an input holds, which must be known now."""
        tensor = self.tensor(at)
        if tensor.content is None:
            sources = _sources(tensor.value)
            given = ", ".join(f"{name!r}: ..." for name in sources)
            help = f"; give from_onnx values={{{given}}}" if sources else ""
            raise NeedsValueError(f"its input {tensor.name!r} must be known when the model is imported{help}", sources)
        return tensor.content

    def sizes(self, at: int) -> list[Size]:
        """An input as a list of whole numbers and symbolic sizes."""
        return [size if isinstance(size, Dim) else _whole(size) for size in self.known(at).ravel()]

    def ints(self, at: int) -> list[int]:
        """An input as a list of whole numbers."""
        found = self.sizes(at)
        for size in found:
            if isinstance(size, Dim):
                raise GraphError(f"its input {self.tensor(at).name!r} must be numbers, but holds the size {size}")
        return found  # type: ignore[return-value]

    def number(self, at: int) -> Any:
        """An input of one element."""
        flat = self.known(at).ravel()
        if flat.size != 1:
            raise GraphError(f"its input {self.tensor(at).name!r} must have one element, not {flat.size}")
        return flat[0] if isinstance(flat[0], (Dim, int)) else flat[0].item()

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def need(self, name: str) -> Any:
        """An attribute that must be there."""
        if name not in self.attributes:
            raise GraphError(f"the attribute {name!r} is missing")
        return self.attributes[name]

    def listed(self, name: str, at: int) -> list[int] | None:
        """Whole numbers that older opsets have as an attribute and newer ones as an input; None where not given."""
        if self.has(at):
            return self.ints(at)
        given = self.attr(name)
        return None if given is None else list(given) if isinstance(given, (list, tuple)) else [given]


def _sources(value: Value) -> tuple[str, ...]:
    """The inputs of the graph that a value is computed from."""
    found: dict[str, None] = {}
    seen: set[Value] = set()
    left = [value]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        if one.owner is None:
            found[one.name] = None
        else:
            left.extend(one.owner.operands)
    return tuple(found)


def _whole(size: Any) -> int:
    if isinstance(size, (float, np.floating)) and size != int(size):
        raise GraphError(f"{size} is not a whole number")
    return int(size)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    if not -rank <= axis < rank:
        raise GraphError(f"axis {axis} is outside a rank of {rank}")
    return axis % rank
