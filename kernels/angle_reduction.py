"""Reduction of an angle to a quarter turn: x = r + n * pi/2 with |r| <= pi/4 (and a little more for rounding).

Small angles subtract n * pi/2 in three pieces. Large ones multiply x by 1/(2 pi) to as many bits as x needs and keep
the fraction, so the result is right up to the largest finite number.
"""

from kernels.language import *
from kernels.math_arithmetic import power_of_two, quick_two_sum, split_integer, two_product, two_sum

TWO_OVER_PI = 0.6366197723675814
TWO_PI_HIGH = 6.283185307179586
TWO_PI_LOW = 2.4492935982947064e-16
HALF_PI_F32 = (1.5707964, -4.371139e-08, -1.7151245e-15)
HALF_PI_F64 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
# 1/(2 pi) in pieces of 26 bits: a 24-bit significand times one of them is exact in f64.
TURNS_26 = (0.15915493667125702, 6.4206382432985265e-09, 7.342738699078887e-17, 1.5185066075410939e-24,
            1.487136711134889e-32, 6.29604341518546e-40, 4.3166913531521436e-48, 2.6283391199115115e-57)  # fmt: skip
# 1/(2 pi) in digits of 53 bits, each a fraction; a zero digit in front.
TURNS_53 = (0.0, 0.15915494309189526, 0.6613751190585037, 0.20650868755418228, 0.1544257421626659, 0.5573651155187024,
            0.5711534696519374, 0.001534636744157658, 0.14150978527888958, 0.29067705434913715, 0.6619545305505201,
            0.43809058505417375, 0.19620938236257934, 0.8220530446114647, 0.5785760870894588, 0.8763657209810315,
            0.08868532493839043, 0.6238371102976352, 0.47732515375809936, 0.1775688963897859, 0.7429108398275692,
            0.16128991024736716, 0.8459438491883411, 0.19928644777130955)  # fmt: skip


@inline
def reduce_angle(x):
    """(n, r, low): x = r + low + n * pi/2, n an integer, |low| <= ulp(r). NaN where x is not finite."""
    limit, pieces = (2.0**17, HALF_PI_F32) if x.dtype == f32 else (2.0**30, HALF_PI_F64)
    size = abs(x)
    large = (size >= limit) & (size < x.dtype.inf)
    k, n = split_integer(x, TWO_OVER_PI)
    r = fma(k, -pieces[1], fma(k, -pieces[0], x))  # the inner step is exact
    low = k * -pieces[2]
    if large.any():
        n_large, r_large, low_large = reduce_large_f32(x) if x.dtype == f32 else reduce_large_f64(x)
        n = select(large, n_large, n)
        r = select(large, r_large, r)
        low = select(large, low_large, low)
    return n, r, low


@inline
def fraction(x):
    """x less the nearest integer, exact."""
    return x - roundeven(x)


@function
def reduce_large_f32(x):
    """`reduce_angle` for f32 of any finite size, in f64: seldom taken, so that f64 being slow does not matter.

    The first two products with a fractional part have their sum exact; what follows is below 2**-27.
    """
    wide = x.cast(f64)
    turns = fraction(wide * TURNS_26[0])
    for piece in unroll(TURNS_26[1:5]):
        turns = fraction(turns + fraction(wide * piece))
    for piece in unroll(TURNS_26[5:]):
        turns = fma(wide, piece, turns)
    quarters = roundeven(turns * 4.0)
    angle = fma(quarters, -0.25, turns) * TWO_PI_HIGH
    r = angle.cast(f32)
    return quarters.cast(i32), r, (angle - r.cast(f64)).cast(f32)


@inline
def five_digits(n):
    """Digits n to n + 4 of TURNS_53, lane by lane: the list is moved by the bits of n, high bit first."""
    digits = [f64(digit) for digit in TURNS_53]
    for shift in unroll((16, 8, 4, 2, 1)):
        moved = (n & shift) != 0
        digits = [select(moved, digits[k + shift], digits[k]) if k + shift < len(digits) else digits[k]
                  for k in unroll(shift + 4)]  # fmt: skip
    return digits


@inline
def split_fraction(x, anchor):
    """(a, b): x = a + b with a a multiple of ulp(anchor), for |x| <= anchor / 3; both exact."""
    a = (x + anchor) - anchor
    return a, x - a


@function
def reduce_large_f64(x):
    """`reduce_angle` for f64 of at least 2**30.

    Digits of 1/(2 pi) whose product with x is a whole number of turns are skipped, five are kept. The fraction of a
    turn is gathered in three parts: multiples of 2**-53 (their sum is exact, so it may cancel), what those leave, and
    the errors of summing that. The least fraction a double can leave is above 2**-64; it is known to within 2**-150.
    """
    exponent = (abs(x).bits(i64) >> 52) - 1023
    skipped = (exponent + 1) // 53
    scaled = x * power_of_two((1 - skipped) * 53, dt=f64)
    digits = five_digits(skipped)
    high0, low0 = two_product(scaled, digits[0])
    high1, low1 = two_product(scaled * 2.0**-53, digits[1])
    high2, low2 = two_product(scaled * 2.0**-106, digits[2])
    high3, low3 = two_product(scaled * 2.0**-159, digits[3])
    coarse1, fine1 = split_fraction(fraction(high1), 1.5)
    coarse2, fine2 = split_fraction(low1, 0.75)
    coarse3, fine3 = split_fraction(high2, 1.5)
    # Sums of at most 1, each exact: three such parts at once would not be.
    coarse = fraction(fraction(high0) + fraction(low0)) + fraction(fraction(coarse1 + coarse2) + coarse3)
    fine, error1 = two_sum(fine1 + fine2, fine3)
    fine, error2 = two_sum(fine, low2)
    fine, error3 = two_sum(fine, high3)
    quarters = roundeven(coarse * 4.0)
    turns, error4 = two_sum(fma(quarters, -0.25, coarse), fine)
    rest = error4 + fma(scaled * 2.0**-212, digits[4], error1 + error2 + error3 + low3)
    turns, rest = quick_two_sum(turns, rest)
    r, low = two_product(turns, TWO_PI_HIGH)
    return quarters.cast(i64), r, fma(rest, TWO_PI_HIGH, fma(turns, TWO_PI_LOW, low))
