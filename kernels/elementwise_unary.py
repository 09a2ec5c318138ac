"""Elementwise ops of one operand that need no approximation of their own.

Names: an op's definition has the op's own name (`exp`, `relu`, `sigmoid`), so generated kernels read like the graph.
Where that name is a builtin of the language or a Python keyword, it has a full word: absolute (abs), square_root
(sqrt), rounded_down (floor), rounded_up (ceil), rounded_to_zero (trunc), rounded_to_even (round), bitwise_and,
bitwise_or, bitwise_xor. What computes a transcendental is the `@function` called `<op>_function`: instantiated once,
called from the inlined op. 16-bit floats arrive as f32, except at `cast`.
"""

from kernels.error_function import times_normal_cdf
from kernels.exponential import times_sigmoid
from kernels.language import *
from kernels.math_arithmetic import reciprocal_root


@elementwise("mo.abs")
def absolute(x):
    """|x|; the smallest integer stays itself."""
    return abs(x)


@elementwise("mo.neg")
def neg(x):
    """-x, wrapping."""
    return -x


@elementwise("mo.square")
def square(x):
    """x * x."""
    return x * x


@elementwise("mo.sign")
def sign(x):
    """-1, 0 or 1; NaN stays NaN."""
    if not x.dtype.is_signed:
        return select(x > 0, x.dtype(1), x)
    zero = x + 0.0 if x.dtype.is_float else x  # -0.0 becomes 0.0
    return select(x > 0, x.dtype(1), select(x < 0, x.dtype(-1), zero))


@elementwise("mo.reciprocal")
def reciprocal(x):
    """1 / x."""
    return 1.0 / x


@elementwise("mo.sqrt")
def square_root(x):
    """The square root, correctly rounded."""
    return sqrt(x)


@elementwise("mo.rsqrt")
def rsqrt(x):
    """1 / sqrt(x)."""
    return reciprocal_root(x)


@elementwise("mo.relu")
def relu(x):
    """max(x, 0); NaN stays NaN."""
    return max(x, 0)


@elementwise("mo.gelu")
def gelu(x, *, approximate="none"):
    """x times the normal distribution's CDF, < 5.1 ulp; or by tanh, as x * sigmoid(2 u): the same formula, without its
    cancellation, < 4 + 2.5 * |2 u| ulp where x < 0 (the rounding of 2 u counts that many times), else < 4 ulp."""
    if approximate == "tanh":
        return times_sigmoid(x, x * fma(x * x, 0.07135481627260025, 1.5957691216057308))
    return times_normal_cdf(x)


@elementwise("mo.silu")
def silu(x):
    """x * sigmoid(x), < 3.5 ulp."""
    return times_sigmoid(x, x)


@elementwise("mo.floor")
def rounded_down(x):
    """The largest integer not above x."""
    return floor(x) if x.dtype.is_float else x


@elementwise("mo.ceil")
def rounded_up(x):
    """The smallest integer not below x."""
    return ceil(x) if x.dtype.is_float else x


@elementwise("mo.trunc")
def rounded_to_zero(x):
    """x without its fraction."""
    return trunc(x) if x.dtype.is_float else x


@elementwise("mo.round")
def rounded_to_even(x):
    """The nearest integer, halves to the even one."""
    return roundeven(x) if x.dtype.is_float else x


@elementwise("mo.isnan")
def isnan(x):
    """Whether x is not a number."""
    return x != x


@elementwise("mo.isinf")
def isinf(x):
    """Whether x is infinite."""
    return abs(x) == x.dtype.inf


@elementwise("mo.logical_not")
def logical_not(x):
    """Whether x is false (or zero)."""
    return ~x if x.dtype.is_bool else x == 0


@elementwise("mo.bitwise_not")
def bitwise_not(x):
    """Every bit of x turned; `not` for bool."""
    return ~x


@inline
def rounded_to_odd(x):
    """f64 as f32, inexact results to the neighbour whose last bit is one: rounding that again rounds x itself once."""
    near = x.cast(f32)
    back = near.cast(f64)
    pattern = near.bits(i32)
    toward_zero = select(abs(back) > abs(x), pattern - 1, pattern)
    return select(back == x, pattern, toward_zero | 1).bits(f32)


@elementwise("mo.cast", raw=True)
def cast(x, *, dtype):
    """x in another dtype. Float to integer goes toward zero and saturates (NaN to 0), integers wrap, bool is x != 0.

    16-bit floats are reached and left through f32, as NumPy does; f64 to f16 still rounds once.
    """
    wanted = str(dtype)
    if x.dtype.name == wanted:
        return x
    if x.dtype.is_float and x.dtype.bits == 16:
        x = x.cast(f32)
    elif wanted in ("f16", "bf16"):
        x = rounded_to_odd(x) if x.dtype == f64 and wanted == "f16" else x.cast(f32)
    return x.cast(wanted)


@elementwise("mo.bitcast", raw=True)
def bitcast(x, *, dtype):
    """The bits of x read as another dtype of as many."""
    return x.bits(dtype)
