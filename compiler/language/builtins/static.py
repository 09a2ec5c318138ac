"""Builtin functions on compile-time values: sequences, numbers and texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.graph.dims import ceildiv as size_ceildiv
from compiler.language import limits
from compiler.language.builtins.registry import BUILTINS, Builtin, builtin
from compiler.language.values import arithmetic as math
from compiler.language.values import static
from compiler.language.values.dtypes import INDEX
from compiler.language.values.kinds import Position, RuntimeRange, Simd, Unroll

if TYPE_CHECKING:
    from compiler.language.interpreter import Interpreter


@builtin("range")
def _range(run: Interpreter, *bounds: Any) -> RuntimeRange:
    if not 1 <= len(bounds) <= 3:
        raise KernelError(f"range(stop), range(start, stop) or range(start, stop, step), not {len(bounds)} bounds")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    for bound in (start, stop, step):
        if not isinstance(bound, (int, Dim, Simd)):
            raise KernelError(f"{math.describe(bound)} cannot bound a range")
    if not isinstance(step, Simd) and step == 0:
        raise KernelError("the step of a range cannot be 0")
    return RuntimeRange(start, stop, step)


@builtin("unroll")
def _unroll(run: Interpreter, *bounds: Any) -> Unroll:
    if len(bounds) == 1 and not isinstance(bounds[0], int):
        return Unroll(items_of(bounds[0]))
    if not 1 <= len(bounds) <= 3 or not all(isinstance(bound, int) for bound in bounds) or bounds[2:] == (0,):
        raise KernelError("unroll needs one to three compile-time whole numbers, or a sequence")
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    return Unroll(tuple(limits.counted(start, stop, step)))


def items_of(value: Any) -> tuple[Any, ...]:
    """The items of a compile-time sequence."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    if isinstance(value, Unroll):
        return value.values
    if isinstance(value, RuntimeRange):
        bounds = (value.start, value.stop, value.step)
        if all(isinstance(bound, int) for bound in bounds):
            return tuple(limits.counted(*bounds))
        raise KernelError("this range must be known at compile time")
    raise KernelError(f"{math.describe(value)} is not a compile-time sequence")


@builtin("len")
def _len(run: Interpreter, items: Any) -> int:
    return len(items.index) if isinstance(items, Position) else len(items_of(items))


@builtin("tuple")
def _tuple(run: Interpreter, items: Any) -> tuple[Any, ...]:
    return items_of(items)


@builtin("list")
def _list(run: Interpreter, items: Any) -> list[Any]:
    return list(items_of(items))


@builtin("zip")
def _zip(run: Interpreter, *sequences: Any) -> Unroll:
    return Unroll(limits.sequence(tuple(zip(*map(items_of, sequences), strict=False))))


@builtin("enumerate")
def _enumerate(run: Interpreter, items: Any) -> Unroll:
    return Unroll(limits.sequence(tuple(enumerate(items_of(items)))))


@builtin("reversed")
def _reversed(run: Interpreter, items: Any) -> tuple[Any, ...]:
    return items_of(items)[::-1]


@builtin("sorted")
def _sorted(run: Interpreter, items: Any) -> tuple[Any, ...]:
    values = items_of(items)
    if not all(math.is_number(item) for item in values):
        raise KernelError("sorted needs compile-time numbers")
    return tuple(sorted(values))


@builtin("sum")
def _sum(run: Interpreter, items: Any) -> Any:
    total: Any = 0
    for item in items_of(items):
        total = math.binary(run.b, "+", total, item)
    return total


@builtin("any")
def _any(run: Interpreter, items: Any) -> bool:
    return any(math.truth(item) for item in items_of(items))


@builtin("all")
def _all(run: Interpreter, items: Any) -> bool:
    return all(math.truth(item) for item in items_of(items))


@builtin("int")
def _int(run: Interpreter, x: Any) -> Any:
    if isinstance(x, Dim):
        return x
    if not math.is_number(x) or x != x or abs(x) == float("inf"):
        raise KernelError(f"int() is for compile-time numbers, not {math.describe(x)}; index(x) converts at run time")
    return int(x)


@builtin("float")
def _float(run: Interpreter, x: Any) -> float:
    if not isinstance(x, (int, float, str)):
        raise KernelError(f"float() is for compile-time numbers, not {math.describe(x)}; f32(x) converts at run time")
    try:
        return float.fromhex(x) if isinstance(x, str) and "x" in x.lower() else float(x)
    except (ValueError, OverflowError):
        raise KernelError(f"{math.describe(x)} is not a number a float can hold") from None


@builtin("str")
def _str(run: Interpreter, x: Any) -> str:
    return static.text_of(x)


@builtin("ceildiv")
def _ceildiv(run: Interpreter, a: Any, b: Any) -> Any:
    if isinstance(b, int) and isinstance(a, (int, float, Dim, Simd)):
        if b <= 0:
            raise KernelError("ceildiv needs a positive divisor")
        if isinstance(a, (int, Dim)):
            return static.bounded(size_ceildiv(a, b))
    more = math.binary(run.b, "+", a, math.binary(run.b, "-", b, 1))
    if isinstance(more, Simd) and more.dtype is INDEX:
        return math.divide_sizes(run.b, more, b)
    return math.binary(run.b, "//", more, b)


@builtin("static")
def _static(run: Interpreter, x: Any) -> bool:
    return math.is_static(x) and not _symbolic(x)


def _symbolic(value: Any) -> bool:
    return isinstance(value, Dim) or (isinstance(value, (tuple, list)) and any(_symbolic(item) for item in value))


BUILTINS["is_static"] = Builtin("is_static", _static)


@builtin("error")
def _error(run: Interpreter, message: Any) -> None:
    raise KernelError(limits.one_line(static.text_of(message)))
