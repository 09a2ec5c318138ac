"""Sizes that `torch.compile(dynamic=True)` leaves open: which axes of which arguments, and how they are exported.

PyTorch hands a graph its open sizes as arguments of their own beside the tensors. Exported is a module of the tensors
alone, which takes each such number from the axis of a tensor that it is the size of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.errors import GraphError


@dataclass(frozen=True)
class OpenSizes:
    """By the position of an argument: the names of a tensor's open sizes by axis, and where a number is found."""

    axes: Mapping[int, Mapping[int, str]]
    numbers: Mapping[int, tuple[int, int]]
    items: frozenset[int] = frozenset()  # tensors that are asked for their one number

    def key(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """What a program depends on: everything but the open sizes."""
        return tuple([self._part(k, a) for k, a in enumerate(args)])

    def _part(self, position: int, value: Any) -> Any:
        if position in self.numbers:
            return None
        if not hasattr(value, "get_device"):
            return value
        if position in self.items:
            return value.item()
        names = self.axes.get(position, {})
        shape = tuple([None if axis in names else size for axis, size in enumerate(value.shape)])
        return shape, value.dtype, value.get_device()

    def given(self, args: Sequence[Any]) -> list[Any]:
        """The arguments that an exported program is called with."""
        return [value for position, value in enumerate(args) if position not in self.numbers]

    def module(self, torch: Any, inner: Any) -> Any:
        """A module of those arguments."""
        numbers = self.numbers

        def sized(inner: Any, *args: Any) -> Any:
            rest = iter(args)
            whole: list[Any] = [None if k in numbers else next(rest) for k in range(len(args) + len(numbers))]
            for k, (position, axis) in numbers.items():
                whole[k] = whole[position].shape[axis]
            return inner(*whole)

        return module_around(torch, inner, sized)

    def exported_shapes(self, torch: Any, count: int) -> tuple[Any, ...]:
        """What `torch.export` is told of so many arguments of the graph."""
        told = [
            dict.fromkeys(self.axes.get(k, {}), torch.export.Dim.AUTO) or None
            for k in range(count) if k not in self.numbers
        ]  # fmt: skip
        return (tuple(told),)

    def check(self, program: Any, count: int) -> None:
        """Refuse an export in which a size that was to be open is not."""
        wanted = [self.axes.get(k, {}) for k in range(count) if k not in self.numbers]
        given = set(program.graph_signature.user_inputs)
        nodes = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in given]
        for node, axes in zip(nodes, wanted):
            for axis, name in axes.items():
                if isinstance(node.meta["val"].shape[axis], int):
                    raise GraphError(f"it is for one size of {name} only")


def open_sizes(module: Any) -> OpenSizes | None:
    """The sizes that a graph of PyTorch's tracing leaves open; None where there are none, or one is no plain symbol."""
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    examples = [node.meta.get("example_value") for node in nodes]
    axes: dict[int, dict[int, str]] = {}
    homes: dict[str, tuple[int, int]] = {}
    for position, value in enumerate(examples):
        for axis, size in enumerate(getattr(value, "shape", ())):
            name = _symbol(size)
            if name == "":
                return None
            if name is not None:
                axes.setdefault(position, {})[axis] = name
                homes.setdefault(name, (position, axis))
    names = {k: _symbol(value) for k, value in enumerate(examples) if not hasattr(value, "shape")}
    numbers = {k: name for k, name in names.items() if name is not None}
    if not axes or not set(numbers.values()) <= homes.keys():
        return None
    return OpenSizes(axes, {k: homes[name] for k, name in numbers.items()}, frozenset(asked_numbers(module)))


def asked_numbers(module: Any) -> dict[int, list[Any]]:
    """Arguments that are tensors only so that a number of Python's may change, with the nodes that ask for it."""
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    asked = {k: list(node.users) for k, node in enumerate(nodes)}
    return {k: users for k, users in asked.items() if users and all(map(_is_item, users))}


def _is_item(node: Any) -> bool:
    return node.op == "call_method" and node.target == "item"


def with_numbers(torch: Any, module: Any, args: Sequence[Any]) -> Any:
    """The module with those numbers as they are in a call; the module itself where there are none."""
    held = {node: args[k].item() for k, nodes in asked_numbers(module).items() for node in nodes}
    if not held:
        return module

    class Numbered(torch.fx.Interpreter):
        def run_node(self, n: Any) -> Any:
            return held[n] if n in held else super().run_node(n)

    return module_around(torch, module, lambda inner, *given: Numbered(inner).run(*given))


def module_around(torch: Any, module: Any, call: Callable[..., Any]) -> Any:
    """A module that has another one inside, and calls it so: `call(inner, *args)`."""

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *args: Any) -> Any:
            return call(self.inner, *args)

    return Whole().train(module.training)


def _symbol(size: Any) -> str | None:
    """The name of an open size; None for a number that is known, nothing for an expression."""
    expression = getattr(getattr(size, "node", None), "expr", None)
    if expression is None or getattr(expression, "is_number", False):
        return None
    return str(expression) if getattr(expression, "is_symbol", False) else ""
