"""tanh and erf: a polynomial near zero, one minus an exponential elsewhere; and the normal distribution, for gelu."""

from kernels.exponential import exp_in_range, raised_exp_function
from kernels.language import *
from kernels.math_arithmetic import add_to_exponent, divided_in_range, horner, split_integer, two_product

from .exponential import LOG2_E

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

# exp(v**2 / 2) * (1 - normal CDF at v) as a quotient of polynomials on 0 <= v <= 15, lowest power first; scaled alike
# so that rounding costs least.
TAIL_TOP_F32 = (0.6875, 0.6040143, 0.25295725, 0.056211445, 0.005710676)
TAIL_BOTTOM_F32 = (1.375, 2.3051205, 1.6576276, 0.6481861, 0.14090961, 0.014314388)
# (exp(r) - 1) / r on |r| <= log(2) / 2, highest power first; and log(2) as a short number and the rest.
EXPM1_F32 = (0.0013811663, 0.008370135, 0.041668527, 0.16666509, 0.49999994, 1.0)
LOG_2_SHORT, LOG_2_REST = 0.693359375, -0.00021219444
# exp(v**2 / 2) * (v + 5) * (1 - normal CDF at v) as a polynomial in (v - 5) / (v + 5).
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
    far = 1.0 - divided_in_range(x.dtype(2), exp_in_range(min(size + size, 20.0 if x.dtype == f32 else 40.0)) + 1.0)
    return copysign(select(size >= 0.55, far, near), x)  # of NaN the far one makes any number


@function
def erf_function(x):
    """The error function. f32: < 1.5 ulp, f64: < 1.5 ulp."""
    size = abs(x)
    z = x * x
    near = fma(x, horner(z, ERF_F32 if x.dtype == f32 else ERF_F64), x)
    edge, saturated = (0.8, 4.0) if x.dtype == f32 else (1.2, 6.0)
    far = 1.0 - exp_in_range(horner(min(size, saturated), ERFC_F32 if x.dtype == f32 else ERFC_F64))
    return select(size >= edge, copysign(far, x), near)  # of NaN the far one makes any number


@function
def times_normal_cdf(x):
    """x times the standard normal distribution's CDF, (1 + erf(x / sqrt(2))) / 2, relatively accurate in its tail too.

    f32: < 5.1 ulp, f64: < 5 ulp. The tail comes 2**raised times too large: no subnormal where the result is none.
    """
    zero_from, raised = (15.0, 100) if x.dtype == f32 else (39.0, 64)
    v = min(abs(x), zero_from)
    tail = raised_tail_f32(v, raised) if x.dtype == f32 else raised_tail_f64(v)
    tail = select(abs(x) > zero_from, x.dtype(0), tail)
    return select(x < 0.0, x * tail * 2.0**-raised, x * fma(tail, -(2.0**-raised), 1.0))


@inline
def raised_tail_f32(v, raised):
    """2**raised * (1 - normal CDF at v) for 0 <= v <= 15.

    v**2 is never rounded on its way into the exponential, where its last bit would matter 100 times over; what that
    exceeds 1 by is multiplied with the quotient's top, which so is rounded once less. Powers of two go into exponents.
    """
    square = v * v
    k, n = split_integer(square, -0.5 * LOG2_E)
    r = fma(k, -LOG_2_REST, fma(v, v * -0.5, k * -LOG_2_SHORT))
    excess = horner(r, EXPM1_F32) * r
    t = [c * 2.0**raised for c in TAIL_TOP_F32]
    top = fma(fma(square, t[4], fma(v, t[3], t[2])), square, fma(v, t[1], t[0]))
    b = TAIL_BOTTOM_F32
    bottom = fma(fma(fma(v, b[5], b[4]), square, fma(v, b[3], b[2])), square, fma(v, b[1], b[0]))
    return divided_in_range(add_to_exponent(fma(top, excess, top), n, whole=k), bottom)


@inline
def raised_tail_f64(v):
    """2**64 * (1 - normal CDF at v) for 0 <= v <= 39. The square of v is a pair: its last bit matters 1000 times over
    in the exponential."""
    k = 5.0
    reciprocal = 1.0 / (v + k)
    ratio = (v - k) * reciprocal
    ratio = fma(reciprocal, fma(-ratio, v, fma(ratio + 1.0, -k, v)), ratio)  # one step of division's remainder
    square, square_low = two_product(v, v)
    tail = raised_exp_function(square * -0.5) * reciprocal * horner(ratio, TAIL_F64)
    return fma(square_low * -0.5, tail, tail)


@elementwise("mo.tanh")
def tanh(x):
    """The hyperbolic tangent."""
    return tanh_function(x)


@elementwise("mo.erf")
def erf(x):
    """The error function."""
    return erf_function(x)
