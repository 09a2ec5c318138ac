"""A digest of a graph: by it the model cache knows a graph again. The same from a draft as from its IR."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.graph.dims import Dim
from compiler.graph.draft import Draft, are_sizes
from compiler.graph.types import BufferType, ChainType, OpaqueType, TensorType

if TYPE_CHECKING:
    from compiler.dialects.mo.ops import GraphOp
    from compiler.graph.graph import Graph


def graph_digest(graph: Graph) -> str:
    """Ops, attributes, types, names, provenance."""
    draft = graph.draft
    parts = _ir_parts(graph.op) if draft is None else _draft_parts(draft)
    return hashlib.blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=20).hexdigest()


class _TypeTexts(dict[Any, str]):
    """Types as text: most values share a few."""

    def __missing__(self, kind: Any) -> str:
        text = self[kind] = _value_text(kind)
        return text


def _draft_parts(draft: Draft) -> Iterator[str]:
    types, numbers = _TypeTexts(), {}
    yield repr(draft.name)
    for number, value in enumerate(draft.inputs):
        numbers[value] = str(number)
        yield f"{value.name_hint}:{types[value.type]}"
    for op in draft.ops:
        yield op.name
        for operand in op.operands:
            yield numbers[operand]
        for result in op.results:
            numbers[result] = str(len(numbers))
            yield result.name_hint
            yield types[result.type]
        yield op.node
        for name, value in op.attrs.items():
            yield name
            yield _value_text(value)
    if draft.outputs is not None:
        yield "mo.output"
        for value in draft.outputs:
            yield numbers[value]


def _ir_parts(graph: GraphOp) -> Iterator[str]:
    from compiler.dialects.mo.ops import nodes_of

    types, numbers = _TypeTexts(), {}
    block = graph.body
    yield repr(graph.sym_name)
    for number, argument in enumerate(block.args):
        numbers[argument] = str(number)
        yield f"{argument.name_hint}:{types[argument.type]}"
    op = block.first_op
    while op is not None:
        yield op.name
        for value in op._operands:  # pyright: ignore[reportPrivateUsage]
            yield numbers[value]
        for result in op.results:
            numbers[result] = str(len(numbers))
            yield result.name_hint or ""
            yield types[result.type]
        yield from nodes_of(op)
        for table in (op.properties, op.attributes):
            for name, value in table.items():
                yield name
                yield _attribute_text(value)
        op = op.next_op


def _attribute_text(attribute: Any) -> str:
    """An attribute of the IR: as the plain value it was made of, where it holds just that."""
    from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, f64, i1, i64

    from compiler.dialects.mo.attributes import decode

    if isinstance(attribute, (IntegerAttr, FloatAttr)) and attribute.type not in (i1, i64, f64):
        return str(attribute)
    if isinstance(attribute, ArrayAttr):
        return _sequence_text(attribute.data, _attribute_text)
    return _value_text(decode(attribute))


def _value_text(value: Any) -> str:
    """A plain value, or a type, as text that tells it from every other."""
    write = _TEXTS.get(type(value))
    return str(value) if write is None else write(value)


def _tuple_text(values: tuple[Any, ...]) -> str:
    return f"dims {values}" if are_sizes(values) else _sequence_text(values, _value_text)


def _sequence_text(values: Any, write: Callable[[Any], str]) -> str:
    return f"[{chr(1).join(map(write, values))}]"


def _array_text(array: np.ndarray) -> str:
    packed = np.ascontiguousarray(array)
    return f"{packed.dtype}{packed.shape}{hashlib.blake2b(packed.tobytes(), digest_size=16).hexdigest()}"


_TEXTS: dict[type, Callable[[Any], str]] = {
    TensorType: lambda t: f"tensor {t.dtype}{t.shape}",
    BufferType: lambda t: f"buffer {t.dtype}{t.shape}",
    ChainType: lambda t: "chain",
    OpaqueType: lambda t: f"opaque {t.label!r}",
    Dim: lambda d: f"dim {d}",
    str: repr,  # which leaves no separator in it
    bool: lambda b: f"bool {b}",
    int: lambda i: f"int {i}",
    float: lambda f: f"float {f.hex()}",
    tuple: _tuple_text,
    np.ndarray: _array_text,
}
