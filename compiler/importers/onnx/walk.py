"""Walking a model: its inputs, weights and nodes in order, functions and decided branches inlined, into one graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from compiler.errors import CompilerError, GraphError, Location, ParseError
from compiler.graph.dims import is_name
from compiler.graph.dtypes import DTYPES
from compiler.graph.graph import Graph
from compiler.graph.location import user_place
from compiler.graph.types import TensorType
from compiler.graph.value import Value
from compiler.importers.modules import module_of_name
from compiler.importers.names import name_after, plain_name
from compiler.importers.onnx.bodies import Bodies, domain_of
from compiler.importers.onnx.node import NeedsValueError, Node, Tensor
from compiler.importers.onnx.reading import array_of, numpy_type, type_name
from compiler.importers.onnx.sizes import evaluate
from compiler.importers.onnx.tables import TABLE

_RESERVED = frozenset({"true", "false", "nan", "inf", "floordiv", "mod"})
_CONTROL = frozenset({"If", "Loop", "Scan"})
Scope = dict[str, Tensor]


class Walk:
    """The import of one model."""

    def __init__(self, model: Any, file: str, folder: Path | None, values: Mapping[str, Any] | None) -> None:
        self.model = model
        self.file = file
        self.folder = folder
        self.given = dict(values or {})
        self.bodies = Bodies(model, file)
        # A short file may ask for endless work by functions that call functions; honest models repeat a little.
        self.budget = 5_000 + 20 * self.bodies.count

    def graph(self) -> Graph:
        """The model as a graph."""
        source = self.model.graph
        self.bodies.check_known()
        scope: Scope = {}
        for tensor in source.initializer:
            scope[tensor.name] = self._weight(tensor)
        if source.sparse_initializer:
            raise self._error("sparse weights are not read; save the model with dense ones")
        inputs = self._inputs(source.input, scope)
        name = plain_name(source.name) or "model"
        self.names = _distinct(inputs)
        self.made = Graph(name, list(inputs.values()), input_names=list(self.names.values()))
        self.made.place = user_place()
        for original, value in zip(inputs, self.made.inputs, strict=True):
            scope[original] = Tensor(original, None, value)
        with self.made:
            self._nodes(source.node, [scope], "", None)
            outputs = [self._output(out.name, scope) for out in source.output]
        if not outputs:
            raise self._error("the model has no outputs")
        self.made.output(*outputs)
        return self.made

    def _error(self, message: str) -> GraphError:
        return GraphError(message, Location(self.file))

    def _output(self, name: str, scope: Scope) -> Value:
        found = scope.get(name)
        if found is None:
            raise self._error(f"the output {name!r} is made by no node")
        try:
            return found.value
        except GraphError as error:
            raise self._error(f"output {name!r}: {error.message}") from None

    def _weight(self, tensor: Any) -> Tensor:
        try:
            return Tensor(tensor.name, array_of(tensor, self.folder))
        except GraphError as error:
            raise self._error(error.message) from None

    def _inputs(self, declared: Iterable[Any], scope: Scope) -> dict[str, TensorType]:
        """The types of the inputs that stay; those whose value is given become constants."""
        types: dict[str, TensorType] = {}
        symbols = _Symbols()
        entries = list(declared)
        known = {entry.name for entry in entries}
        for name in self.given:
            if name not in known and name not in scope:
                raise self._error(
                    f"values gives {name!r}, which is no input; the inputs are {', '.join(sorted(known))}"
                )
        for entry in entries:
            if entry.name in self.given:
                scope[entry.name] = self._fixed(entry)
            elif entry.name not in scope:
                types[entry.name] = self._type(entry, symbols)
        for name in self.given.keys() - known:
            scope[name] = Tensor(name, np.asarray(self.given[name]))
        return types

    def _fixed(self, entry: Any) -> Tensor:
        value = np.asarray(self.given[entry.name])
        kind = entry.type.tensor_type
        if entry.type.WhichOneof("value") == "tensor_type" and value.dtype != object:
            value = value.astype(numpy_type(kind.elem_type), copy=False)
        return Tensor(entry.name, value)

    def _type(self, entry: Any, symbols: _Symbols) -> TensorType:
        if entry.type.WhichOneof("value") != "tensor_type":
            kind = (entry.type.WhichOneof("value") or "untyped").removesuffix("_type")
            raise self._error(f"input {entry.name!r} is a {kind}; only tensors can be compiled")
        kind = entry.type.tensor_type
        dtype = type_name(kind.elem_type)
        if dtype not in DTYPES:
            raise self._error(f"input {entry.name!r} has elements of type {dtype}; the dtypes are {' '.join(DTYPES)}")
        if not kind.HasField("shape"):
            raise self._error(f"input {entry.name!r} has no shape, not even a rank; run ONNX shape inference first")
        shape = [symbols.size(size, entry.name, at) for at, size in enumerate(kind.shape.dim)]
        try:
            return TensorType(dtype, shape)
        except CompilerError as error:
            raise self._error(f"input {entry.name!r}: {error.message}") from None

    def _nodes(self, nodes: Sequence[Any], scopes: list[Scope], prefix: str, outer: Mapping[str, Any] | None) -> None:
        """Import nodes; names are looked up in the innermost scope first, and new ones go there."""
        for at, node in enumerate(nodes):
            self._node(node, at, scopes, prefix, outer)

    def _node(self, node: Any, at: int, scopes: list[Scope], prefix: str, outer: Mapping[str, Any] | None) -> None:
        self.budget -= 1
        if self.budget < 0:
            raise self._error("the model unfolds to too many nodes: its functions or loops repeat without end")
        label = node.name or f"{node.op_type}_{at}"
        domain = domain_of(node)
        opset = self.bodies.opset(domain, outer)
        around = self.made.module
        self.made.module = module_of_name(node.name) or around
        try:
            inputs = [_found(name, scopes) if name else None for name in node.input]
            attributes = self.bodies.attributes(node, outer, self.folder)
            results = self._imported(node, domain, opset, inputs, attributes, scopes, f"{prefix}{label}")
        except NodeError:
            raise
        except RecursionError:
            raise self._error(f"node {prefix}{label!r}: its functions call each other without end") from None
        except CompilerError as error:
            known = NodeError if not isinstance(error, NeedsValueError) else NodeNeedsValueError
            made = known(f"node {prefix + label!r} ({node.op_type}, opset {opset}): {error.message}")
            made.location = Location(self.file)
            if isinstance(made, NodeNeedsValueError):
                names = {plain: original for original, plain in self.names.items()}
                made.inputs = tuple(names[name] for name in error.inputs if name in names)  # type: ignore[attr-defined]
            raise made from error
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, AssertionError,
                MemoryError) as error:  # fmt: skip
            reason = " ".join(str(error).split())[:200] or type(error).__name__
            raise self._error(
                f"node {prefix + label!r} ({node.op_type}, opset {opset}) is malformed: {reason}"
            ) from error
        self.made.module = around
        inner = scopes[-1]
        if len(results) < len([name for name in node.output if name]):
            raise self._error(f"node {prefix + label!r} ({node.op_type}): only {len(results)} of its outputs are known")
        for name, result in zip(node.output, results):
            if name and result is not None:
                inner[name] = Tensor(name, result.content, result.made)

    def _imported(self, node: Any, domain: str, opset: int, inputs: list[Tensor | None], attributes: dict[str, Any],
                  scopes: list[Scope], label: str) -> list[Tensor | None]:  # fmt: skip
        handler = TABLE.get(node.op_type) if domain == "" else None
        body = self.bodies.own(domain, node.op_type)
        if body is not None:
            return self._inlined(body, inputs, attributes, label)
        if handler is None:
            body = self.bodies.of_schema(node, domain, opset, inputs, attributes)
            return self._inlined(body, inputs, attributes, label, {"": opset} if domain == "" else None)

        def run(graph: Any, tensors: Sequence[Tensor]) -> list[Tensor]:
            return self._subgraph(graph, tensors, scopes, f"{label}.")

        made = Node(node.op_type, label, opset, inputs, len(node.output), attributes, run)
        if node.op_type not in _CONTROL:
            folded = evaluate(made, handler)
            if folded is not None:
                return folded
        start = len(self.made.ops)
        given: Any = handler(made)
        if given is NotImplemented:  # a form of the op that the table leaves to ONNX's definition
            body = self.bodies.of_schema(node, domain, opset, inputs, attributes)
            return self._inlined(body, inputs, attributes, label, {"": opset})
        listed = list(given) if isinstance(given, (list, tuple)) else [given]
        tensors = [_as_tensor(result) for result in listed]
        if node.op_type not in _CONTROL:  # whose nodes have names of their own
            self._name(start, label)
        return tensors

    def _name(self, start: int, label: str) -> None:
        """Name what a node became after it, where it has a name."""
        if base := plain_name(label):
            name_after(self.made, start, base)

    def _inlined(self, body: Any, inputs: list[Tensor | None], attributes: dict[str, Any], label: str,
                 opsets: Mapping[str, int] | None = None) -> list[Tensor | None]:  # fmt: skip
        scope: Scope = {}
        for name, tensor in zip(body.input, inputs):
            if tensor is not None:
                scope[name] = tensor
        missing = body.input[len(inputs) :]
        scope.update({name: _ABSENT for name in missing})
        scope.update({name: _ABSENT for name, tensor in zip(body.input, inputs) if tensor is None})
        outer = self.bodies.outer(body, attributes, opsets)
        self._nodes(body.node, [scope], f"{label}.", outer)
        return [scope.get(name) for name in body.output]

    def _subgraph(self, graph: Any, tensors: Sequence[Tensor], scopes: list[Scope], prefix: str) -> list[Tensor]:
        """Import the body of a branch or loop, which sees the names around it."""
        scope: Scope = {}
        for tensor in graph.initializer:
            scope[tensor.name] = self._weight(tensor)
        for entry, tensor in zip(graph.input, tensors):
            scope[entry.name] = tensor
        self._nodes(graph.node, [*scopes, scope], prefix, None)
        found = [_found(out.name, [*scopes, scope]) for out in graph.output]
        return [tensor for tensor in found if tensor is not None]


class NodeError(GraphError):
    """An error that already says its node."""


class NodeNeedsValueError(NodeError, NeedsValueError):
    """The same of a value that is needed."""

    def __init__(self, message: str) -> None:
        GraphError.__init__(self, message)
        self.inputs = ()


_ABSENT = Tensor("")


def _found(name: str, scopes: list[Scope]) -> Tensor | None:
    for scope in reversed(scopes):
        found = scope.get(name)
        if found is not None:
            return None if found is _ABSENT else found
    raise GraphError(f"its input {name!r} is made by no node before it: the graph is cut off, cyclic or out of order")


def _as_tensor(result: Any) -> Tensor | None:
    if result is None or isinstance(result, Tensor):
        return result
    return Tensor("", result) if isinstance(result, np.ndarray) else Tensor("", None, result)


def _distinct(names: Iterable[str]) -> dict[str, str]:
    """Names of inputs as the graph may have them, each its own."""
    taken: set[str] = set()
    out = {}
    for name in names:
        wanted = base = plain_name(name) or "input"
        count = 1
        while wanted in taken:
            count += 1
            wanted = f"{base}_{count}"
        taken.add(wanted)
        out[name] = wanted
    return out


class _Symbols:
    """The names of symbolic sizes: the model's own where they can be names, else made of the input's."""

    def size(self, dim: Any, name: str, at: int) -> Any:
        """One size of an input's shape."""
        if dim.WhichOneof("value") == "dim_value":
            if dim.dim_value < 0:
                raise ParseError(f"input {name!r} has the size {dim.dim_value}")
            return int(dim.dim_value)
        text = dim.dim_param if dim.WhichOneof("value") == "dim_param" else ""
        wanted = re.sub(r"\W+", "_", text or f"{name}_{at}", flags=re.ASCII).strip("_")
        wanted = wanted if wanted and not wanted[0].isdigit() else f"d_{wanted}"
        return wanted if is_name(wanted) and wanted not in _RESERVED else f"d_{wanted}"
