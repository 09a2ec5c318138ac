"""Sizes and types of graph values as plain data, and back."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from compiler.graph.dim_text import dim
from compiler.graph.dims import Dim
from compiler.graph.types import CHAIN, BufferType, OpaqueType, TensorType, Type

PlainType = tuple[str, str, tuple[int | str, ...]]
"""A type: the name of its class, its dtype (or label), and its shape, with symbolic sizes as text."""


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
    return type(kind).__name__, kind.label if isinstance(kind, OpaqueType) else "", ()


def read_type(kind: str, name: str, shape: Any) -> Type:
    """A type from plain data."""
    if kind in _SHAPED:
        return _SHAPED[kind].of(name, tuple(map(read_size, shape)))
    return OpaqueType(name) if kind == OpaqueType.__name__ else CHAIN


_SHAPED = {shaped.__name__: shaped for shaped in (TensorType, BufferType)}
