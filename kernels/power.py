"""pow: of floats through a logarithm and exponential kept in pairs, of integers by squaring."""

from kernels.exponential import exp2_of
from kernels.language import *
from kernels.logarithm import split_any_exponent
from kernels.math_arithmetic import horner, quick_two_sum, reciprocal_nearly, split_integer, two_product

# log2((1 + s) / (1 - s)) / s as a polynomial in z = s**2: the first two coefficients as pairs, then the rest (highest
# power first) as minimax of what those two leave.
LOG2_FIRST_F32 = (2.88539, 3.851926e-08)
LOG2_SECOND_F32 = (0.9617967, -7.028462e-09)
LOG2_REST_F32 = (0.3378233, 0.41184986, 0.5770802)
LOG2_FIRST_F64 = (2.8853900817779268, 4.0710547481862066e-17)
LOG2_SECOND_F64 = (0.9617966939259756, 5.0577616648125907e-17)
LOG2_REST_F64 = (0.19039273329171758, 0.19125437385061267, 0.221984031739247, 0.26230770037847234,
                 0.32059890228229365, 0.41219858309188934, 0.5770780163556181)  # fmt: skip


@inline
def log2_pair(x):
    """The pair log2(x) for positive finite x: relative error < 2**-35 in f32, < 2**-64 in f64."""
    if x.dtype == f32:
        first, second, rest = LOG2_FIRST_F32, LOG2_SECOND_F32, LOG2_REST_F32
    else:
        first, second, rest = LOG2_FIRST_F64, LOG2_SECOND_F64, LOG2_REST_F64
    n, m = split_any_exponent(x)
    # s = (m - 1) / (m + 1), as a pair from one division: the residual corrects the product with the reciprocal.
    f = m - 1.0
    sum_high = m + 1.0
    sum_low = m - (sum_high - 1.0)
    reciprocal = reciprocal_nearly(sum_high)
    s = f * reciprocal
    s_low = reciprocal * fma(-s, sum_low, fma(-s, sum_high, f))
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    inner, inner_low = quick_two_sum(second[0], z * horner(z, rest))
    product, product_low = two_product(z, inner)
    product_low = fma(z, inner_low + second[1], fma(z_low, inner, product_low))
    outer, outer_low = quick_two_sum(first[0], product)
    outer_low = outer_low + (product_low + first[1])
    log_high, log_low = two_product(s, outer)
    log_low = fma(s, outer_low, fma(s_low, outer, log_low))
    whole, whole_low = quick_two_sum(n.cast(x.dtype), log_high)
    return quick_two_sum(whole, whole_low + log_low)


@function
def pow_function(x, y):
    """x**y with IEEE 754's special cases (NumPy's power). f32: < 1 ulp, f64: < 1 ulp, subnormal results included."""
    dt = x.dtype
    infinity = dt.inf
    largest, limit = (1e30, 200.0) if dt == f32 else (1e300, 1200.0)
    size = abs(x)
    high, low = log2_pair(size)
    high = select(size > 0.0, select(size < infinity, high, size), dt(-infinity))
    high = select(x != x, x, high)
    # An infinite exponent becomes a large even one: it still overflows, except that 1**inf is 1.
    exponent = min(max(y, -largest), largest)
    power = exponent * high
    within = abs(power) < limit
    power_low = select(within, fma(exponent, low, fma(exponent, high, -power)), dt(0))
    clamped = min(max(power, -limit), limit)
    k, n = split_integer(clamped, 1.0)
    result = exp2_of((clamped - k) + power_low, n)
    half = exponent * 0.5
    whole = trunc(exponent) == exponent
    odd = whole & (trunc(half) != half)
    result = select(odd, copysign(result, x), result)
    result = select((x < 0.0) & (size < infinity) & ~whole, dt(dt.nan), result)
    return select((y == 0.0) | (x == 1.0), dt(1), result)


@function
def integer_pow(x, y):
    """x**y of integers, wrapping; a negative exponent gives 1 / x**-y rounded toward zero, and 0 for x = 0."""
    result = splat(x.dtype(1), max(x.width, y.width))
    base = x
    remaining = max(y, 0)
    while (remaining != 0).any():
        result = select((remaining & 1) != 0, result * base, result)
        base = base * base
        remaining = lshr(remaining, 1)
    if x.dtype.is_signed:
        unit = select((x == 1) | ((x == -1) & ((y & 1) == 0)), x.dtype(1), select(x == -1, x, x.dtype(0)))
        result = select(y < 0, unit, result)
    return result


@elementwise("mo.pow")
def pow(x, y):
    """x**y, NumPy's power; of integers also for negative exponents, which NumPy refuses."""
    return pow_function(x, y) if x.dtype.is_float else integer_pow(x, y)
