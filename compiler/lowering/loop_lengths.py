"""How often a loop runs at most, as far as its bounds show: what LLVM's unroller would find out, for much less.

Kernels come unrolled where the library wants it. LLVM's unroller only adds short loops of known length, and the windows
of pools, whose bounds are cut at the edges; looking for them takes it a tenth of a compilation, so it looks at modules
that have one.
"""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

_SHORT = 4  # turns; see what the CPU targets tell LLVM's unroller
# Lines of all turns together that LLVM never unrolls to: with loops in them, and without any, where it looks more
# closely at what it would save.
_MOST_LINES, _MOST_LINES_WITHOUT_LOOPS = 240, 800
_DEPTH = 6  # of minima and maxima in each other


def most_turns(lower: SSAValue, upper: SSAValue, step: SSAValue, names: Mapping[int, str]) -> int | None:
    """The most turns a loop can take, None where its bounds do not show it; `names` has the literals' spelling."""
    by = _literal(step, names)
    length = _length(lower, upper, names, _DEPTH)
    return None if by is None or by <= 0 or length is None else max(-(-length // by), 0)


def is_short(turns: int | None, lines: int, holds_loops: bool) -> bool:
    """Whether LLVM may unroll a loop of so many turns (None: nobody knows) over so many lines."""
    most = _MOST_LINES if holds_loops else _MOST_LINES_WITHOUT_LOOPS
    return turns is not None and turns <= _SHORT and turns * lines <= most


def _literal(value: SSAValue, names: Mapping[int, str]) -> int | None:
    name = names[id(value)]
    return None if name[0] == "%" else int(name)


def _operation(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner if isinstance(owner, Operation) else None


def _length(lower: SSAValue, upper: SSAValue, names: Mapping[int, str], depth: int) -> int | None:
    """The most that `upper - lower` can be."""
    if upper is lower:
        return 0
    operation = _operation(upper) if depth else None
    parts: list[int | None] = []
    if isinstance(operation, (arith.MinSIOp, arith.MaxSIOp)):
        parts = [_length(lower, part, names, depth - 1) for part in operation._operands]
    elif isinstance(operation, arith.AddiOp):
        parts = [_literal(b, names) for a, b in (operation._operands, operation._operands[::-1]) if a is lower]
    found = _largest(parts) if isinstance(operation, arith.MaxSIOp) else _smallest(parts)
    if found is not None:
        return found
    high, low = _bound(upper, names, depth, arith.MinSIOp), _bound(lower, names, depth, arith.MaxSIOp)
    return None if high is None or low is None else high - low


def _bound(
    value: SSAValue, names: Mapping[int, str], depth: int, towards: type[arith.MinSIOp] | type[arith.MaxSIOp]
) -> int | None:
    """The most that a value can be, `towards` being the minimum; the least, that being the maximum."""
    known = _literal(value, names)
    operation = _operation(value) if known is None and depth else None
    if not isinstance(operation, (arith.MinSIOp, arith.MaxSIOp)):
        return known
    parts = [_bound(part, names, depth - 1, towards) for part in operation._operands]
    small = towards is arith.MinSIOp
    if isinstance(operation, towards):  # one part is enough
        return _smallest(parts) if small else _largest([part for part in parts if part is not None])
    if None in parts:
        return None
    return _largest(parts) if small else _smallest(parts)


def _smallest(parts: list[int | None]) -> int | None:
    """The smallest of those that are known."""
    return min((part for part in parts if part is not None), default=None)


def _largest(parts: list[int | None]) -> int | None:
    """The largest, where all are known."""
    known = [part for part in parts if part is not None]
    return max(known) if known and len(known) == len(parts) else None
