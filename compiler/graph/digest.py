"""A digest of a graph: by it the model cache knows a graph again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from compiler.constants.file_arrays import FileArray, identity, is_large
from compiler.graph.attrs import are_sizes
from compiler.graph.dims import Dim
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, ChainType, OpaqueBufferType, OpaqueType, TensorType


def graph_digest(graph: Graph) -> str:
    """Ops, attributes, types, names, provenance; of large constants only which are the same, as no pass reads them."""
    parts = "\0".join(_parts(graph))
    return hashlib.blake2b(parts.encode(errors="surrogatepass"), digest_size=20).hexdigest()


class _TypeTexts(dict[Any, str]):
    """Types as text: most values share a few."""

    def __missing__(self, kind: Any) -> str:
        text = self[kind] = _value_text(kind)
        return text


def _parts(graph: Graph) -> Iterator[str]:
    types, numbers, large = _TypeTexts(), {}, {}
    yield repr(graph.name)
    for number, value in enumerate(graph.inputs):
        numbers[value] = str(number)
        yield f"{value.name}:{types[value.type]}"
    for op in graph.ops:
        yield op.name
        for operand in op.operands:
            yield numbers[operand]
        for result in op.results:
            numbers[result] = str(len(numbers))
            yield result.name
            yield types[result.type]
        yield from op.nodes
        for name, value in op.attrs.items():
            yield name
            if op.name == "mo.constant" and is_large(value):
                yield f"large {value.dtype}{value.shape} {large.setdefault(identity(value), len(large))}"
            else:
                yield _value_text(value)
    if graph.outputs:
        yield "mo.output"
        for value in graph.outputs:
            yield numbers[value]


def _value_text(value: Any) -> str:
    """A plain value, or a type, as text that tells it from every other."""
    write = _TEXTS.get(type(value))
    return str(value) if write is None else write(value)


def _tuple_text(values: tuple[Any, ...]) -> str:
    return f"dims {values}" if are_sizes(values) else f"[{chr(1).join(map(_value_text, values))}]"


def _array_text(array: np.ndarray) -> str:
    packed = np.ascontiguousarray(array)
    return f"{packed.dtype}{packed.shape}{hashlib.blake2b(packed.tobytes(), digest_size=16).hexdigest()}"


_TEXTS: dict[type, Callable[[Any], str]] = {
    TensorType: lambda t: f"tensor {t.dtype}{t.shape}",
    BufferType: lambda t: f"buffer {t.dtype}{t.shape}",
    ChainType: lambda t: "chain",
    OpaqueType: lambda t: f"opaque {t.label!r} {[(name, _value_text(value)) for name, value in t.params]}",
    OpaqueBufferType: lambda t: f"buffer of {_value_text(t.tensor)}",
    Dim: lambda d: f"dim {d}",
    str: repr,  # which leaves no separator in it
    bool: lambda b: f"bool {b}",
    int: lambda i: f"int {i}",
    float: lambda f: f"float {f.hex()}",
    tuple: _tuple_text,
    np.ndarray: _array_text,
    FileArray: _array_text,
}
