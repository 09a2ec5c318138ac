"""A graph as plain data, to be handed to another process: its ops in order, values by number, constants as arrays.

Arrays stay the ones the graph has; whoever sends a document sends them by reference. Neither making a document of a
graph nor making the graph again needs xDSL, so that a child which finds its model in the cache starts without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.graph.dim_text import parse_dim
from compiler.graph.dims import Dim
from compiler.graph.draft import Draft, DraftOp, DraftValue
from compiler.graph.graph import Graph
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueType, TensorType, Type


@dataclass(frozen=True)
class TypeDocument:
    """A type: the class it is of, its dtype (or label), and its shape, with symbolic sizes as text."""

    kind: str
    name: str = ""
    shape: tuple[int | str, ...] = ()


@dataclass(frozen=True, eq=False)
class OpDocument:
    """An op: the numbers of its operands, its results' types by their place in the table, its attributes and node."""

    name: str
    operands: tuple[int, ...]
    types: tuple[int, ...]
    attrs: dict[str, Any]
    node: str


@dataclass(frozen=True, eq=False)
class GraphDocument:
    """A graph; values are numbered: the inputs first, then the results of each op. `text` is one that is IR already."""

    name: str
    types: tuple[TypeDocument, ...] = ()
    inputs: tuple[tuple[str, int], ...] = ()
    ops: tuple[OpDocument, ...] = ()
    outputs: tuple[int, ...] | None = None
    text: str = ""


class _NotPlain(Exception):
    """An attribute of the IR, which only its text can carry."""


def document_of(graph: Graph) -> GraphDocument:
    """A graph as plain data."""
    draft = graph.draft
    try:
        if draft is not None:
            return _draft_document(draft)
    except _NotPlain:
        pass
    return GraphDocument(graph.name, text=str(graph))


def _draft_document(draft: Draft) -> GraphDocument:
    types: dict[Type, int] = {}
    numbers: dict[DraftValue, int] = {value: number for number, value in enumerate(draft.inputs)}
    inputs = tuple((value.node, types.setdefault(value.type, len(types))) for value in draft.inputs)
    ops: list[OpDocument] = []
    for op in draft.ops:
        kinds = tuple([types.setdefault(result.type, len(types)) for result in op.results])
        operands = tuple([numbers[value] for value in op.operands])
        attrs = {name: _plain(value) for name, value in op.attrs.items()}
        ops.append(OpDocument(op.name, operands, kinds, attrs, op.node))
        for result in op.results:
            numbers[result] = len(numbers)
    outputs = None if draft.outputs is None else tuple(numbers[value] for value in draft.outputs)
    return GraphDocument(draft.name, tuple(map(_type_document, types)), inputs, tuple(ops), outputs)


def graph_of(document: GraphDocument, source: str = "") -> Graph:
    """The graph behind a document; `source` names it in errors."""
    if document.text:
        from compiler.importers.mlir_text import parse_graph

        return parse_graph(document.text, source)
    types = [_type(entry) for entry in document.types]
    names, kinds = [name for name, _ in document.inputs], [types[kind] for _, kind in document.inputs]
    graph = Graph(document.name, kinds, input_names=names)
    draft = graph.draft
    assert draft is not None
    values: list[DraftValue] = list(draft.inputs)
    for entry in document.ops:
        attrs = {name: _value(value) for name, value in entry.attrs.items()}
        operands = [values[number] for number in entry.operands]
        op = DraftOp(entry.name, operands, [types[kind] for kind in entry.types], attrs, entry.node)
        draft.ops.append(op)
        values += op.results
    if document.outputs is not None:
        draft.outputs = tuple(values[number] for number in document.outputs)
    return graph


def _type_document(kind: Type) -> TypeDocument:
    if isinstance(kind, TensorType | BufferType):
        shape = tuple(size if isinstance(size, int) else str(size) for size in kind.shape)
        return TypeDocument(type(kind).__name__, kind.dtype, shape)
    return TypeDocument(type(kind).__name__, kind.label if isinstance(kind, OpaqueType) else "")


def _type(entry: TypeDocument) -> Type:
    if entry.kind == ChainType.__name__:
        return CHAIN
    if entry.kind == OpaqueType.__name__:
        return OpaqueType(entry.name)
    shape = tuple(size if isinstance(size, int) else parse_dim(size) for size in entry.shape)
    return (BufferType if entry.kind == BufferType.__name__ else TensorType).of(entry.name, shape)


def _plain(value: Any) -> Any:
    """An attribute; a symbolic size is told from a text by the table around it."""
    if isinstance(value, Dim):
        return {"dim": str(value)}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool | int | float | str | np.ndarray):
        return value
    raise _NotPlain


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple(map(_value, plain))
    if isinstance(plain, dict):
        return parse_dim(plain["dim"])
    if isinstance(plain, np.ndarray):  # into memory like any other: pages mapped from a file may be slower to read
        plain = np.array(plain)
        plain.flags.writeable = False
    return plain
