"""Integer products wider than a register."""

from __future__ import annotations

from compiler.language import arithmetic as math
from compiler.language.builder import Builder
from compiler.language.values import Simd


def high_half(b: Builder, one: Simd, two: Simd) -> Simd:
    """The upper half of an unsigned product, from four half-width products: no target lacks those."""
    half = one.dtype.bits // 2
    mask = (1 << half) - 1

    def low(value: Simd) -> Simd:
        return math.binary(b, "&", value, mask)

    def high(value: Simd) -> Simd:
        from xdsl.dialects import arith

        distance = math.literal(b, half, value.dtype, value.width)
        return Simd(b.pure(arith.ShRUIOp, (value.ssa, distance.ssa), value.ssa.type), value.dtype, value.width)

    a0, a1, b0, b1 = low(one), high(one), low(two), high(two)
    middle = math.binary(b, "+", math.binary(b, "*", a1, b0), high(math.binary(b, "*", a0, b0)))
    other = math.binary(b, "+", math.binary(b, "*", a0, b1), low(middle))
    upper = math.binary(b, "+", math.binary(b, "*", a1, b1), high(middle))
    return math.binary(b, "+", upper, high(other))
