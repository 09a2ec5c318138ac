"""A graph as plain data, to be handed to another process: its ops in order, values by number, constants as arrays.

Arrays stay the ones the graph has; whoever sends a document sends them by reference. Many large ones in memory are put
into files for that, by their content: whoever reads those maps the same pages. Neither making a document of a
graph nor making the graph again needs xDSL, so that a child which finds its model in the cache starts without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.artifact.plain_types import PlainType, plain_type, read_size, read_type
from compiler.constants.file_arrays import is_large, place_of
from compiler.constants.sharing import shared_array
from compiler.graph.dims import Dim
from compiler.graph.graph import Graph
from compiler.graph.types import Type
from compiler.graph.value import Value


@dataclass(frozen=True, eq=False)
class OpDocument:
    """An op: the numbers of its operands, names and types (by their place in the table) of its results, its nodes."""

    name: str
    operands: tuple[int, ...]
    results: tuple[tuple[str, int], ...]
    attrs: dict[str, Any]
    nodes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class GraphDocument:
    """A graph; values are numbered: the inputs first, then the results of each op. `text` has one that is not plain."""

    name: str
    types: tuple[PlainType, ...] = ()
    inputs: tuple[tuple[str, int], ...] = ()
    ops: tuple[OpDocument, ...] = ()
    outputs: tuple[int, ...] = ()
    text: str = ""


_MOST_IN_MEMORY = 256 << 20  # bytes of large arrays that each process may have a copy of


class _NotPlain(Exception):
    """An attribute of the IR, which only its text can carry."""


def document_of(graph: Graph) -> GraphDocument:
    """A graph as plain data."""
    types: dict[Type, int] = {}

    def typed(values: Sequence[Value]) -> tuple[tuple[str, int], ...]:
        return tuple([(value.name, types.setdefault(value.type, len(types))) for value in values])

    plain = _plain if _large_bytes(graph) <= _MOST_IN_MEMORY else _plain_shared
    numbers: dict[Value, int] = {value: number for number, value in enumerate(graph.inputs)}
    inputs = typed(graph.inputs)
    ops: list[OpDocument] = []
    try:
        for op in graph.ops:
            attrs = {name: plain(value) for name, value in op.attrs.items()}
            operands = tuple([numbers[value] for value in op.operands])
            ops.append(OpDocument(op.name, operands, typed(op.results), attrs, op.nodes))
            for result in op.results:
                numbers[result] = len(numbers)
    except _NotPlain:
        return GraphDocument(graph.name, text=str(graph))
    outputs = tuple([numbers[value] for value in graph.outputs])
    return GraphDocument(graph.name, tuple(map(plain_type, types)), inputs, tuple(ops), outputs)


def graph_of(document: GraphDocument, source: str = "") -> Graph:
    """The graph behind a document; `source` names it in errors."""
    if document.text:
        from compiler.importers.mlir_text import parse_graph

        return parse_graph(document.text, source)
    types = [read_type(*entry) for entry in document.types]
    graph = Graph.of(document.name, [types[kind] for _, kind in document.inputs], [name for name, _ in document.inputs])
    values: list[Value] = list(graph.inputs)
    for entry in document.ops:
        attrs = {name: _value(value) for name, value in entry.attrs.items()}
        operands = [values[number] for number in entry.operands]
        results = [(name, types[kind]) for name, kind in entry.results]
        values += graph.add(entry.name, operands, attrs, entry.nodes, results).results
    graph.take_names(value.name for value in values)
    graph.outputs = tuple([values[number] for number in document.outputs])
    return graph


def _large_bytes(graph: Graph) -> int:
    """Bytes of the large constants that lie in memory."""
    arrays = [op.attrs["value"] for op in graph.ops if op.name == "mo.constant"]
    return sum(array.nbytes for array in arrays if is_large(array) and place_of(array) is None)


def _plain_shared(value: Any) -> Any:
    """As `_plain`; large arrays lie in files then."""
    return shared_array(value) if isinstance(value, np.ndarray) and is_large(value) else _plain(value)


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
        return read_size(plain["dim"])
    if (
        isinstance(plain, np.ndarray) and place_of(plain) is None
    ):  # into memory like any other: pages mapped from a file may be slower to read
        plain = np.array(plain)
        plain.flags.writeable = False
    return plain
