"""What an op keeps as an attribute: plain values that nobody changes afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.constants.file_arrays import place_of
from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.dtypes import from_numpy


def plain_attrs(attrs: Mapping[str, Any] | None) -> dict[str, Any]:
    """An op's attributes as what an attribute of the IR can hold; None stands for one that is absent."""
    return {name: plain(value) for name, value in attrs.items() if value is not None} if attrs else {}


def plain(value: Any) -> Any:
    """A value as an op keeps it: a number, string, dim, array that nobody writes, or a tuple of these."""
    kind = type(value)
    if kind is tuple:
        return _plain_tuple(value)
    if kind is bool or kind is str or kind is float or isinstance(value, Dim):
        return value
    if kind is int:
        if not -(2**63) <= value < 2**63:
            raise GraphError(f"the number {value} does not fit in 64 bits")
        return value
    if isinstance(value, np.ndarray):
        return frozen_array(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list):
        return _plain_tuple(tuple(value))
    if isinstance(value, (bool, int, float, str)):  # subclasses: enums and the like
        base = next(t for t in (bool, int, float, str) if isinstance(value, t))
        return plain(base(value))
    if hasattr(value, "print_parameters") or hasattr(value, "print_parameter"):  # an attribute of the IR, kept as it is
        return value
    raise GraphError(f"a parameter may be a number, string, dim, array or a tuple of these, not {type(value).__name__}")


def symbols_in(value: Any) -> frozenset[str]:
    """The dims that an attribute speaks of."""
    if isinstance(value, Dim):
        return value.symbols
    found = _NONE
    if type(value) is tuple:
        for item in value:
            if type(item) is not int:
                found |= symbols_in(item)
    return found


_NONE: frozenset[str] = frozenset()


def _plain_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    if are_sizes(value):
        return tuple([item if isinstance(item, Dim) else item.__index__() for item in value])
    return tuple([plain(item) for item in value])


def are_sizes(items: Sequence[Any]) -> bool:
    """Whether a tuple is kept as one of sizes: whole numbers and dims only."""
    for item in items:
        if isinstance(item, (bool, np.bool_)) or not (isinstance(item, (Dim, int)) or hasattr(item, "__index__")):
            return False
    return True


def frozen_array(array: np.ndarray) -> np.ndarray:
    """The array, or a copy of one that somebody may still write to: a constant never changes under the compiler."""
    from_numpy(array.dtype)
    if place_of(array) is None and (array.flags.writeable or not array.flags.c_contiguous or array.base is not None):
        array = np.array(array, order="C", copy=True)
        array.flags.writeable = False
    return array
