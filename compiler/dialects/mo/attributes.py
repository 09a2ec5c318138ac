"""What mo ops hold, as xDSL knows it: the types of graph values, and attributes for the plain values of ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, BoolAttr, FloatAttr, IntegerAttr, StringAttr, f64, i1, i64
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from compiler.constants.file_arrays import identity, is_large
from compiler.dialects.mo.literals import parse_array, parse_dims_attr, parse_entries, parse_shaped
from compiler.errors import GraphError
from compiler.graph.attrs import are_sizes, frozen_array, plain
from compiler.graph.dims import Dim
from compiler.graph.literals import array_text
from compiler.graph.text import value_text
from compiler.graph.types import CHAIN, BufferType, ChainType, OpaqueBufferType, OpaqueType, Shape, TensorType

_SAMPLED = 1 << 14  # bytes from which on a hash looks at some of the elements only


def _opaque_parameters(parser: AttrParser) -> tuple[str, dict[str, Any]]:
    """`<"rng", {lanes = 4}>`, the parameters where there are any."""
    with parser.in_angle_brackets():
        label = parser.parse_str_literal()
        return label, parse_entries(parser) if parser.parse_optional_punctuation(",") is not None else {}


def _form(kind: type[Any], make: Callable[..., Any], parse: Callable[[AttrParser], Sequence[Any]]) -> type[Attribute]:
    """A type of graph values where xDSL reads one: what it makes of the parameters is the graph's own record."""
    members: dict[str, Any] = {
        "name": kind.name,
        "new": classmethod(lambda cls, params: make(*params)),
        "parse_parameters": classmethod(lambda cls, parser: parse(parser)),
    }
    return type(f"{kind.__name__}Form", (ParametrizedAttribute, TypeAttribute), members)


TYPE_FORMS = (
    _form(TensorType, TensorType.of, parse_shaped),
    _form(BufferType, BufferType.of, parse_shaped),
    _form(ChainType, lambda: CHAIN, lambda parser: ()),
    _form(OpaqueType, lambda label, params: OpaqueType(label, **params), _opaque_parameters),
    _form(OpaqueBufferType, lambda label, params: OpaqueBufferType(label, **params), _opaque_parameters),
)
for _kind in (
    TensorType,
    BufferType,
    ChainType,
    OpaqueType,
    OpaqueBufferType,
):  # the records themselves are what IR holds
    ParametrizedAttribute.register(_kind)
    TypeAttribute.register(_kind)


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
        return value_text(decode(self))

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.text}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Any]:
        return parse_dims_attr(parser)


class ArrayConstant(ParametrizedAttribute):
    """A constant's array, bit for bit: `#mo.array<[2], f32, [1.0, 2.0]>`, the hex of its bytes, or its digest."""

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
        if is_large(self.array):
            return hash(identity(self.array))
        flat = self.array.reshape(-1)
        if flat.nbytes > _SAMPLED:  # those that only differ elsewhere are told by __eq__
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
        if is_large(mine):  # weights are many and large: only the same memory is known to be equal
            return identity(mine) == identity(theirs)
        return np.array_equal(mine.reshape(-1).view(np.uint8), theirs.reshape(-1).view(np.uint8))

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"ArrayConstant({self.array!r})"

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(array_text(self.array))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Any]:
        return parse_array(parser)


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
    if are_sizes(value):
        return DimsAttr(tuple([item if isinstance(item, Dim) else item.__index__() for item in value]))
    return ArrayAttr([encode(v) for v in value])


def decode(attribute: Any) -> Any:
    """The plain Python value that `encode` gave the attribute for; any other attribute is returned as it is."""
    kind = type(attribute)  # `isinstance` of xDSL's classes goes through their `ABC`
    if kind is DimsAttr:
        return attribute.sizes[0] if attribute.single else attribute.sizes
    if kind is IntegerAttr and attribute.type in (i64, i1):
        number = attribute.value.data
        return bool(number) if attribute.type == i1 else number
    if kind is FloatAttr and attribute.type == f64:
        return attribute.value.data
    if kind is StringAttr:
        return attribute.data
    if kind is ArrayConstant:
        return attribute.array
    if kind is ArrayAttr:
        return tuple([decode(a) for a in attribute.data])
    return attribute
