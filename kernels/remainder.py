"""fmod of floats, and division with remainder as NumPy does it: quotient down, remainder with the divisor's sign."""

from kernels.language import *
from kernels.math_arithmetic import bits_of, exponent_bias, mantissa_bits, power_of_two, scale_by_power


@inline
def split_significand(x):
    """(m, n): x = m * 2**n for positive finite x, m a float in 2**mantissa_bits <= m < 2 * 2**mantissa_bits."""
    dt = x.dtype
    digits, one = mantissa_bits(dt), exponent_bias(dt) + mantissa_bits(dt)
    small = x < 2.0 ** (1 - exponent_bias(dt))
    pattern = select(small, x * 2.0 ** (digits + 1), x).bits(bits_of(dt))
    n = (pattern >> digits) - one
    m = ((pattern & ((1 << digits) - 1)) | (one << digits)).bits(dt)
    return m, select(small, n - (digits + 1), n)


@function
def fmod_function(x, y):
    """x - y * trunc(x / y), exact: the sign of x, NaN for an infinite x or a zero y.

    Long division, as many bits a step as a significand holds: each quotient digit is an integer below
    2**mantissa_bits, so the fused step that takes it away is exact. A rounded quotient is at most one too large.
    """
    dt = x.dtype
    size, divisor = abs(x), abs(y)
    m_x, n_x = split_significand(size)
    m, n = split_significand(divisor)
    left = max(n_x - n, 0)
    r = select(m_x >= m, m_x - m, m_x)
    while (left > 0).any():
        step = min(left, mantissa_bits(dt))
        r = r * power_of_two(step, dt=dt)
        r = fma(-trunc(r / m), m, r)
        r = select(r < 0.0, r + m, r)
        left = left - step
    result = select(size < divisor, x, copysign(scale_by_power(r, n), x))
    return select((size < dt.inf) & (divisor > 0.0), result, dt(dt.nan))


@function
def float_mod(x, y):
    """NumPy's remainder of floats: fmod moved to the sign of y; a zero result has the sign of y too."""
    r = fmod_function(x, y)
    moved = select((r < 0.0) != (y < 0.0), r + y, r)
    return select(r == 0.0, copysign(r, y), moved)


@function
def float_floordiv(x, y):
    """NumPy's floor_divide of floats: (x - mod) / y rounded to the nearest integer; x / y for a zero y."""
    r = fmod_function(x, y)
    quotient = (x - r) / y
    quotient = select((r != 0.0) & ((r < 0.0) != (y < 0.0)), quotient - 1.0, quotient)
    down = floor(quotient)
    whole = select(quotient - down > 0.5, down + 1.0, down)
    whole = select(quotient == 0.0, copysign(x.dtype(0), x / y), whole)
    return select(y == 0.0, x / y, whole)


@function
def integer_floordiv(x, y):
    """The quotient rounded down, wrapping; 0 for y = 0. Never divides by 0, nor the smallest number by -1."""
    if x.dtype.is_signed:
        quotient = x // select((y == 0) | (y == -1), x.dtype(1), y)
        return select(y == 0, x.dtype(0), select(y == -1, -x, quotient))
    return select(y == 0, x.dtype(0), x // select(y == 0, x.dtype(1), y))


@function
def integer_mod(x, y):
    """The remainder with the sign of y; 0 for y = 0."""
    special = (y == 0) | (y == -1) if x.dtype.is_signed else y == 0
    return select(special, x.dtype(0), x % select(special, x.dtype(1), y))


@elementwise("mo.floordiv")
def floordiv(x, y):
    """x / y rounded down."""
    return float_floordiv(x, y) if x.dtype.is_float else integer_floordiv(x, y)


@elementwise("mo.mod")
def mod(x, y):
    """What floordiv leaves, with the sign of y."""
    return float_mod(x, y) if x.dtype.is_float else integer_mod(x, y)
