"""Builtin functions on compile-time values: sequences, numbers and texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.graph.dims import ceildiv as size_ceildiv
from compiler.language import limits
from compiler.language.builtins.registry import builtin
from compiler.language.context import Context
from compiler.language.values import arithmetic as math
from compiler.language.values import static
from compiler.language.values.dtypes import INDEX
from compiler.language.values.records import Position, RuntimeRange, Simd, Unroll, describe
from compiler.language.values.structs import StructType, struct_type


def _completed(bounds: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """One to three bounds as start, stop and step."""
    return (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds


@builtin("range")
def _range(run: Context, *bounds: Any) -> RuntimeRange:
    if not 1 <= len(bounds) <= 3:
        raise KernelError(f"range(stop), range(start, stop) or range(start, stop, step), not {len(bounds)} bounds")
    start, stop, step = _completed(bounds)
    for bound in (start, stop, step):
        if not isinstance(bound, (int, Dim, Simd)):
            raise KernelError(f"{describe(bound)} cannot bound a range")
    if not isinstance(step, Simd) and step == 0:
        raise KernelError("the step of a range cannot be 0")
    return RuntimeRange(start, stop, step)


@builtin("unroll")
def _unroll(run: Context, *bounds: Any) -> Unroll:
    if len(bounds) == 1 and not isinstance(bounds[0], int):
        return Unroll(items_of(bounds[0]))
    if not 1 <= len(bounds) <= 3 or not all(isinstance(bound, int) for bound in bounds) or bounds[2:] == (0,):
        raise KernelError("unroll needs one to three compile-time whole numbers, or a sequence")
    start, stop, step = _completed(bounds)
    return Unroll(tuple(limits.counted(start, stop, step)))


def items_of(value: Any) -> tuple[Any, ...]:
    """The items of a compile-time sequence."""
    items = static.items(value)
    if items is None:
        raise KernelError(f"{describe(value)} is not a compile-time sequence")
    return tuple(items)


@builtin("len")
def _len(run: Context, items: Any) -> int:
    return len(items.index) if isinstance(items, Position) else len(items_of(items))


def _of_items(name: str, make: Callable[[tuple[Any, ...]], Any]) -> None:
    @builtin(name)
    def body(run: Context, items: Any) -> Any:
        return make(items_of(items))


_of_items("tuple", tuple)
_of_items("list", list)
_of_items("enumerate", lambda items: Unroll(limits.sequence(tuple(enumerate(items)))))
_of_items("reversed", lambda items: items[::-1])
_of_items("any", lambda items: any(map(static.truth, items)))
_of_items("all", lambda items: all(map(static.truth, items)))


@builtin("zip")
def _zip(run: Context, *sequences: Any) -> Unroll:
    return Unroll(limits.sequence(tuple(zip(*map(items_of, sequences), strict=False))))


@builtin("sorted")
def _sorted(run: Context, items: Any) -> tuple[Any, ...]:
    values = items_of(items)
    if not all(static.is_number(item) for item in values):
        raise KernelError("sorted needs compile-time numbers")
    return tuple(sorted(values))


@builtin("sum")
def _sum(run: Context, items: Any) -> Any:
    total: Any = 0
    for item in items_of(items):
        total = math.binary(run.b, "+", total, item)
    return total


@builtin("int")
def _int(run: Context, x: Any) -> Any:
    if isinstance(x, Dim):
        return x
    if not static.is_number(x) or x != x or abs(x) == float("inf"):
        raise KernelError(f"int() is for compile-time numbers, not {describe(x)}; index(x) converts at run time")
    return int(x)


@builtin("float")
def _float(run: Context, x: Any) -> float:
    if not isinstance(x, (int, float, str)):
        raise KernelError(f"float() is for compile-time numbers, not {describe(x)}; f32(x) converts at run time")
    try:
        return float.fromhex(x) if isinstance(x, str) and "x" in x.lower() else float(x)
    except (ValueError, OverflowError):
        raise KernelError(f"{describe(x)} is not a number a float can hold") from None


@builtin("str")
def _str(run: Context, x: Any) -> str:
    return static.text_of(x)


@builtin("ceildiv")
def _ceildiv(run: Context, a: Any, b: Any) -> Any:
    if isinstance(b, int) and isinstance(a, (int, float, Dim, Simd)):
        if b <= 0:
            raise KernelError("ceildiv needs a positive divisor")
        if isinstance(a, (int, Dim)):
            return static.bounded(size_ceildiv(a, b))
    more = math.binary(run.b, "+", a, math.binary(run.b, "-", b, 1))
    if isinstance(more, Simd) and more.dtype is INDEX:
        return math.divide_sizes(run.b, more, b)
    return math.binary(run.b, "//", more, b)


@builtin("static", "is_static")
def _static(run: Context, x: Any) -> bool:
    return static.is_static(x) and not _symbolic(x)


def _symbolic(value: Any) -> bool:
    return isinstance(value, Dim) or (isinstance(value, (tuple, list)) and any(_symbolic(item) for item in value))


@builtin("error")
def _error(run: Context, message: Any) -> None:
    raise KernelError(limits.one_line(static.text_of(message)))


@builtin("struct")
def _struct(run: Context, **fields: Any) -> StructType:
    return struct_type(fields)
