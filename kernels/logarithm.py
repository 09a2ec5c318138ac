"""log, log2 and log1p: the exponent, plus log(m) on sqrt(1/2) <= m < sqrt(2) by the series of (m - 1) / (m + 1)."""

from kernels.language import *
from kernels.math_arithmetic import bits_of, divided_in_range, horner, mantissa_bits

# (log((1 + s) / (1 - s)) / s - 2) / s**2 as a polynomial in s**2 on |s| <= 0.1716, minimax, highest power first.
LOG_F32 = (0.29871064, 0.39977577, 0.66666776)
LOG_F64 = (0.14797033610596028, 0.153139415583401, 0.18183568651564022, 0.222221984875647,
           0.2857142874326257, 0.39999999999410435, 0.6666666666666735)  # fmt: skip


@inline
def split_exponent(x):
    """(n, m): x = m * 2**n with sqrt(1/2) <= m < sqrt(2), n an integer; for positive normal x."""
    root_half = 0x3F3504F3 if x.dtype == f32 else 0x3FE6A09E667F3BCD
    pattern = x.bits(bits_of(x.dtype))
    n = (pattern - root_half) >> mantissa_bits(x.dtype)
    return n, (pattern - (n << mantissa_bits(x.dtype))).bits(x.dtype)


@inline
def split_any_exponent(x):
    """`split_exponent` for positive x, subnormal or not."""
    smallest, scale, n_scale = (2.0**-126, 2.0**24, 24) if x.dtype == f32 else (2.0**-1022, 2.0**54, 54)
    small = x < smallest
    n, m = split_exponent(select(small, x * scale, x))
    return select(small, n - n_scale, n), m


@inline
def log_of_one_plus(f, correction):
    """log(1 + f) + correction for sqrt(1/2) <= 1 + f < sqrt(2) and a correction below half an ulp."""
    s = divided_in_range(f, f + 2.0)
    z = s * s
    half_square = 0.5 * f * f
    tail = z * horner(z, LOG_F32 if f.dtype == f32 else LOG_F64)
    return f - (half_square - fma(s, half_square + tail, correction))


@inline
def log_from(n, f, correction):
    """n * log(2) + log(1 + f) + correction."""
    high, low = (0.6931472, -1.9046542e-09) if f.dtype == f32 else (0.6931471805599453, 2.3190468138462996e-17)
    k = n.cast(f.dtype)
    return fma(k, high, log_of_one_plus(f, fma(k, low, correction)))


@inline
def log_specials(x, y):
    """y where x is positive and finite; what any logarithm gives elsewhere."""
    infinity = x.dtype.inf
    outside = select(x == 0.0, x.dtype(-infinity), x.dtype(x.dtype.nan))
    return select(x > 0.0, select(x < infinity, y, x), outside)


@function
def log_function(x):
    """The natural logarithm. f32: < 0.9 ulp, f64: < 0.9 ulp, subnormal arguments included."""
    n, m = split_any_exponent(x)
    return log_specials(x, log_from(n, m - 1.0, x.dtype(0)))


@function
def log2_function(x):
    """The binary logarithm, exact at powers of two. f32: < 2 ulp, f64: < 2 ulp, subnormal arguments included."""
    n, m = split_any_exponent(x)
    return log_specials(x, fma(log_of_one_plus(m - 1.0, x.dtype(0)), 1.4426950408889634, n.cast(x.dtype)))


@function
def log1p_function(x):
    """log(1 + x). f32: < 1 ulp, f64: < 1 ulp.

    Within sqrt(2) of one, x itself is the series' argument; elsewhere what rounding 1 + x loses is added.
    """
    u = x + 1.0
    v = u - 1.0
    lost = (1.0 - (u - v)) + (x - v)
    n, m = split_exponent(u)
    near = n == 0
    y = log_from(n, select(near, x, m - 1.0), select(near, x.dtype(0), divided_in_range(lost, u)))
    return select(x == 0.0, x, log_specials(u, y))


@elementwise("mo.log")
def log(x):
    """The natural logarithm."""
    return log_function(x)


@elementwise("mo.log2")
def log2(x):
    """The binary logarithm."""
    return log2_function(x)


@elementwise("mo.log1p")
def log1p(x):
    """log(1 + x)."""
    return log1p_function(x)
