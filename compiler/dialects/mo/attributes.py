"""Attributes of mo ops: plain Python values in the API, xDSL attributes in the IR, and their text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute

from compiler.errors import GraphError
from compiler.graph.dims import Dim
from compiler.graph.draft import frozen_array, plain
from compiler.graph.dtypes import DTYPES, from_numpy, numpy_dtype
from compiler.graph.types import BufferType, ChainType, OpaqueType, Shape, Size, TensorType, size_text

if TYPE_CHECKING:
    from xdsl.parser import AttrParser
    from xdsl.printer import Printer

for _kind in (TensorType, BufferType, ChainType, OpaqueType):  # types.py says why they do not inherit
    ParametrizedAttribute.register(_kind)
    TypeAttribute.register(_kind)

_SMALL = 32  # arrays up to here print as numbers, larger ones as the hex of their bytes
_SAMPLED = 1 << 14  # bytes from which on a hash looks at some of the elements only


class DimsAttr(ParametrizedAttribute):
    """A tuple of sizes: `#mo.dims<[M, 512]>`; one size alone is `#mo.dims<M>` (`single`)."""

    name = "mo.dims"
    sizes: Shape
    single: bool

    def __init__(self, sizes: Shape, single: bool = False) -> None:
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "single", single)

    @classmethod
    def new(cls, params: Sequence[Any]) -> DimsAttr:
        return cls(*params)

    @property
    def parameters(self) -> tuple[Attribute, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimsAttr) and self.sizes == other.sizes and self.single == other.single

    def __hash__(self) -> int:
        return hash((self.sizes, self.single))

    def __repr__(self) -> str:
        return f"DimsAttr({self.text})"

    @property
    def text(self) -> str:
        """The sizes as text."""
        if self.single:
            return size_text(self.sizes[0])
        return f"[{', '.join(map(size_text, self.sizes))}]"

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Any]:
        from compiler.dialects.mo.reading import parse_dims_attr

        return parse_dims_attr(parser)


class ArrayConstant(ParametrizedAttribute):
    """A constant's array, bit for bit: `#mo.array<[2], f32, [1.0, 2.0]>`, or the hex of its bytes when it is large."""

    name = "mo.array"
    array: np.ndarray

    def __init__(self, array: np.ndarray) -> None:
        object.__setattr__(self, "array", frozen_array(array))

    @classmethod
    def new(cls, params: Sequence[Any]) -> ArrayConstant:
        return cls(*params)

    @property
    def parameters(self) -> tuple[Attribute, ...]:
        return ()

    @cached_property
    def _hash(self) -> int:
        flat = self.array.reshape(-1)
        if flat.nbytes > _SAMPLED:  # weights are many and large; those that only differ elsewhere are told by __eq__
            flat = np.concatenate([flat[:: max(flat.size // 256, 1)], flat[-16:]])
        return hash((self.array.dtype, self.array.shape, flat.tobytes()))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ArrayConstant):
            return False
        mine, theirs = self.array, other.array
        if mine is theirs:
            return True
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            return False
        return np.array_equal(mine.reshape(-1).view(np.uint8), theirs.reshape(-1).view(np.uint8))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"ArrayConstant({self.array!r})"

    @property
    def text(self) -> str:
        """The parameters as text."""
        dtype = from_numpy(self.array.dtype)
        body = numbers_text(self.array, dtype) if self.array.size <= _SMALL else None
        return self._text(body or f'"0x{_little(self.array).tobytes().hex().upper()}"')

    @property
    def elided_text(self) -> str:
        """The parameters for a reader: a large array is named, not written out, and does not read back."""
        return self.text if self.array.size <= _SMALL else self._text("elided")

    def _text(self, body: str) -> str:
        shape = ", ".join(map(str, self.array.shape))
        return f"<[{shape}], {DTYPES[from_numpy(self.array.dtype)].mlir}, {body}>"

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(self.text)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Any]:
        from compiler.dialects.mo.reading import parse_array

        return parse_array(parser)


def _little(array: np.ndarray) -> np.ndarray:
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def array_from_bytes(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """The array whose little-endian bytes these are."""
    made = np.frombuffer(data, dtype=numpy_dtype(dtype).newbyteorder("<")).reshape(shape)
    return made.astype(numpy_dtype(dtype), copy=True)


def numbers_text(array: np.ndarray, dtype: str) -> str | None:
    """The elements as `[1.0, 2.0]`, or None when numbers would not give every bit back (a NaN with a payload)."""
    flat = array.reshape(-1)
    if DTYPES[dtype].kind != "f":
        pieces = [str(v).lower() if dtype == "bool" else str(v) for v in flat.tolist()]
        return f"[{', '.join(pieces)}]"
    pieces = []
    kind = numpy_dtype(dtype)
    for element in flat:
        value = float(element)
        for digits in (3, 6, 9, 17):
            text = float_text(float(f"{value:.{digits}g}")) if math.isfinite(value) else float_text(value)
            if np.array(float(text), dtype=kind).tobytes() == element.tobytes():
                pieces.append(text)
                break
        else:
            return None
    return f"[{', '.join(pieces)}]"


def float_text(value: float) -> str:
    """A float so that it reads back exactly and as a float: MLIR wants a dot."""
    text = repr(value)
    if "." in text or "n" in text:  # 1.5, inf, nan
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}.0e{exponent}" if exponent else f"{mantissa}.0"


def string_text(value: str) -> str:
    """A string literal, as MLIR escapes it."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    data = value.encode("utf-8", "surrogatepass")
    plain = (chr(b) if 0x20 <= b <= 0x7E and b not in b'"\\' else "\\\\" if b == 0x5C else f"\\{b:02X}" for b in data)
    return f'"{"".join(plain)}"'


def encode(value: Any) -> Attribute:
    """The xDSL attribute that holds a plain Python value."""
    kind = type(value)
    if kind is tuple:
        return _encode_tuple(value)
    if kind is bool or kind is int or kind is str:
        return _encode_cached(kind, value)
    if kind is float:
        return FloatAttr(value, f64)
    if isinstance(value, Attribute):
        return value
    if isinstance(value, Dim):
        return DimsAttr((value,), single=True)
    if isinstance(value, np.ndarray):
        return ArrayConstant(value)
    return encode(plain(value))  # lists, NumPy's numbers, subclasses; what cannot be kept is refused there


@lru_cache(maxsize=4096)
def _encode_cached(kind: type, value: Any) -> Attribute:
    if kind is bool:
        return BoolAttr.from_bool(value)
    if kind is str:
        return StringAttr(value)
    if not -(2**63) <= value < 2**63:
        raise GraphError(f"the number {value} does not fit in 64 bits")
    return IntegerAttr(value, i64)


def _encode_tuple(value: tuple[Any, ...]) -> Attribute:
    plain: list[Size] = []
    for item in value:
        if isinstance(item, (bool, np.bool_)) or not (isinstance(item, (Dim, int)) or hasattr(item, "__index__")):
            return ArrayAttr([encode(v) for v in value])
        plain.append(item if isinstance(item, Dim) else item.__index__())
    return DimsAttr(tuple(plain))


def decode(attribute: Attribute) -> Any:
    """The plain Python value an attribute holds; an attribute that holds none is returned as it is."""
    if isinstance(attribute, DimsAttr):
        return attribute.sizes[0] if attribute.single else attribute.sizes
    if isinstance(attribute, IntegerAttr):
        return bool(attribute.value.data) if attribute.type == i1 else attribute.value.data
    if isinstance(attribute, FloatAttr):
        return attribute.value.data
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, ArrayConstant):
        return attribute.array
    if isinstance(attribute, ArrayAttr):
        return tuple(decode(a) for a in attribute.data)
    return attribute


def value_text(attribute: Attribute) -> str | None:
    """An attribute as the custom form of mo ops writes it, or None when only the generic form will do."""
    if isinstance(attribute, DimsAttr):
        return attribute.text
    if isinstance(attribute, IntegerAttr) and attribute.type in (i1, i64):
        return ("true" if attribute.value.data else "false") if attribute.type == i1 else str(attribute.value.data)
    if isinstance(attribute, FloatAttr) and attribute.type == f64:
        return float_text(attribute.value.data)
    if isinstance(attribute, StringAttr):
        return string_text(attribute.data)
    if isinstance(attribute, ArrayConstant):
        return f"#mo.array{attribute.text}"
    if isinstance(attribute, ArrayAttr):
        pieces = [value_text(a) for a in attribute.data]
        return None if None in pieces else f"[{', '.join(pieces)}]"  # type: ignore[arg-type]
    return None
