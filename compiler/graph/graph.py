"""The Graph: a named graph under construction, its inputs, its ops in order and its outputs, all of them plain records.

The IR of the mo dialect is made from it by `dialects.mo.from_graph` and read back by `dialects.mo.to_graph`. A graph
that the model cache knows is never asked for its IR, so that a start from the cache does without importing xDSL, which
takes longer than all of the rest of such a start.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.attrs import plain_attrs, symbols_in
from compiler.graph.location import fail, located, user_place
from compiler.graph.ops.build import as_tensor
from compiler.graph.ops.specs import SPECS
from compiler.graph.text import graph_text
from compiler.graph.types import ChainType, OpaqueType, Type, sizes_in
from compiler.graph.value import Op, Value, entered

_NAME = re.compile(r"[A-Za-z_$.-][\w$.-]*\Z", re.ASCII)


MOST_AXES = 32


class Graph:
    """A graph of tensor ops. Give its inputs' types, build inside `with graph:`, and finish with `graph.output(...)`.

    >>> with Graph("double", inputs=[TensorType("f32", ("M", 4))]) as g:
    ...     g.output(g.inputs[0] * 2)
    >>> g.output_types
    (TensorType('f32', (M, 4)),)
    """

    @located
    def __init__(
        self,
        name: str,
        inputs: Sequence[Type] | Mapping[str, Type] = (),
        *,
        input_names: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise GraphError(f"a graph's name is a non-empty string, not {name!r}")
        if isinstance(inputs, Mapping):
            input_names, inputs = list(inputs), list(inputs.values())
        types = [_input_type(t, at) for at, t in enumerate(inputs)]
        names = _checked_names(input_names, len(types))
        self._begin(name, types, names)

    @classmethod
    def of(cls, name: str, types: Sequence[Type], names: Sequence[str]) -> Graph:
        """A graph without ops whose name and inputs are known to be well formed; no checks."""
        graph = cls.__new__(cls)
        graph._begin(name, types, names)
        return graph

    def _begin(self, name: str, types: Sequence[Type], names: Sequence[str]) -> None:
        self.name = name
        self.inputs: tuple[Value, ...] = tuple([Value(t, n, None, self) for t, n in zip(types, names, strict=True)])
        self.ops: list[Op] = []
        self.outputs: tuple[Value, ...] = ()  # the values given to `output`; none before that
        self.places: dict[str, tuple[str, int]] = {}  # by node: the user's file and line that made it
        self.place: tuple[str, int] | None = None  # of all that is built, where one line of the user's makes it all
        self.custom_references: dict[str, Callable[..., Any]] = {}
        self.module = ""  # what is being built belongs to it, as `encoder/layer.0/attention`
        self.modules: dict[str, str] = {}  # of the nodes that were built in one
        self._names = set(names)
        self._counts: dict[str, int] = {}
        self._scalars: dict[tuple[str, bytes], Value] = {}
        self._chain: Value | None = None
        self._symbols: frozenset[str] = frozenset()
        for type in types:
            if not isinstance(type, ChainType):
                self._symbols |= type.symbols

    @property
    def input_types(self) -> tuple[Type, ...]:
        """The types of the inputs."""
        return tuple(v.type for v in self.inputs)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(v.node_name for v in self.inputs)

    @property
    def output_types(self) -> tuple[Type, ...]:
        """The types of the outputs."""
        return tuple(v.type for v in self.outputs)

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbolic dims that the inputs bind."""
        return self._symbols

    def __enter__(self) -> Graph:
        entered.set((*entered.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        entered.set(entered.get()[:-1])

    @located
    def output(self, *values: Any) -> None:
        """Finish the graph: these values are what it gives back."""
        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = tuple(values[0])
        if self.outputs:
            raise GraphError(f"graph {self.name!r} already has its output")
        if not values:
            raise GraphError(f"graph {self.name!r}: output needs at least one value")
        self.outputs = tuple([v if _is_opaque(v, self) else as_tensor("output", v, self) for v in values])

    @located
    def emit(
        self,
        op_name: str,
        operands: Sequence[Value],
        attrs: Mapping[str, Any] | None = None,
        result_types: Sequence[Any] | None = None,
    ) -> tuple[Value, ...]:
        """Append an op and give its results; their types come from its rule unless they are given."""
        if self.outputs:
            raise GraphError(f"graph {self.name!r} is finished: ops go before its output")
        spec = SPECS[op_name]
        if result_types is None:
            assert spec.infer is not None
            result_types = spec.infer([o.type for o in operands], attrs or {})
        kept = plain_attrs(attrs)
        for type in result_types:
            check_rank(op_name, type)
        for value in (*map(sizes_in, result_types), *kept.values()):
            found = symbols_in(value)
            if found and not found <= self._symbols:
                free = ", ".join(sorted(found - self._symbols))
                raise GraphError(f"{op_name}: the dim {free} is not a dim of any input of graph {self.name!r}")
        node = self.fresh_name(spec.short)
        if self.module:
            self.modules[node] = self.module
        self.places[node] = self.place or user_place()
        names = [node] if len(result_types) == 1 else [node, *[f"{node}.{k}" for k in range(1, len(result_types))]]
        return self.add(op_name, operands, kept, (node,), zip(names, result_types)).results

    def add(
        self, op_name: str, operands: Sequence[Value], attrs: dict[str, Any], nodes: tuple[str, ...],
        results: Iterable[tuple[str, Type]],
    ) -> Op:  # fmt: skip
        """Append an op as it is said; `results` are names and types. Nothing is checked."""
        op = Op(SPECS[op_name], operands, attrs, nodes, results, self)
        self.ops.append(op)
        return op

    def take_names(self, names: Iterable[str]) -> None:
        """Keep names from being given to later ops."""
        self._names.update(names)

    def fresh_name(self, short: str) -> str:
        """A name for the next node of a kind: `add_3`."""
        count = self._counts.get(short, 0)
        while (name := f"{short}_{count}") in self._names:
            count += 1
        self._counts[short] = count + 1
        self._names.add(name)
        return name

    def free_name(self, wanted: str) -> str:
        """The name, or where a node has it already one with a number behind it; it is not taken by this."""
        if wanted not in self._names:
            return wanted
        count = self._counts.get(wanted, 0)
        while (name := f"{wanted}_{count}") in self._names:
            count += 1
        self._counts[wanted] = count + 1
        return name

    def rename(self, value: Value, name: str) -> None:
        """Give the op behind a value another node name."""
        if value.graph is not self:
            fail(f"{value!r} belongs to graph {value.graph.name!r}, not to {self.name!r}")
        if not _NAME.match(name):
            fail(f"{name!r} is not a node name; use letters, digits and _ $ . -")
        if name in self._names:
            fail(f"graph {self.name!r} already has a node {name!r}")
        self._names.add(name)
        if value.owner is None:
            value.name = name
            return
        if module := self.modules.pop(value.owner.nodes[0], ""):
            self.modules[name] = module
        if value.node_name in self.places:
            self.places[name] = self.places.pop(value.node_name)
        value.owner.nodes = (name,)
        for index, result in enumerate(value.owner.results):
            result.name = f"{name}.{index}" if index else name

    def scalar(self, number: np.ndarray, dtype: str) -> Value:
        """A constant of shape (), made once per graph and bit pattern."""
        key = (dtype, number.tobytes())
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = self.emit("mo.constant", (), {"value": number})[0]
        return found

    @property
    def chain(self) -> Value:
        """The chain of side effects so far; the first use starts it."""
        if self._chain is None:
            self._chain = self.emit("mo.chain", ())[0]
        return self._chain

    @chain.setter
    def chain(self, value: Value) -> None:
        self._chain = value

    @located
    def verify(self) -> None:
        """Check every op against its rule, and that there is an output; what is wrong is a GraphError."""
        if not self.outputs:
            raise GraphError(f"graph {self.name!r} has no output; finish it with graph.output(value)")
        for op in self.ops:
            op.check()

    def __str__(self) -> str:
        return graph_text(self.name, self.inputs, self.ops, self.outputs)

    def __repr__(self) -> str:
        count = len(self.ops) + bool(self.outputs)
        return f"<Graph {self.name!r}: {len(self.inputs)} inputs, {count} ops>"


def _is_opaque(value: Any, graph: Graph) -> bool:
    return isinstance(value, Value) and value.graph is graph and isinstance(value.type, OpaqueType)


def _input_type(given: Any, at: int) -> Type:
    if not isinstance(given, Type):
        raise GraphError(f"input {at} must be a TensorType or BufferType, not {given!r}")
    check_rank(f"input {at}", given)
    return given


def check_rank(what: str, type: Any) -> None:
    """Refuse a type of more axes than kernels and NumPy go through."""
    if (rank := len(getattr(type, "shape", ()))) > MOST_AXES:
        raise GraphError(f"{what}: {rank} axes; a tensor has at most {MOST_AXES}")


def _checked_names(names: Iterable[str] | None, count: int) -> list[str]:
    if names is None:
        return [f"x{index}" for index in range(count)]
    names = list(names)
    if len(names) != count:
        raise GraphError(f"{len(names)} input names for {count} inputs")
    for name in names:
        if not isinstance(name, str) or not _NAME.match(name):
            raise GraphError(f"{name!r} is not an input name; use letters, digits and _ $ . -")
    if len(set(names)) != count:
        raise GraphError("two inputs have the same name")
    return names
