"""Attributes and methods of the values a kernel can hold."""

from __future__ import annotations

from functools import reduce
from operator import attrgetter
from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import memory
from compiler.language.values.arguments import axis_number, to_dtype, to_shape, to_width
from compiler.language.values.dtypes import INDEX, DType
from compiler.language.values.lanes import horizontal, insert
from compiler.language.values.loadables import FusedOutput, Loadable, Tensor, lanes, put
from compiler.language.values.positions import check_inside, position_of
from compiler.language.values.records import Bound, Position, Simd, StaticSize, describe
from compiler.language.values.shapes import element_count, shape_text
from compiler.language.values.static import is_number
from compiler.language.values.structs import Struct
from compiler.targets.target import Target

_SIMD_METHODS = frozenset({"cast", "bits", "sum", "prod", "max", "min", "any", "all", "insert"})
_LOADABLE_METHODS = frozenset(
    {"load", "permute", "reshape", "broadcast", "slice", "drop", "is_contiguous", "runs_along"}
)
_TENSOR_METHODS = _LOADABLE_METHODS | {"store", "atomic_add", "place"}
_SINK_METHODS = frozenset({"store", "permute", "reshape"})
_DTYPE_FIELDS = frozenset(
    {"bits", "bytes", "is_float", "is_int", "is_bool", "is_signed", "inf", "nan", "min", "max", "acc", "name"}
)
TARGET_FIELDS = {  # what kernels may ask of the target, and where its record has it
    "name": attrgetter("name"), "simd_bytes": attrgetter("simd_bytes"), "arch": attrgetter("generation"),
    "is_cpu": lambda target: target.kind == "cpu", "is_gpu": lambda target: target.emission.grid is not None,
    "is_nvidia": lambda target: target.kind == "nvidia", "is_amd": lambda target: target.kind == "amd",
    "registers": attrgetter("vector_registers"), "warp": attrgetter("warp_size"),
    "shared_bytes": attrgetter("limits.shared_memory_bytes"),
}  # fmt: skip


def attribute(run: Context, value: Any, name: str) -> Any:
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
            return reduce(lambda count, size: math.binary(run.b, "*", count, size), value.shape, 1)
        if name == "reads" and isinstance(value, Loadable):
            return value.reads()
        if name == "iterates" and isinstance(value, Loadable):
            return value.iterates()
        if name == "writes" and isinstance(value, (Tensor, FusedOutput)):
            memory = value if isinstance(value, Tensor) else value.memory
            return () if memory is None else (memory,)
        if name == "is_strided":
            return isinstance(value, Tensor)
        if name in ("strides", "offset") and isinstance(value, Tensor):
            return getattr(value, name)
        if name == "flat" and isinstance(value, Tensor):
            return value.flat()
        known = _TENSOR_METHODS if isinstance(value, Tensor) else _LOADABLE_METHODS
        if name in (known if isinstance(value, Loadable) else _SINK_METHODS):
            return Bound(value, name)
    elif isinstance(value, Target):
        if name == "simd":
            return Bound(value, name)
        if name in TARGET_FIELDS:
            return TARGET_FIELDS[name](value)
    elif is_number(value) or isinstance(value, Dim):
        # A position that turned out to be known is still asked for what positions have.
        if name == "cast":
            return Bound(value, name)
        if name in ("dtype", "width") and isinstance(value, (int, Dim)) and not isinstance(value, bool):
            return INDEX if name == "dtype" else 1
    elif isinstance(value, Struct):
        return value.get(run, name)
    elif isinstance(value, list) and name == "append":
        raise KernelError("lists do not grow in place; write xs = [*xs, x]")
    raise KernelError(f"{describe(value)} has no attribute {name}")


_PARAMETERS = {
    "cast": ("dtype",), "bits": ("dtype",), "insert": ("lane", "value"), "lanes": ("function",), "simd": ("dtype",),
    "permute": ("perm",), "reshape": ("shape",), "broadcast": ("shape",), "slice": ("starts", "steps", "shape"),
    "drop": ("axis", "index"), "is_contiguous": ("axis",), "runs_along": ("axis",),
    "sum": (), "prod": (), "max": (), "min": (), "any": (), "all": (),
}  # fmt: skip


def invoke(run: Context, bound: Bound, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method."""
    owner, name = bound.owner, bound.name
    if name in ("load", "store", "atomic_add", "place"):
        return _element(run, owner, name, args, kwargs)
    if name == "permute" and args and all(isinstance(axis, int) for axis in args):
        args = [tuple(args)]  # x.permute(1, 0) is x.permute((1, 0))
    args = _arguments(name, args, kwargs)
    if name in ("cast", "simd", "bits"):
        dtype = to_dtype(args[0])
        if name == "simd":
            return max(1, owner.simd_bytes // dtype.bytes)
        return math.cast(run.b, owner, dtype) if name == "cast" else math.bitcast(run.b, owner, dtype)
    if name == "lanes":
        return lanes(run.b, owner, lambda one: run.call(args[0], [one]))
    if name == "insert":
        return insert(run.b, owner, args[0], args[1])
    if isinstance(owner, Simd):
        return horizontal(run.b, owner, name)
    return _view(owner, name, args)


def _arguments(name: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments of a method in the order of its parameters."""
    names = _PARAMETERS[name]
    unknown = set(kwargs) - set(names[len(args) :])
    if unknown:
        raise KernelError(f".{name}() has no parameter {', '.join(sorted(unknown))}")
    if len(args) + len(kwargs) != len(names):
        wanted = f"takes {', '.join(names)}" if names else "takes nothing"
        raise KernelError(f".{name}() {wanted}; {len(args) + len(kwargs)} given")
    return [*args, *(kwargs[key] for key in names[len(args) :])]


def _element(run: Context, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`.load(i, j, width=, axis=)`, `.store(v, i, j, axis=)`, `.atomic_add(i, j, v)` and `.place(i, j)`."""
    allowed = {"load": {"width", "axis"}, "store": {"axis"}}.get(name, set())
    if not kwargs.keys() <= allowed:
        raise KernelError(f".{name}() has no parameter {', '.join(sorted(kwargs.keys() - allowed))}")
    if name in ("store", "atomic_add") and not args:
        raise KernelError(f".{name}() needs a value")
    index = args[1:] if name == "store" else args[:-1] if name == "atomic_add" else args
    where = index[0] if len(index) == 1 and isinstance(index[0], (tuple, Position)) else tuple(index)
    if isinstance(where, Position) and kwargs:
        raise KernelError(f".{name}() at a position takes the position's own width and axis")
    at = position_of(owner.rank, where, to_width(kwargs.get("width", 1)), kwargs.get("axis"))
    if name == "store":
        return put(run, owner, at, args[0])
    check_inside(run.b, owner.shape, at)
    if name == "load":
        return owner.load(run, at)
    if name == "place":
        return math.as_index(run.b, owner.linear(run.b, at.index))
    return memory.atomic_add(run.b, owner.buffer, owner.dtype, owner.linear(run.b, at.index), args[-1])


def _view(owner: Loadable | FusedOutput, name: str, args: list[Any]) -> Any:
    if name == "permute":
        perm = args[0]
        if not isinstance(perm, (tuple, list)) or len(perm) != owner.rank:
            raise KernelError(f"permute needs the {owner.rank} axes in their new order")
        perm = tuple(axis_number(axis, owner.rank) for axis in perm)
        if len(set(perm)) != len(perm):
            raise KernelError(f"permute{perm} names an axis twice")
        return owner.permute(perm)
    if name == "reshape":
        shape = to_shape(args[0])
        if any(isinstance(size, Simd) for size in owner.shape):
            raise KernelError(
                "a tensor of run-time sizes cannot be reshaped: its elements are not counted before it runs"
            )
        if element_count(shape) != element_count(owner.shape):
            raise KernelError(f"reshape of {shape_text(owner.shape)} to {shape_text(shape)}: other numbers of elements")
        return owner.reshape(shape)
    assert isinstance(owner, Loadable)
    if name == "broadcast":
        return owner.broadcast(to_shape(args[0]))
    if name == "slice":
        return owner.slice(*_slice_arguments(owner, *args))
    if name in ("is_contiguous", "runs_along") and not owner.rank:
        return False
    axis = axis_number(args[0], owner.rank)
    if name == "drop":
        position_of(1, (args[1],))
        return owner.drop(axis, args[1])
    return owner.contiguity(axis) if name == "is_contiguous" else owner.adjacency(axis)


def _slice_arguments(owner: Loadable, starts: Any, steps: Any, sizes: Any) -> tuple[Any, Any, tuple[StaticSize, ...]]:
    """What `.slice` was given, checked as far as it is known."""
    shape = to_shape(sizes)
    for parts in (starts, steps):
        if not isinstance(parts, (tuple, list)) or not len(parts) == len(shape) == owner.rank:
            raise KernelError(f"slice needs a start, step and size for each of {owner.rank} axes")
        position_of(owner.rank, parts)
    for start, step, size, whole in zip(starts, steps, shape, owner.shape, strict=True):
        if all(isinstance(part, int) for part in (start, step, size, whole)) and size:
            last = start + (size - 1) * step
            if min(start, last) < 0 or max(start, last) >= whole:
                raise KernelError(f"slice from {start} to {last} of an axis of {whole}")
    return tuple(starts), tuple(steps), shape
