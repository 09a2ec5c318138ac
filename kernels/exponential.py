"""exp, exp2, expm1 and sigmoid: 2**k times a polynomial on half a binade either side of zero."""

from kernels.language import *
from kernels.math_arithmetic import (
    add_to_exponent,
    divided_in_range,
    horner,
    power_of_two,
    scale_by_power,
    split_integer,
)

LOG2_E = 1.4426950408889634
# (exp(r) - 1 - r) / r**2 on |r| <= log(2) / 2, minimax, highest power first.
EXP_F32 = (0.0001994426, 0.0013932674, 0.008333208, 0.04166649, 0.16666667, 0.5)
EXP_F64 = (2.0919994341640925e-09, 2.510918141375708e-08, 2.755725783372782e-07, 2.755724377886415e-06,
           2.480158734185279e-05, 0.00019841269886576105, 0.0013888888888877087, 0.00833333333332144,
           0.04166666666666668, 0.16666666666666677, 0.5)  # fmt: skip
# (2**r - 1) / r on |r| <= 1/2.
EXP2_F32 = (0.00015458433, 0.0013391147, 0.009618073, 0.055503592, 0.2402265, 0.6931472)
EXP2_F64 = (4.4603621110712564e-10, 7.073559054113956e-09, 1.0178021297391592e-07, 1.3215436788648387e-06,
            1.5252733948812517e-05, 0.00015403530453515912, 0.0013333558146255407, 0.009618129107597672,
            0.05550410866482261, 0.2402265069591012, 0.6931471805599453)  # fmt: skip


@inline
def reduce_by_log2(x):
    """(r, k, n): x = r + n * log(2) with |r| <= log(2) / 2 and k the float n; k times log(2)'s high half is exact."""
    high, low = (0.6931472, -1.9046542e-09) if x.dtype == f32 else (0.6931471805599453, 2.3190468138462996e-17)
    k, n = split_integer(x, LOG2_E)
    return fma(k, -low, fma(k, -high, x)), k, n


@function
def exp_function(x):
    """e**x. f32: < 1 ulp, f64: < 1 ulp, subnormal results included."""
    lowest, highest = (-104.0, 89.0) if x.dtype == f32 else (-746.0, 710.0)
    r, k, n = reduce_by_log2(min(max(x, lowest), highest))
    tail = horner(r, EXP_F32 if x.dtype == f32 else EXP_F64)
    return scale_by_power(fma(r * r, tail, r) + 1.0, n, whole=k)


@inline
def exp_in_range(x):
    """e**x, < 1 ulp, where that is as normal a number as one: from e**-80 to e**80. Of NaN it makes any number."""
    r, k, n = reduce_by_log2(x)
    tail = horner(r, EXP_F32 if x.dtype == f32 else EXP_F64)
    return add_to_exponent(fma(r * r, tail, r) + 1.0, n, whole=k)


@function
def raised_exp_function(x):
    """2**64 * e**x for x <= 0, < 1 ulp: with the digits that e**x loses where it is subnormal, for who multiplies
    it with a number not larger than x; 0 where even that product is nearer to zero than to any other number. Of NaN it
    makes any number."""
    lowest = -109.0 if x.dtype == f32 else -752.0
    r, k, n = reduce_by_log2(max(x, lowest))
    tail = horner(r, EXP_F32 if x.dtype == f32 else EXP_F64)
    return select(x < lowest, x.dtype(0), add_to_exponent(fma(r * r, tail, r) + 1.0, n + 64, whole=k + 64.0))


@inline
def times_sigmoid(x, u):
    """x / (1 + e**-u), where that is subnormal too."""
    e = raised_exp_function(-abs(u))
    below = u < 0.0
    y = x * divided_in_range(select(below, e, x.dtype(1)), fma(e, 2.0**-64, 1.0))
    return select(below, y * 2.0**-64, y)


@inline
def exp2_of(r, n, *, whole=None):
    """2**(r + n) for |r| <= 1/2 and an integer n, which is also the float `whole` where that is at hand."""
    return scale_by_power(fma(r, horner(r, EXP2_F32 if r.dtype == f32 else EXP2_F64), 1.0), n, whole=whole)


@function
def exp2_function(x):
    """2**x, exact where x is an integer. f32: < 1 ulp, f64: < 1 ulp, subnormal results included."""
    lowest, highest = (-151.0, 128.0) if x.dtype == f32 else (-1076.0, 1024.0)
    x = min(max(x, lowest), highest)
    k, n = split_integer(x, 1.0)
    return exp2_of(x - k, n, whole=k)


@function
def expm1_function(x):
    """e**x - 1. f32: < 1.5 ulp, f64: < 1.5 ulp.

    With p = expm1(r) the result is 2**n * p + (2**n - 1); it is doubled last, as 2**n overflows before the result does.
    """
    lowest, highest, tiny = (-20.0, 89.0, 2.0**-26) if x.dtype == f32 else (-40.0, 710.0, 2.0**-55)
    r, _, n = reduce_by_log2(min(max(x, lowest), highest))
    tail = r * r * horner(r, EXP_F32 if x.dtype == f32 else EXP_F64)
    half_scale = power_of_two(n - 1, dt=x.dtype)
    y = fma(tail, half_scale, fma(r, half_scale, half_scale - 0.5))
    return select(abs(x) < tiny, x, y + y)


@elementwise("mo.exp")
def exp(x):
    """e**x."""
    return exp_function(x)


@elementwise("mo.exp2")
def exp2(x):
    """2**x."""
    return exp2_function(x)


@elementwise("mo.expm1")
def expm1(x):
    """e**x - 1."""
    return expm1_function(x)


@elementwise("mo.sigmoid")
def sigmoid(x):
    """1 / (1 + e**-x), < 2.5 ulp; the exponential of -|x| neither overflows nor loses the small results."""
    e = exp_function(-abs(x))
    return divided_in_range(select(x < 0.0, e, x.dtype(1)), e + 1.0)
