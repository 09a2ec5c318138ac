"""The types of graph values: tensor, buffer, chain and opaque.

They know nothing of xDSL: the mo dialect registers them with it, so that IR holds them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, Protocol

from compiler.errors import GraphError, ParseError
from compiler.graph.attrs import plain_attrs, symbols_in
from compiler.graph.dim_text import dim
from compiler.graph.dims import Dim, DimLike, product
from compiler.graph.dtypes import DTYPES, dtype_info
from compiler.graph.literals import float_text, identifier_text, size_text, string_text
from compiler.graph.location import located


class _Printer(Protocol):
    def print_string(self, text: str) -> None: ...


class _GraphType:
    """What every type of a graph value has in common: it does not change, and it has a text."""

    name: str

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} does not change")

    @property
    def text(self) -> str:
        """The parameters as MLIR text."""
        return ""

    def print_parameters(self, printer: _Printer) -> None:
        """What the printer of an IR asks of a type in it."""
        printer.print_string(self.text)

    def __str__(self) -> str:
        return f"!{self.name}{self.text}"


Size = int | Dim
Shape = tuple[Size, ...]
_LARGEST = 2**63 - 1
# Words that already mean something where the text form writes a size.
_RESERVED = frozenset({"true", "false", "nan", "inf", "floordiv", "mod"})
_FROM_MLIR = {info.mlir: info.name for info in DTYPES.values()}


def as_size(value: DimLike | Dim) -> Size:
    """One size from what a user writes; what is no non-negative number, name or expression is a GraphError."""
    if type(value) is int:
        size: Size = value
    else:
        try:
            size = dim(value)
        except (ParseError, TypeError) as error:  # an array with several elements has an __index__ that raises
            raise GraphError(getattr(error, "message", "a dim is a whole number or a name")) from None
    if isinstance(size, int):
        if not 0 <= size <= _LARGEST:
            raise GraphError(f"a dim must be between 0 and 2**63 - 1, not {size}")
    elif not _RESERVED.isdisjoint(size.symbols):
        raise GraphError(f"{sorted(_RESERVED & size.symbols)[0]!r} is a reserved word and cannot name a dim")
    return size


def as_shape(sizes: Iterable[DimLike | Dim] | DimLike | Dim) -> Shape:
    """A shape from what a user writes: a size or a sequence of sizes."""
    if isinstance(sizes, (int, str, Dim)) or hasattr(sizes, "__index__"):
        return (as_size(sizes),)  # type: ignore[arg-type]
    try:
        return tuple([as_size(s) for s in sizes])  # type: ignore[union-attr]
    except TypeError:
        raise GraphError(f"a shape is a sequence of dims, not {sizes!r}") from None


def format_shape(shape: Sequence[Any]) -> str:
    """A shape as a message shows it: `(M, 512)`."""
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


class _ShapedType(_GraphType):
    """What tensors and buffers share: a dtype and a shape."""

    dtype: str
    shape: Shape
    _hash: int
    _text: str | None

    @located
    def __init__(self, dtype: str, shape: Iterable[DimLike | Dim] | DimLike | Dim = ()) -> None:
        dtype_info(dtype)
        self._fill(dtype, as_shape(shape))

    def _fill(self, dtype: str, shape: Shape) -> None:
        put = object.__setattr__
        put(self, "dtype", dtype)
        put(self, "shape", shape)
        put(self, "_hash", hash((type(self), dtype, shape)))
        put(self, "_text", None)

    @classmethod
    def of(cls, dtype: str, shape: Shape) -> Any:
        """The type from a dtype and a shape that are known to be well formed; no checks."""
        made = cls.__new__(cls)
        made._fill(dtype, shape)
        return made

    @property
    def rank(self) -> int:
        """How many axes there are."""
        return len(self.shape)

    @property
    def size(self) -> Size:
        """How many elements there are."""
        return product(self.shape)

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbolic dims that the shape depends on."""
        names: frozenset[str] = frozenset()
        for size in self.shape:
            if isinstance(size, Dim):
                names |= size.symbols
        return names

    @property
    def bytes(self) -> Size:
        """How many bytes the elements take in memory."""
        return self.size * dtype_info(self.dtype).bytes

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self.dtype == other.dtype and self.shape == other.shape  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Hashes of strings differ between processes, so a stored hash must not travel.
        return type(self), (self.dtype, tuple(s if isinstance(s, int) else str(s) for s in self.shape))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dtype!r}, {format_shape(self.shape)})"

    @property
    def text(self) -> str:
        """The parameters as MLIR text: `<[M, 512], f32>`."""
        text = self._text
        if text is None:
            text = f"<[{', '.join(map(size_text, self.shape))}], {DTYPES[self.dtype].mlir}>"
            object.__setattr__(self, "_text", text)
        return text


class TensorType(_ShapedType):
    """A tensor: `TensorType("f32", ("M", 512))`. A dim is a number, a name or an expression over names.

    >>> TensorType("f32", ("M", 512)).shape
    (M, 512)
    >>> print(TensorType("bool", ("2*M",)))
    !mo.tensor<[2*M], i1>
    """

    name = "mo.tensor"


class BufferType(_ShapedType):
    """Memory that a graph may write as well as read: `BufferType("f32", (1024, 64))`.

    >>> print(BufferType("u8", (16,)))
    !mo.buffer<[16], ui8>
    """

    name = "mo.buffer"

    @property
    def tensor(self) -> TensorType:
        """The type of the tensor the buffer holds."""
        return TensorType.of(self.dtype, self.shape)


class ChainType(_GraphType):
    """The order of side effects: what reads or writes a buffer takes a chain and gives the next one."""

    name = "mo.chain"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChainType)

    def __hash__(self) -> int:
        return hash(ChainType)

    def __repr__(self) -> str:
        return "ChainType()"


class _LabelledType(_GraphType):
    """What opaque values and their buffers share: a label that names their kind, and parameters by name."""

    label: str
    params: tuple[tuple[str, Any], ...]

    @located
    def __init__(self, label: str, **params: Any) -> None:
        if not isinstance(label, str):
            raise GraphError(f"an opaque type is named by a string, not {label!r}")
        kept = plain_attrs(params)
        for name, value in kept.items():
            if not isinstance(value, (bool, int, float, str, Dim)):
                raise GraphError(f"{label}: the parameter {name} of an opaque type is a number, a text or a dim")
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "params", tuple(sorted(kept.items())))

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbolic dims that the parameters depend on."""
        return symbols_in(tuple(value for _, value in self.params))

    def _key(self) -> tuple[Any, ...]:
        # 1, 1.0 and True are equal, but not the same parameter.
        return type(self), self.label, tuple((name, type(value), value) for name, value in self.params)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _LabelledType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self.label), *[f'{k}={v!r}' for k, v in self.params]])})"

    @property
    def text(self) -> str:
        """The label and the parameters as MLIR text: `<"rng", {lanes = 4}>`."""
        entries = ", ".join([f"{identifier_text(name)} = {_parameter_text(value)}" for name, value in self.params])
        return f"<{string_text(self.label)}, {{{entries}}}>" if entries else f"<{string_text(self.label)}>"


def _parameter_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    return string_text(value) if isinstance(value, str) else size_text(value)


class OpaqueType(_LabelledType):
    """A value that only kernels look inside; the kernel library declares the layout that its label stands for.

    >>> print(OpaqueType("rng", lanes=4))
    !mo.opaque<"rng", {lanes = 4}>
    """

    name = "mo.opaque"


class OpaqueBufferType(_LabelledType):
    """Memory that holds an opaque value, and that a graph may write as well as read.

    >>> print(OpaqueBufferType("rng"))
    !mo.opaque_buffer<"rng">
    """

    name = "mo.opaque_buffer"

    @property
    def tensor(self) -> OpaqueType:
        """The type of the value the buffer holds."""
        return OpaqueType(self.label, **dict(self.params))


def sizes_in(type: Any) -> tuple[Any, ...]:
    """The sizes that a type speaks of: those of its axes, or the parameters of an opaque one."""
    if isinstance(type, _LabelledType):
        return tuple(value for _, value in type.params)
    return getattr(type, "shape", ())


CHAIN = ChainType()
Type = TensorType | BufferType | ChainType | OpaqueType | OpaqueBufferType


def dtype_from_mlir(text: str) -> str | None:
    """The dtype that MLIR spells so, or None."""
    return _FROM_MLIR.get(text)
