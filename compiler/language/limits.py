"""How much a kernel may ask of the elaborator: bounds that real kernels stay far below and mistakes soon meet.

Every loop, sequence and number of elaboration goes through one of these, so that elaboration always ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.errors import KernelError

MAX_STEPS = 100_000  # statements and comprehension items of one kernel
MAX_OPERATIONS = 50_000  # of one function
MAX_DEPTH = 64  # calls inside calls: well before Python's own limit
MAX_ITEMS = 65_536  # items of a compile-time sequence, those of the sequences in it included
MAX_TEXT = 65_536  # characters of a compile-time text
MAX_WIDTH = 4_096  # lanes
MAX_STACK = 4 << 20  # bytes of a function's stack arrays
MAX_ELEMENTS = 1 << 60  # elements of a tensor: byte offsets stay below 2**63
_MAX_BITS = 4_096
_BOUND = 1 << _MAX_BITS


def whole(value: int) -> int:
    """A compile-time whole number, kept to a size at which arithmetic is fast."""
    if -_BOUND < value < _BOUND:
        return value
    raise KernelError(f"a compile-time number of more than {_MAX_BITS} bits")


def power(base: Any, exponent: Any) -> Any:
    """`base ** exponent` of numbers, refused before it is computed when it would be large."""
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * exponent > 2 * _MAX_BITS:
        raise KernelError("the result of a compile-time power is too large")
    result = base**exponent
    if isinstance(result, complex):
        raise KernelError("a negative number has no such power")
    return result


def shift_left(value: int, distance: int) -> int:
    """`value << distance`, refused before it is computed when it would be large."""
    if distance > _MAX_BITS:
        raise KernelError("the distance of a compile-time shift is too large")
    return value << distance


def repeat(value: Any, count: Any) -> Any:
    """`value * count` of a text, tuple or list, refused before it is computed when it would be long."""
    if isinstance(value, int):
        value, count = count, value
    if not isinstance(count, int):
        raise KernelError("a sequence is repeated a whole number of times")
    count = max(count, 0)
    if count > MAX_ITEMS or len(value) * count > MAX_ITEMS:
        raise KernelError(f"a compile-time sequence of more than {MAX_ITEMS} items")
    return text(value * count) if isinstance(value, str) else sequence(value * count)


def sequence(values: Any) -> Any:
    """A tuple or list, checked for its length: that of what it holds included, since `x = (x, x)` doubles it."""
    _weigh(values, 0)
    return values


def _weigh(values: Sequence[Any], total: int) -> int:
    total += len(values)
    if total > MAX_ITEMS:
        raise KernelError(f"a compile-time sequence of more than {MAX_ITEMS} items")
    for item in values:
        if isinstance(item, (tuple, list)):
            total = _weigh(item, total)
    return total


def text(value: str) -> str:
    """A compile-time text, checked for its length."""
    if len(value) > MAX_TEXT:
        raise KernelError(f"a compile-time text of more than {MAX_TEXT} characters")
    return value


def counted(start: int, stop: int, step: int) -> range:
    """The numbers of a compile-time range, when they are few enough to be listed."""
    numbers = range(start, stop, step)
    # len() refuses what does not fit a machine word, so the span is checked first.
    if abs(stop - start) // abs(step) > MAX_ITEMS or len(numbers) > MAX_ITEMS:
        raise KernelError(f"a compile-time range of more than {MAX_ITEMS} numbers; use range in a for statement")
    return numbers


def one_line(message: str) -> str:
    """A user's text as part of a message: on one line, and short."""
    joined = " ".join(message.split())
    return joined if len(joined) <= 400 else f"{joined[:397]}..."
