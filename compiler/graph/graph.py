"""The Graph: a named graph under construction, its inputs, and which graph ops are being added to right now.

It begins as a draft (`draft.py`); asked for its IR it becomes one `mo.graph` op, holds that and nothing else, and is
added to there.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.draft import Draft, DraftOp, DraftValue, plain_attrs
from compiler.graph.location import fail, located
from compiler.graph.opspec import SPECS
from compiler.graph.types import BufferType, OpaqueType, TensorType, Type
from compiler.graph.value import Value

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue

    from compiler.dialects.mo.ops import GraphOp

_WRITING = threading.Lock()  # two threads may ask a model for its graph
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
        self.draft: Draft | None = Draft(name, types, names)
        self._op: GraphOp | None = None
        self._begin(self.draft.inputs)

    def _begin(self, inputs: Sequence[DraftValue] | Sequence[SSAValue]) -> None:
        self.custom_references: dict[str, Callable[..., Any]] = {}
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}
        self._scalars: dict[tuple[str, bytes], Value] = {}
        self._chain: Value | None = None
        self._symbols: frozenset[str] = frozenset()
        for argument in inputs:
            self._names.add(argument.name_hint or "")
            if isinstance(argument.type, (TensorType, BufferType)):
                self._symbols |= argument.type.symbols
        self.inputs: tuple[Value, ...] = tuple(Value(a, self) for a in inputs)

    @property
    def op(self) -> GraphOp:
        """The graph as IR, made when first asked for; from then on the graph is what this op holds."""
        if self._op is None:
            with _WRITING:
                if self.draft is not None:
                    from xdsl.dialects.builtin import ModuleOp

                    op, made = self.draft.write()
                    ModuleOp([op])
                    for value, ssa in made.items():
                        value.ssa = ssa
                    self._op, self.draft = op, None
        assert self._op is not None
        return self._op

    @property
    def module(self) -> ModuleOp:
        """The module around the op."""
        return self.op.parent_op()  # type: ignore[return-value]

    def copied_op(self) -> GraphOp:
        """The graph as an op of its own, for whoever will change it."""
        draft = self.draft
        return self.op.clone() if draft is None else draft.write()[0]

    @classmethod
    def from_module(cls, module: ModuleOp) -> Graph:
        """The graph that a module of mo ops holds; ops and inputs without a name are given one."""
        from compiler.dialects.mo.ops import MoOp, graph_of, name_loc, name_results

        graph = cls.__new__(cls)
        op = graph_of(module)
        for index, argument in enumerate(op.body.args):
            if argument.name_hint is None:
                argument._name = f"x{index}"  # type: ignore[reportPrivateUsage]
        graph.draft, graph._op = None, op
        graph._begin(op.body.args)
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
        draft = self.draft
        return self.op.sym_name if draft is None else draft.name

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
        draft = self.draft
        last = self.op.output if draft is None else None
        held = draft.outputs if draft is not None else last.operands if last is not None else ()
        return tuple(Value(o, self) for o in held or ())

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
        if self._finished:
            raise GraphError(f"graph {self.name!r} already has its output")
        if not values:
            raise GraphError(f"graph {self.name!r}: output needs at least one value")
        operands = [v if _is_opaque(v, self) else as_tensor("output", v, self) for v in values]
        if self.draft is not None:
            self.draft.outputs = tuple(self._drafted(v) for v in operands)
            return
        from compiler.dialects.mo.ops import OutputOp

        self.op.body.add_op(OutputOp.create(operands=[v.ssa for v in operands]))

    @property
    def _finished(self) -> bool:
        draft = self.draft
        return self.op.output is not None if draft is None else draft.outputs is not None

    def _drafted(self, value: Value) -> DraftValue:
        held = value.held
        assert isinstance(held, DraftValue)
        return held

    @located
    def emit(
        self,
        op_name: str,
        operands: Sequence[Value],
        attrs: Mapping[str, Any] | None = None,
        result_types: Sequence[Any] | None = None,
    ) -> tuple[Value, ...]:
        """Append an op and give its results; their types come from its rule unless they are given."""
        if self._finished:
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
        attrs, node = plain_attrs(attrs), self._fresh_name(spec.short)
        if self.draft is not None:
            made = DraftOp(op_name, [self._drafted(o) for o in operands], result_types, attrs, node)
            self.draft.ops.append(made)
        else:
            from compiler.dialects.mo.ops import make

            made = make(op_name, [o.ssa for o in operands], result_types, attrs, (node,))
            self.op.body.add_op(made)
        return tuple([Value(result, self) for result in made.results])

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
        self._names.add(name)
        held = value.held
        if isinstance(held, DraftValue):
            held.rename(name)
            return
        from compiler.dialects.mo.ops import MoOp, name_loc, name_results

        owner = held.owner
        if isinstance(owner, MoOp):
            name_results(owner, name)
            owner.location = name_loc(name)
        else:
            held._name = name  # type: ignore[reportPrivateUsage]
            held.location = name_loc(name)  # type: ignore[attr-defined]

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
        if not self._finished:
            raise GraphError(f"graph {self.name!r} has no output; finish it with graph.output(value)")
        if self.draft is not None:
            for drafted in self.draft.ops:
                drafted.check()
            return
        from xdsl.utils.exceptions import VerifyException

        from compiler.dialects.mo.ops import MoOp, check_op

        for op in self.op.body.ops:
            if isinstance(op, MoOp):
                try:
                    check_op(op)
                except VerifyException as error:
                    raise GraphError(str(error)) from error

    def __str__(self) -> str:
        from compiler.dialects.mo.writing import text_of

        return text_of(self.module)

    def __repr__(self) -> str:
        draft = self.draft
        count = sum(1 for _ in self.op.body.ops) if draft is None else len(draft.ops) + (draft.outputs is not None)
        return f"<Graph {self.name!r}: {len(self.inputs)} inputs, {count} ops>"


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
