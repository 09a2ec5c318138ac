"""What the mathematical functions are built from: polynomials, powers of two, and sums and products with their error.

Every function here and in the files that use it works on f32 and f64 values of any width and has no branch that depends
on a lane, so it vectorises. A *pair* is an unevaluated sum (high, low) of two floats, |low| <= ulp(high) / 2.
"""

from kernels.language import *


@inline
def horner(x, coefficients):
    """The polynomial with these coefficients, highest power first, in fused steps; at least two coefficients."""
    y = fma(x, coefficients[0], coefficients[1])
    for c in unroll(coefficients[2:]):
        y = fma(y, x, c)
    return y


@inline
def bits_of(dt):
    """The integer dtype as wide as the float dtype `dt`."""
    return i32 if dt == f32 else i64


@inline
def mantissa_bits(dt):
    """Stored bits of the significand of a float dtype."""
    return 23 if dt == f32 else 52


@inline
def exponent_bias(dt):
    """The exponent field of 1.0 in a float dtype."""
    return 127 if dt == f32 else 1023


@inline
def power_of_two(n, *, dt):
    """2**n in float dtype `dt` for integers n of its width, exponent_bias >= n > -exponent_bias."""
    return ((n + exponent_bias(dt)) << mantissa_bits(dt)).bits(dt)


@inline
def scale_by_power(y, n, *, whole=None):
    """y * 2**n rounded once, for y near 1 and n of any size the result of which is zero, subnormal, normal or infinite.

    The factor is applied in two halves: 2**n itself may be out of range where the product is not. AVX-512 does it in
    one instruction, which takes n as the float `whole`.
    """
    if whole is not None and target.simd_bytes == 64 and y.width >= 64 // y.dtype.bytes:
        return scaled_registers(y, whole)
    half = n >> 1
    return y * power_of_two(half, dt=y.dtype) * power_of_two(n - half, dt=y.dtype)


@inline
def add_to_exponent(y, n, *, whole):
    """y * 2**n where that is as normal a number as y is; `whole` as for scale_by_power."""
    if target.simd_bytes == 64 and y.width >= 64 // y.dtype.bytes:
        return scaled_registers(y, whole)
    return (y.bits(bits_of(y.dtype)) + (n << mantissa_bits(y.dtype))).bits(y.dtype)


@inline
def scaled_registers(y, whole):
    """y * 2**whole, AVX-512 registers of it at a time."""
    lanes = 64 // y.dtype.bytes
    if y.width > lanes:
        half = y.width // 2
        low, high = tuple(range(half)), tuple(range(half, y.width))
        return concat(
            scaled_registers(shuffle(y, y, low), shuffle(whole, whole, low)),
            scaled_registers(shuffle(y, y, high), shuffle(whole, whole, high)),
        )
    if y.dtype == f32:
        return intrinsic("llvm.x86.avx512.mask.scalef.ps.512", f32, 16, y, whole, y, i16(-1), i32(4))
    return intrinsic("llvm.x86.avx512.mask.scalef.pd.512", f64, 8, y, whole, y, i8(-1), i32(4))


@inline
def split_integer(x, factor):
    """(k, n): round(x * factor) as a float and as an integer, for |x * factor| < 2**21 (f32) or 2**50 (f64).

    Adding 1.5 * 2**mantissa_bits leaves the integer in the low bits: no conversion instruction, and no trap on NaN.
    """
    if x.dtype == f32:
        magic, pattern = 12582912.0, 0x4B400000
    else:
        magic, pattern = 6755399441055744.0, 0x4338000000000000
    t = fma(x, factor, magic)
    return t - magic, t.bits(bits_of(x.dtype)) - pattern


@inline
def quick_two_sum(a, b):
    """The pair a + b, for |a| >= |b| or a = 0."""
    high = a + b
    return high, b - (high - a)


@inline
def two_sum(a, b):
    """The pair a + b, whichever is larger."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


@inline
def two_product(a, b):
    """The pair a * b."""
    high = a * b
    return high, fma(a, b, -high)


@inline
def divided_in_range(top, bottom):
    """top / bottom where the bottom and its reciprocal are normal numbers, or infinite or NaN where the quotient is not
    used, and nothing that matters overflows or gets lost on the way.

    NVIDIA's division looks at its operands first and may branch; the card's estimate of the reciprocal and what the
    quotient by it leaves over are a third of that, and as exact but for rare ties.
    """
    if not estimates(bottom):
        return top / bottom
    r = reciprocal_nearly(bottom)
    quotient = top * r
    return fma(fma(-quotient, bottom, top), r, quotient)


@inline
def reciprocal_nearly(x):
    """1 / x for such an x, by the card's estimate (1 ulp) where it has one: for who corrects what it makes of it."""
    return estimated("llvm.nvvm.rcp.approx.ftz.f", x) if estimates(x) else 1.0 / x


@inline
def reciprocal_root(x):
    """1 / sqrt(x), < 1 ulp. NVIDIA's root and division look at their operands first and may branch: a third of that is
    to correct the card's estimate, but where there is nothing to correct, at zero and infinity."""
    if not estimates(x):
        return 1.0 / sqrt(x)
    r = estimated("llvm.nvvm.rsqrt.approx.f", x)
    error = fma(-(x * r), r, 1.0)
    return select(error == error, fma(0.5 * r, error, r), r)


@inline
def estimates(x):
    """Whether the target has instructions for what is nearly the reciprocal, or its root, of such a number."""
    return target.is_nvidia and x.dtype == f32


@inline
def estimated(instruction, x):
    """What such an instruction makes of each lane."""
    if x.width == 1:
        return intrinsic(instruction, f32, 1, x)
    return vector(*[intrinsic(instruction, f32, 1, x[k]) for k in range(x.width)])
