"""Attributes and methods of the values a kernel can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language import arithmetic as math
from compiler.language import memory
from compiler.language.dtypes import LANGUAGE_DTYPES, DType
from compiler.language.indexing import position_of, put
from compiler.language.loadables import FusedOutput, Loadable, Tensor, element_count, lanes
from compiler.language.values import Position, Simd

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


@dataclass(frozen=True, eq=False)
class Bound:
    """A method taken from a value, not yet called."""

    owner: Any
    name: str


_SIMD_METHODS = frozenset({"cast", "bits", "sum", "prod", "max", "min", "any", "all", "insert"})
_LOADABLE_METHODS = frozenset({"load", "permute", "reshape", "broadcast", "slice", "drop", "is_contiguous"})
_SINK_METHODS = frozenset({"store", "permute", "reshape"})
_DTYPE_FIELDS = frozenset(
    {"bits", "bytes", "is_float", "is_int", "is_bool", "is_signed", "inf", "nan", "min", "max", "acc", "name"}
)
_TARGET_FIELDS = frozenset(
    {"is_cpu", "is_gpu", "is_nvidia", "is_amd", "simd_bytes", "registers", "name", "warp", "shared_bytes", "arch"}
)


def attribute(run: Interpreter, value: Any, name: str) -> Any:
    """`value.name`."""
    if isinstance(value, Simd):
        if name in ("dtype", "width"):
            return getattr(value, name)
        if name in _SIMD_METHODS:
            return Bound(value, name)
    elif isinstance(value, DType):
        if name in _DTYPE_FIELDS:
            return getattr(value, name)
    elif isinstance(value, Position):
        if name in ("index", "width", "axis"):
            return getattr(value, name)
        if name == "lanes":
            return Bound(value, name)
    elif isinstance(value, (Loadable, FusedOutput)):
        if name in ("dtype", "shape", "rank"):
            return getattr(value, name)
        if name == "size":
            return element_count(value.shape)
        if name == "is_strided":
            return isinstance(value, Tensor)
        if isinstance(value, Tensor) and name in ("strides", "store", "atomic_add", "place", "flat"):
            return value.strides if name == "strides" else value.flat() if name == "flat" else Bound(value, name)
        if name in (_LOADABLE_METHODS if isinstance(value, Loadable) else _SINK_METHODS):
            return Bound(value, name)
    elif value is run.host.language_target:
        if name == "simd":
            return Bound(value, name)
        if name in _TARGET_FIELDS:
            return getattr(value, name)
    elif isinstance(value, list) and name == "append":
        raise KernelError("lists do not grow in place; write xs = [*xs, x]")
    raise KernelError(f"{math.describe(value)} has no attribute {name}")


def to_dtype(value: Any) -> DType:
    """A dtype from itself or its name."""
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in LANGUAGE_DTYPES:
        return LANGUAGE_DTYPES[value]
    raise KernelError(f"{math.describe(value)} is not a dtype")


def to_shape(value: Any) -> tuple[int | Dim, ...]:
    """A shape from a tuple of sizes."""
    if isinstance(value, (int, Dim)):
        value = (value,)
    if not isinstance(value, (tuple, list)) or not all(isinstance(size, (int, Dim)) for size in value):
        raise KernelError("a shape is a tuple of compile-time sizes")
    return tuple(value)


def invoke(run: Interpreter, bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method."""
    owner, name = bound.owner, bound.name
    if isinstance(owner, Simd):
        return _simd(run, owner, name, args)
    if isinstance(owner, Position):
        return lanes(run, owner, lambda one: run.call(args[0], [one]))
    if isinstance(owner, (Loadable, FusedOutput)):
        return _loadable(run, owner, name, args, kwargs)
    dtype = to_dtype(_one(name, args))
    return max(1, owner.simd_bytes // dtype.bytes)


def _one(name: str, args: list[Any]) -> Any:
    if len(args) != 1:
        raise KernelError(f".{name}() takes one argument")
    return args[0]


def _simd(run: Interpreter, owner: Simd, name: str, args: list[Any]) -> Any:
    if name == "cast":
        return math.cast(run.b, owner, to_dtype(_one(name, args)))
    if name == "bits":
        return math.bitcast(run.b, owner, to_dtype(_one(name, args)))
    if name == "insert":
        lane, value = args
        scalar = value if isinstance(value, Simd) else math.literal(run.b, value, owner.dtype)
        return memory.insert(run.b, owner, lane, scalar)
    if args:
        raise KernelError(f".{name}() takes no arguments")
    return memory.horizontal(run.b, owner, name)


def _loadable(run: Interpreter, owner: Loadable | FusedOutput, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if name == "load":
        assert isinstance(owner, Loadable)
        unknown = set(kwargs) - {"width", "axis"}
        if unknown:
            raise KernelError(f".load() has no parameter {', '.join(sorted(unknown))}")
        width = kwargs.get("width", 1)
        if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= 4096:
            raise KernelError("the width of a load is a compile-time number from 1 to 4096")
        index = args[0] if len(args) == 1 and isinstance(args[0], (tuple, Position)) else tuple(args)
        return owner.load(run, position_of(owner.rank, index, width, kwargs.get("axis")))
    if name == "store":
        index = args[1] if len(args) == 2 and isinstance(args[1], (tuple, Position)) else tuple(args[1:])
        at = position_of(owner.rank, index, 1, kwargs.get("axis"))
        put(run, owner, at, args[0])  # pyright: ignore[reportArgumentType]
        return None
    if name == "place":
        assert isinstance(owner, Tensor)
        return math.as_index(run.b, owner.linear(run, tuple(args)))
    if name == "atomic_add":
        assert isinstance(owner, Tensor)
        return memory.atomic_add(run.b, owner.buffer, owner.dtype, owner.linear(run, tuple(args[:-1])), args[-1])
    if kwargs:
        names = {"slice": ("starts", "steps", "shape"), "permute": ("perm",), "reshape": ("shape",),
                 "broadcast": ("shape",), "drop": ("axis", "index"), "is_contiguous": ("axis",)}[name]  # fmt: skip
        args = [*args, *(kwargs[key] for key in names[len(args) :] if key in kwargs)]
    return _view(owner, name, args)


def _view(owner: Loadable | FusedOutput, name: str, args: list[Any]) -> Any:
    if name == "permute":
        perm = tuple(_one(name, args)) if len(args) == 1 and isinstance(args[0], (tuple, list)) else tuple(args)
        if sorted(axis + owner.rank if axis < 0 else axis for axis in perm) != list(range(owner.rank)):
            raise KernelError(f"permute{perm} does not order {owner.rank} axes")
        return owner.permute(tuple(axis % owner.rank for axis in perm))
    if name == "reshape":
        shape = to_shape(_one(name, args))
        if element_count(shape) != element_count(owner.shape):
            raise KernelError(f"reshape from {_text(owner.shape)} to {_text(shape)} changes the number of elements")
        return owner.reshape(shape)
    assert isinstance(owner, Loadable)
    if name == "broadcast":
        return owner.broadcast(to_shape(_one(name, args)))
    if name == "slice":
        starts, steps, shape = args
        if not len(starts) == len(steps) == len(shape) == owner.rank:
            raise KernelError(f"slice needs a start, step and size for each of {owner.rank} axes")
        return owner.slice(tuple(starts), tuple(steps), to_shape(shape))
    if name == "drop":
        axis, index = args
        return owner.drop(axis % owner.rank, index)
    return owner.rank > 0 and owner.contiguity(_one(name, args) % owner.rank)


def _text(shape: tuple[int | Dim, ...]) -> str:
    return f"({', '.join(str(size) for size in shape)})"
