"""tanh and erf: a polynomial near zero, one minus an exponential elsewhere; and the normal distribution, for gelu."""

from kernels.exponential import exp_function, raised_exp_function
from kernels.language import *
from kernels.math_arithmetic import horner, two_product

# (tanh(x) / x - 1) / x**2 as a polynomial in x**2 on |x| <= 0.55, highest power first.
TANH_F32 = (-0.006295665, 0.021088311, -0.05385685, 0.13332637, -0.3333332)
TANH_F64 = (5.108496333668956e-05, -0.00021039791967678346, 0.000579198012247403, -0.0014532382782725312,
            0.0035917242726184817, -0.00886319510321614, 0.02186948602218615, -0.053968253878199604,
            0.13333333333173367, -0.3333333333333235)  # fmt: skip
# erf(x) / x - 1 as a polynomial in x**2, for |x| <= 0.8 (f32) and 1.2 (f64).
ERF_F32 = (-0.00065501576, 0.0050878474, -0.026822623, 0.11283167, -0.37612608, 0.12837917)
ERF_F64 = (4.861233377324357e-11, -1.0604484934421203e-09, 1.442172105859585e-08, -1.6307531034485036e-07,
           1.6456079390628188e-06, -1.4925218103309127e-05, 0.00012055311670746213, -0.000854832631618852,
           0.005223977610311657, -0.0268661706431961, 0.11283791670942192, -0.3761263890318341,
           0.12837916709551256)  # fmt: skip
# log(1 - erf(x)) from there to 4 (f32) and 6 (f64), weighted so that what it gives erf is even.
ERFC_F32 = (0.00020870497, -0.0031649568, 0.022697661, -0.10487698, -0.6361415, -1.1282717, -5.677407e-05)
ERFC_F64 = (-1.967641301006017e-10, 7.844308326874593e-09, -1.4631213681121654e-07, 1.6951627724490807e-06,
            -1.3636808081518834e-05, 8.03797008740142e-05, -0.0003543231955903652, 0.0011477433809537296,
            -0.002425076492316884, 0.0009437838571624247, 0.01856612842738604, -0.10245599745466216,
            -0.636743472133508, -1.1283492091878897, -3.3865274929314583e-06)  # fmt: skip

# exp(v**2 / 2) * (v + k) * (1 - normal CDF at v) as a polynomial in (v - k) / (v + k), k = 4 (f32) and 5 (f64).
TAIL_F32 = (-0.00012902895, 0.00019314812, 0.0015816375, -0.0035202715, -0.0075342758, 0.06040549, -0.1865215,
            0.38713667, -0.6078967, 0.75528514)  # fmt: skip
TAIL_F64 = (2.0689911341443636e-09, 7.315756703256434e-09, -1.0295817529869596e-08, -6.57294823050356e-08,
            4.357926893777257e-08, 4.3322673153994594e-07, -3.3757717814842163e-07, -2.769457248928038e-06,
            3.981330065494435e-06, 1.6681330342869197e-05, -4.9762930540482386e-05, -5.9375766079326515e-05,
            0.000544899083166994, -0.0007978693912025048, -0.0029933767719357096, 0.020795066799077628,
            -0.06911863870629668, 0.16502036617043342, -0.31353315667130016, 0.49530561596997497,
            -0.6653825028900568, 0.769193049750063)  # fmt: skip


@function
def tanh_function(x):
    """The hyperbolic tangent. f32: < 1.5 ulp, f64: < 1.5 ulp."""
    size = abs(x)
    z = x * x
    near = fma(size * z, horner(z, TANH_F32 if x.dtype == f32 else TANH_F64), size)
    far = 1.0 - 2.0 / (exp_function(size + size) + 1.0)
    return copysign(select(size < 0.55, near, far), x)


@function
def erf_function(x):
    """The error function. f32: < 1.5 ulp, f64: < 1.5 ulp."""
    size = abs(x)
    z = x * x
    near = fma(x, horner(z, ERF_F32 if x.dtype == f32 else ERF_F64), x)
    edge, saturated = (0.8, 4.0) if x.dtype == f32 else (1.2, 6.0)
    far = 1.0 - exp_function(horner(min(size, saturated), ERFC_F32 if x.dtype == f32 else ERFC_F64))
    return select(size < edge, near, copysign(far, x))


@function
def times_normal_cdf(x):
    """x times the standard normal distribution's CDF, (1 + erf(x / sqrt(2))) / 2, relatively accurate in its tail too.

    f32: < 5 ulp, f64: < 5 ulp. The square of x is a pair: its last bit matters 100 times over in the exponential, which
    comes 2**64 times too large, so that it is no subnormal where the result is none.
    """
    k, zero_from = (4.0, 15.0) if x.dtype == f32 else (5.0, 39.0)
    v = min(abs(x), zero_from)
    reciprocal = 1.0 / (v + k)
    ratio = (v - k) * reciprocal
    ratio = fma(reciprocal, fma(-ratio, v, fma(ratio + 1.0, -k, v)), ratio)  # one step of division's remainder
    square, square_low = two_product(v, v)
    scale = raised_exp_function(square * -0.5) * reciprocal
    tail = scale * horner(ratio, TAIL_F32 if x.dtype == f32 else TAIL_F64)
    tail = select(abs(x) > zero_from, x.dtype(0), fma(square_low * -0.5, tail, tail))
    return select(x < 0.0, x * tail * 2.0**-64, x * fma(tail, -(2.0**-64), 1.0))


@elementwise("mo.tanh")
def tanh(x):
    """The hyperbolic tangent."""
    return tanh_function(x)


@elementwise("mo.erf")
def erf(x):
    """The error function."""
    return erf_function(x)
