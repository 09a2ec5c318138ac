"""The Graph: a named `mo.graph` op under construction, its inputs, and which graph ops are being added to right now."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from compiler.dialects.mo.ops import (
    GraphOp,
    MoOp,
    OutputOp,
    check_op,
    graph_of,
    make,
    make_graph,
    name_loc,
    name_results,
)
from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.location import fail, located
from compiler.graph.opspec import SPECS
from compiler.graph.types import BufferType, OpaqueType, TensorType, Type
from compiler.graph.value import Value

_NAME = re.compile(r"[A-Za-z_$.-][\w$.-]*\Z", re.ASCII)
_entered: ContextVar[tuple[Graph, ...]] = ContextVar("entered_graphs", default=())


def current_graph() -> Graph | None:
    """The graph of the innermost `with graph:` of this thread."""
    stack = _entered.get()
    return stack[-1] if stack else None


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
        op = make_graph(name, types, names)
        self._attach(ModuleOp([op]), op)

    def _attach(self, module: ModuleOp, op: GraphOp) -> None:
        self.module = module
        self.op = op
        self.custom_references: dict[str, Callable[..., Any]] = {}
        self._block = op.body
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._scalars: dict[tuple[str, bytes], SSAValue] = {}
        self._chain: SSAValue | None = None
        self._symbols: frozenset[str] = frozenset()
        for argument in op.body.args:
            self._names.add(argument.name_hint or "")
            if isinstance(argument.type, (TensorType, BufferType)):
                self._symbols |= argument.type.symbols
        self.inputs: tuple[Value, ...] = tuple(Value(a, self) for a in op.body.args)

    @classmethod
    def from_module(cls, module: ModuleOp) -> Graph:
        """The graph that a module of mo ops holds; ops and inputs without a name are given one."""
        graph = cls.__new__(cls)
        op = graph_of(module)
        for index, argument in enumerate(op.body.args):
            if argument.name_hint is None:
                argument._name = f"x{index}"  # type: ignore[reportPrivateUsage]
        graph._attach(module, op)
        for inner in op.body.ops:
            graph._names |= {r.name_hint for r in inner.results if r.name_hint}
        for inner in op.body.ops:
            if isinstance(inner, MoOp) and inner.results and inner.results[0].name_hint is None:
                name = graph._fresh_name(inner.spec.short)
                name_results(inner, name)
                inner.location = name_loc(name)
        return graph

    @property
    def name(self) -> str:
        """The graph's name."""
        return self.op.sym_name

    @property
    def input_types(self) -> tuple[Type, ...]:
        """The types of the inputs."""
        return tuple(v.type for v in self.inputs)

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(v.node_name for v in self.inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values given to `output`; none before that."""
        last = self.op.output
        return () if last is None else tuple(Value(o, self) for o in last.operands)

    @property
    def output_types(self) -> tuple[Type, ...]:
        """The types of the outputs."""
        return tuple(v.type for v in self.outputs)

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbolic dims that the inputs bind."""
        return self._symbols

    def __enter__(self) -> Graph:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.set(_entered.get()[:-1])

    @located
    def output(self, *values: Any) -> None:
        """Finish the graph: these values are what it gives back."""
        from compiler.graph.ops.build import as_tensor

        if len(values) == 1 and isinstance(values[0], (tuple, list)):
            values = tuple(values[0])
        if self.op.output is not None:
            raise GraphError(f"graph {self.name!r} already has its output")
        if not values:
            raise GraphError(f"graph {self.name!r}: output needs at least one value")
        operands = [v.ssa if _is_opaque(v, self) else as_tensor("output", v, self).ssa for v in values]
        self._block.add_op(OutputOp.create(operands=operands))

    @located
    def emit(
        self,
        op_name: str,
        operands: Sequence[SSAValue],
        attrs: Mapping[str, Any] | None = None,
        result_types: Sequence[Attribute] | None = None,
    ) -> MoOp:
        """Append an op; its result types come from its rule unless they are given."""
        last = self._block.last_op
        if last is not None and last.name == "mo.output":
            raise GraphError(f"graph {self.name!r} is finished: ops go before its output")
        spec = SPECS[op_name]
        if result_types is None:
            assert spec.infer is not None
            result_types = spec.infer([o.type for o in operands], attrs or {})
        for type in result_types:
            for size in getattr(type, "shape", ()):
                if isinstance(size, Dim) and not size.symbols <= self._symbols:
                    free = ", ".join(sorted(size.symbols - self._symbols))
                    raise GraphError(f"{op_name}: the dim {free} is not a dim of any input of graph {self.name!r}")
        op = make(op_name, operands, result_types, attrs, (self._fresh_name(spec.short),))
        self._block.add_op(op)
        return op

    def _fresh_name(self, short: str) -> str:
        count = self._counts.get(short, 0)
        while (name := f"{short}_{count}") in self._names:
            count += 1
        self._counts[short] = count + 1
        self._names.add(name)
        return name

    def rename(self, value: Value, name: str) -> None:
        """Give the op behind a value another node name."""
        if value.graph is not self:
            fail(f"{value!r} belongs to graph {value.graph.name!r}, not to {self.name!r}")
        if not _NAME.match(name):
            fail(f"{name!r} is not a node name; use letters, digits and _ $ . -")
        if name in self._names:
            fail(f"graph {self.name!r} already has a node {name!r}")
        owner = value.ssa.owner
        self._names.add(name)
        if isinstance(owner, MoOp):
            name_results(owner, name)
            owner.location = name_loc(name)
        else:
            value.ssa._name = name  # type: ignore[reportPrivateUsage]
            value.ssa.location = name_loc(name)  # type: ignore[attr-defined]

    def scalar(self, number: np.ndarray, dtype: str) -> SSAValue:
        """A constant of shape (), made once per graph and bit pattern."""
        key = (dtype, number.tobytes())
        found = self._scalars.get(key)
        if found is None:
            found = self._scalars[key] = self.emit("mo.constant", (), {"value": number}).results[0]
        return found

    @property
    def chain(self) -> SSAValue:
        """The chain of side effects so far; the first use starts it."""
        if self._chain is None:
            self._chain = self.emit("mo.chain", ()).results[0]
        return self._chain

    @chain.setter
    def chain(self, value: SSAValue) -> None:
        self._chain = value

    @located
    def verify(self) -> None:
        """Check every op against its rule, and that there is an output; what is wrong is a GraphError."""
        if self.op.output is None:
            raise GraphError(f"graph {self.name!r} has no output; finish it with graph.output(value)")
        for op in self._block.ops:
            if isinstance(op, MoOp):
                try:
                    check_op(op)
                except VerifyException as error:
                    raise GraphError(str(error)) from error

    def __str__(self) -> str:
        from compiler.dialects.mo.writing import text_of

        return text_of(self.module)

    def __repr__(self) -> str:
        return f"<Graph {self.name!r}: {len(self.inputs)} inputs, {sum(1 for _ in self._block.ops)} ops>"


def _is_opaque(value: Any, graph: Graph) -> bool:
    return isinstance(value, Value) and value.graph is graph and isinstance(value.type, OpaqueType)


def _input_type(given: Any, at: int) -> Type:
    if not isinstance(given, Type):
        raise GraphError(f"input {at} must be a TensorType or BufferType, not {given!r}")
    return given


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
