"""Rotary position embedding: pairs of elements of each row, turned by the angle of the row's position."""

from kernels.indexing import replace
from kernels.language import *


@pointwise("mo.rope")
def rope(at, x: FusedInput, cos: FusedInput, sin: FusedInput, *, interleaved, result):
    """x[..., S, D] turned by cos and sin [S, D/2]; pairs are neighbours, or else lie half a row apart."""
    if interleaved:
        return turn_neighbours(at, x, cos, sin, result)
    return turn_halves(at, x, cos, sin, result)


@inline
def angle(table, at, pair, width):
    """The entries of a cos or sin table for the row of `at`, `width` pairs from `pair` on."""
    row = at[at_axis(at, -2)]
    if width > 1 and at.axis == at_axis(at, -1):
        return table[position((row, pair), width=width, axis=1)]
    if at.width > 1 and at.axis == at_axis(at, -2):
        return table[position((row, pair), width=at.width, axis=0)]
    return splat(table[row, pair], at.width)


@inline
def at_axis(at, k):
    """The number of an axis that is counted from the end."""
    return len(at.index) + k


@inline
def turned(x, partner, c, s, sign, result):
    """One half of a rotation, in the type that `result` is computed in."""
    dt = result.acc
    return (x.cast(dt) * c.cast(dt) + partner.cast(dt) * s.cast(dt) * sign).cast(result)


@inline
def turn_halves(at, x, cos, sin, result):
    """Element d pairs with d + D/2 (mod D)."""
    last = x.rank - 1
    half = x.shape[-1] // 2
    d = index(at[last])
    first = d < half
    pair = select(first, d, d - half)
    partner = position(replace(at.index, last, select(first, d + half, d - half)), width=at.width, axis=at.axis)
    sign = select(first, result.acc(-1), result.acc(1))
    if at.width == 1 or at.axis != last:
        return turned(x[at], x[partner], angle(cos, at, pair, 1), angle(sin, at, pair, 1), sign, result)
    if (d + at.width <= half) | (d >= half):
        value = turned(x[at], x[partner], angle(cos, at, pair, at.width), angle(sin, at, pair, at.width), sign, result)
    else:
        value = at.lanes(lambda one: turn_halves(one, x, cos, sin, result))
    return value


@inline
def turn_neighbours(at, x, cos, sin, result):
    """Element 2i pairs with 2i + 1."""
    last = x.rank - 1
    d = index(at[last])
    pair = d // 2
    odd = (d & 1) == 1
    if at.width == 1 or at.axis != last:
        partner = position(replace(at.index, last, select(odd, d - 1, d + 1)), width=at.width, axis=at.axis)
        sign = select(odd, result.acc(1), result.acc(-1))
        return turned(x[at], x[partner], angle(cos, at, pair, 1), angle(sin, at, pair, 1), sign, result)
    if odd:
        value = at.lanes(lambda one: turn_neighbours(one, x, cos, sin, result))
    else:
        lanes = range(at.width)
        v = x[at]
        c = angle(cos, at, pair, at.width // 2)
        s = angle(sin, at, pair, at.width // 2)
        twice = tuple([i // 2 for i in lanes])
        sign = vector(*[result.acc(1 if i % 2 == 1 else -1) for i in lanes])
        value = turned(
            v,
            shuffle(v, v, tuple([i + 1 - 2 * (i % 2) for i in lanes])),
            shuffle(c, c, twice),
            shuffle(s, s, twice),
            sign,
            result,
        )
    return value
