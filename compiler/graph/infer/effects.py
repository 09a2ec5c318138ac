"""Rules of ops with side effects: they take the chain of effects so far and give the next one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.graph.infer.rules import Attrs, refuse
from compiler.graph.types import CHAIN, BufferType, ChainType, TensorType, Type


def chain(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """The chain a graph starts with."""
    return (CHAIN,)


def buffer_load(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Read a whole buffer."""
    buffer, after = types
    if not isinstance(buffer, BufferType) or not isinstance(after, ChainType):
        refuse("mo.buffer_load", f"operands must be a buffer and a chain, not {buffer} and {after}")
    return (buffer.tensor, CHAIN)


def buffer_store(types: Sequence[Any], attrs: Attrs) -> tuple[Type, ...]:
    """Write a whole buffer."""
    buffer, value, after = types
    if not isinstance(buffer, BufferType) or not isinstance(value, TensorType) or not isinstance(after, ChainType):
        refuse("mo.buffer_store", f"operands must be a buffer, a tensor and a chain, not {buffer}, {value} and {after}")
    if buffer.tensor != value:
        refuse("mo.buffer_store", f"a {value} does not fit in a {buffer}")
    return (CHAIN,)
