"""Sizes and types of graph values as plain data, and back."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from compiler.graph.dim_text import dim
from compiler.graph.dims import Dim
from compiler.graph.types import CHAIN, BufferType, OpaqueBufferType, OpaqueType, TensorType, Type

PlainType = tuple[str, str, tuple[int | str, ...]]
"""A type: the name of its class, its dtype (or label), and its shape, with symbolic sizes as text (or parameters)."""


def plain_size(size: int | Dim) -> int | str:
    """A size as plain data."""
    return size if isinstance(size, int) else str(size)


@lru_cache(maxsize=4096)
def read_size(size: int | str) -> int | Dim:
    """A size from plain data; a model repeats a few of them again and again."""
    return size if isinstance(size, int) else dim(size)


def plain_type(kind: Type) -> PlainType:
    """A type as plain data."""
    if isinstance(kind, TensorType | BufferType):
        return type(kind).__name__, kind.dtype, tuple(map(plain_size, kind.shape))
    if isinstance(kind, OpaqueType | OpaqueBufferType):
        return type(kind).__name__, kind.label, (plain_params(kind),)
    return type(kind).__name__, "", ()


def read_type(kind: str, name: str, shape: Any) -> Type:
    """A type from plain data."""
    if kind in _SHAPED:
        return _SHAPED[kind].of(name, tuple(map(read_size, shape)))
    return _LABELLED[kind](name, **read_params(*shape)) if kind in _LABELLED else CHAIN


def plain_params(kind: OpaqueType | OpaqueBufferType) -> str:
    """The parameters of an opaque type as text; a symbolic size is told from a text by the list around it."""
    return json.dumps({name: [str(value)] if isinstance(value, Dim) else value for name, value in kind.params})


def read_params(text: str = "{}") -> dict[str, Any]:
    """The parameters of an opaque type from text."""
    return {name: read_size(*value) if isinstance(value, list) else value for name, value in json.loads(text).items()}


_SHAPED = {shaped.__name__: shaped for shaped in (TensorType, BufferType)}
_LABELLED = {labelled.__name__: labelled for labelled in (OpaqueType, OpaqueBufferType)}
