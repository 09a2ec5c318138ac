"""Opaque values inside a kernel: a struct of fields over the bytes of one tensor, as an `@opaque` definition lays out.

@opaque("rng") def rng(*, lanes): return struct(key=i64, counters=i64[lanes])

A field of one number is read and written by its name (`state.key = 7`), one that is an array is a tensor
(`state.counters[i]`). `state.bytes` is all of it as a row of u8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import memref

from compiler.errors import KernelError
from compiler.graph.opaque import Layout
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import memory
from compiler.language.values.dtypes import INDEX, LANGUAGE_DTYPES, DType
from compiler.language.values.loadables import Tensor, put
from compiler.language.values.positions import position_of
from compiler.language.values.records import Simd, describe
from compiler.language.values.shapes import Shape, row_major

_BYTES = "bytes"


@dataclass(frozen=True, eq=False)
class FieldType:
    """What `i64[slots]` evaluates to: the type of a field that is an array."""

    dtype: DType
    shape: Shape


@dataclass(frozen=True, eq=False)
class StructType:
    """What `struct(...)` evaluates to: fields by name, dtype and shape."""

    fields: tuple[tuple[str, str, Shape], ...]


def struct_type(given: Mapping[str, Any]) -> StructType:
    """The fields of a struct from what they are declared as: a dtype, or a dtype with sizes in brackets."""
    if not given:
        raise KernelError("struct() needs a field, as in struct(count=i64, keys=i64[slots])")
    fields: list[tuple[str, str, Shape]] = []
    for name, kind in given.items():
        if name == _BYTES:
            raise KernelError("a field cannot be called bytes, which is the row of all bytes of a value")
        made = FieldType(kind, ()) if isinstance(kind, DType) else kind
        if not isinstance(made, FieldType) or made.dtype is INDEX:
            raise KernelError(f"the field {name} is a dtype other than index, or one with sizes, not {describe(kind)}")
        fields.append((name, made.dtype.name, made.shape))
    return StructType(tuple(fields))


@dataclass(frozen=True, eq=False)
class Struct:
    """A value of an opaque type: its label, and its fields as tensors over the same memory."""

    label: str
    whole: Tensor
    fields: Mapping[str, Tensor]

    def get(self, run: Context, name: str) -> Any:
        """A field: what it holds if it is one number, else the tensor."""
        if name == _BYTES:
            return self.whole
        field = self._field(name)
        return field if field.rank else field.load(run, position_of(0, ()))

    def set(self, run: Context, name: str, value: Any) -> None:
        """Store to a field that is one number."""
        field = self._field(name) if name != _BYTES else self.whole
        if field.rank:
            raise KernelError(f"{name} is an array; store to its elements")
        if isinstance(value, Simd) and value.width != 1:
            raise KernelError(f"a {value.type_name} cannot be stored to {name}, which is one {field.dtype.name}")
        put(run, field, position_of(0, ()), value)

    def _field(self, name: str) -> Tensor:
        if name not in self.fields:
            raise KernelError(f"{self.label} has no field {name}; its fields are {', '.join(self.fields)}")
        return self.fields[name]


def struct_over(run: Context, layout: Layout, whole: Any) -> Struct:
    """The fields of an opaque value over the bytes that hold it."""
    if not isinstance(whole, Tensor) or whole.dtype.name != "u8" or whole.shape != (layout.bytes,) or whole.offset != 0:
        raise KernelError(f"{layout.type.label} is made of a tensor of {layout.bytes} u8, not of {describe(whole)}")
    fields: dict[str, Tensor] = {}
    for field in layout.fields:
        kind = LANGUAGE_DTYPES[field.dtype]
        buffer = _seen_as(run, whole, kind, layout)
        fields[field.name] = Tensor(buffer, kind, field.shape, row_major(field.shape), field.offset)
    return Struct(layout.type.label, whole, fields)


def _seen_as(run: Context, whole: Tensor, kind: DType, layout: Layout) -> Any:
    """The memory of a tensor of bytes as one of another dtype."""
    source, b = whole.buffer, run.b
    stored = memory.buffer_type(kind, None, memory.space_of(source))
    if stored == source.type:
        return source
    count = math.as_index(b, math.binary(b, "//", layout.bytes, kind.bytes))
    view = b.pure(memref.ViewOp, (source, b.index(0).ssa, count.ssa), stored)
    b.sources[id(view)] = source
    return view
