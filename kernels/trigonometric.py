"""sin and cos: an angle within a quarter turn, then two short polynomials."""

from kernels.angle_reduction import reduce_angle
from kernels.language import *
from kernels.math_arithmetic import bits_of, horner

# (sin(r) - r) / r**3 and (cos(r) - 1 + r**2 / 2) / r**4 as polynomials in r**2 on |r| <= pi/4, highest power first.
SIN_F32 = (-0.0001950824, 0.008332108, -0.16666654)
SIN_F64 = (1.589338443909203e-10, -2.5050700147549262e-08, 2.7557313327362786e-06, -0.00019841269828772327,
           0.008333333333321135, -0.16666666666666627)  # fmt: skip
COS_F32 = (2.4430881e-05, -0.0013887302, 0.041666646)
COS_F64 = (-1.1357028651526365e-11, 2.087567310733066e-09, -2.755731398637035e-07, 2.480158728822582e-05,
           -0.0013888888888872128, 0.04166666666666659)  # fmt: skip


@inline
def sine_from_quarter(x, quarters):
    """sin(x + quarters * pi/2)."""
    n, r, low = reduce_angle(x)
    z = r * r
    sine = r + fma(r * z, horner(z, SIN_F32 if x.dtype == f32 else SIN_F64), low)
    half = 0.5 * z
    head = 1.0 - half
    tail = fma(z * z, horner(z, COS_F32 if x.dtype == f32 else COS_F64), r * -low)
    cosine = head + (((1.0 - head) - half) + tail)
    n = n + quarters
    value = select((n & 1) != 0, cosine, sine)
    ints = bits_of(x.dtype)
    return (value.bits(ints) ^ ((n & 2) << (x.dtype.bits - 2))).bits(x.dtype)


@function
def sin_function(x):
    """The sine of x radians. f32: < 1.6 ulp, f64: < 1.5 ulp, for every finite x."""
    return select(x == 0.0, x, sine_from_quarter(x, 0))


@function
def cos_function(x):
    """The cosine of x radians. f32: < 1.6 ulp, f64: < 1.5 ulp, for every finite x."""
    return sine_from_quarter(x, 1)


@elementwise("mo.sin")
def sin(x):
    """The sine of x radians."""
    return sin_function(x)


@elementwise("mo.cos")
def cos(x):
    """The cosine of x radians."""
    return cos_function(x)
