"""Opaque values: how the bytes of one are laid out, and what a caller holds of one between two runs.

A value of an opaque type is a row of bytes with named fields in it, as the kernel library declares them. Fields of the
widest elements lie first, so that each begins where its elements may lie, without gaps: the number of bytes is then as
simple an expression of the sizes as the fields are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from compiler.graph.attrs import symbols_in
from compiler.graph.binding import bind, plain_symbol
from compiler.graph.dims import Dim, evaluate, product
from compiler.graph.dtypes import dtype_info, numpy_dtype
from compiler.graph.types import BufferType, OpaqueBufferType, OpaqueType, Shape, Size, TensorType


@dataclass(frozen=True)
class Field:
    """One field: a single number where its shape is (), else an array; it begins `offset` elements of its own dtype
    after the value does."""

    name: str
    dtype: str
    shape: Shape
    offset: Size


@dataclass(frozen=True)
class Layout:
    """The fields of an opaque type in the order of their declaration, and how many bytes they take."""

    type: OpaqueType
    fields: tuple[Field, ...]
    bytes: Size

    @property
    def stored(self) -> TensorType:
        """The type of the memory that holds such a value."""
        return TensorType.of("u8", (self.bytes,))

    def at(self, sizes: Mapping[str, int]) -> Layout:
        """The layout for given sizes of the symbols."""
        params = {name: known(value, sizes) for name, value in self.type.params}
        fields = tuple(
            replace(one, shape=tuple(evaluate(size, sizes) for size in one.shape), offset=evaluate(one.offset, sizes))
            for one in self.fields
        )
        return Layout(OpaqueType(self.type.label, **params), fields, evaluate(self.bytes, sizes))


def known(value: Any, sizes: Mapping[str, int]) -> Any:
    """A parameter with the sizes of its symbols filled in."""
    return value.evaluate(sizes) if isinstance(value, Dim) else value


def laid_out(type: OpaqueType, declared: Sequence[tuple[str, str, Shape]]) -> Layout:
    """The layout of fields that are declared by name, dtype and shape."""
    placed: dict[str, Size] = {}
    end: Size = 0
    for name, dtype, shape in sorted(declared, key=lambda field: -dtype_info(field[1]).bytes):
        size = dtype_info(dtype).bytes
        before = [(kind, sizes) for other, kind, sizes in declared if other in placed]
        placed[name] = sum((product(sizes) * (dtype_info(kind).bytes // size) for kind, sizes in before), start=0)
        end = end + product(shape) * size
    return Layout(type, tuple(Field(name, dtype, shape, placed[name]) for name, dtype, shape in declared), end)


def sizes_of(types: Sequence[Any], given: Sequence[Any]) -> dict[str, int]:
    """The sizes of symbols as far as they stand alone somewhere; whoever runs the model judges whether they agree."""
    found: dict[str, int] = {}
    for declared, value in zip(types, given):
        if not isinstance(declared, (OpaqueType, OpaqueBufferType)):
            pairs = zip(declared.shape, getattr(value, "shape", ()))
        elif isinstance(value, Opaque):
            has = dict(value.type.params)
            pairs = ((size, has.get(name)) for name, size in declared.params)
        else:
            continue
        for size, actual in pairs:
            name = plain_symbol(size) if isinstance(size, Dim) else None
            if name is not None and type(actual) is int:
                found.setdefault(name, actual)
    return found


def check_value(declared: OpaqueType | OpaqueBufferType, value: Any, label: str, sizes: Mapping[str, int]) -> Opaque:
    """An argument that must be an opaque value of a type; what is another is an ExecutionError."""
    wanted = OpaqueType(declared.label, **dict(declared.params))
    if not isinstance(value, Opaque):
        raise ExecutionError(f"{label}: expected a value of {wanted}, got {type(value).__name__}")
    params = {name: known(p, sizes) if symbols_in(p) <= sizes.keys() else p for name, p in declared.params}
    if value.type != OpaqueType(declared.label, **params):
        raise ExecutionError(f"{label}: expected a value of {wanted}, got one of {value.type}")
    return value


def stored_type(type: Any, layout: Layout) -> TensorType | BufferType:
    """The type of the memory behind an opaque value or a buffer of one."""
    return BufferType.of("u8", (layout.bytes,)) if isinstance(type, OpaqueBufferType) else layout.stored


def as_values(
    types: Sequence[Any], names: Sequence[str], arrays: Sequence[Any], layout: Callable[[Any], Layout]
) -> list[Any]:
    """Arrays as models and the reference take them: the bytes of an opaque value as that value."""
    layouts = [layout(kind) if isinstance(kind, (OpaqueType, OpaqueBufferType)) else None for kind in types]
    if not any(layouts):
        return list(arrays)
    stored = [kind if found is None else stored_type(kind, found) for kind, found in zip(types, layouts)]
    sizes = bind(stored, tuple(arrays), names)
    return [array if found is None else Opaque(found.at(sizes), array) for array, found in zip(arrays, layouts)]


class Opaque:
    """An opaque value in the hands of a caller: what a model gave back, to be given to one again.

    `state["counter"]` is a field as a NumPy array that shares its memory.
    """

    __slots__ = ("layout", "memory")

    def __init__(self, layout: Layout, memory: Any) -> None:
        self.layout = layout
        self.memory = memory

    @classmethod
    def zeros(cls, layout: Layout) -> Opaque:
        """A value whose bytes are all 0; every size in the layout must be known."""
        if layout.type.symbols or not isinstance(layout.bytes, int):
            raise ExecutionError(f"a value of {layout.type} needs the size of {', '.join(sorted(layout.type.symbols))}")
        return cls(layout, np.zeros(layout.bytes, np.uint8))

    @property
    def type(self) -> OpaqueType:
        """Its type, with every parameter known."""
        return self.layout.type

    def __getitem__(self, name: str) -> np.ndarray:
        for field in self.layout.fields:
            if field.name == name:
                return self._view(field)
        names = ", ".join(field.name for field in self.layout.fields)
        raise ExecutionError(f"a value of {self.type} has no field {name!r}; its fields are {names}")

    def fields(self) -> dict[str, np.ndarray]:
        """Every field by its name."""
        return {field.name: self._view(field) for field in self.layout.fields}

    def copy(self) -> Opaque:
        """Another value of the same content."""
        return Opaque(self.layout, self._bytes().copy())

    def _bytes(self) -> np.ndarray:
        if isinstance(self.memory, np.ndarray):
            return self.memory
        try:
            return np.from_dlpack(self.memory)  # of another framework, on the host
        except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):
            raise ExecutionError(f"this value of {self.type} lies on a device, so its fields cannot be read") from None

    def _view(self, field: Field) -> np.ndarray:
        kind = numpy_dtype(field.dtype)
        shape = tuple(evaluate(size, {}) for size in field.shape)
        begin = evaluate(field.offset, {}) * kind.itemsize
        return self._bytes()[begin : begin + math.prod(shape) * kind.itemsize].view(kind).reshape(shape)

    def __repr__(self) -> str:
        return f"Opaque({self.type})"
