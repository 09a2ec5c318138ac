"""softmax and log_softmax along any axis."""

from kernels.exponential import exp
from kernels.gpu_rows import gpu_softmax_rows
from kernels.indexing import along, delinearise, product, without
from kernels.language import *
from kernels.logarithm import log
from kernels.parallel import split
from kernels.rows import fit_width, fits_stack, larger_of, reduce_row, registers, vectors, widths_for


@kernel("mo.softmax")
def softmax(out: FusedOutput, x: FusedInput, *, axis):
    """exp(x) divided by its sum along `axis`."""
    normalise_exponentials(out, x, axis, logarithm=False)


@kernel("mo.log_softmax")
def log_softmax(out: FusedOutput, x: FusedInput, *, axis):
    """The logarithm of softmax, computed without taking it of small numbers."""
    normalise_exponentials(out, x, axis, logarithm=True)


@inline
def normalise_exponentials(out, x, axis, *, logarithm):
    """Choose by where the axis lies."""
    if axis == x.rank - 1 and target.is_gpu:
        gpu_softmax_rows(out, x, logarithm=logarithm)
    elif axis == x.rank - 1:
        softmax_rows(out, x, logarithm=logarithm)
    else:
        softmax_columns(out, x, axis, logarithm=logarithm)


@inline
def softmax_rows(out, x, *, logarithm):
    """Along the last axis: the largest value of the row, the sum of exponentials, then the results."""
    dt = out.dtype.acc
    n = x.shape[-1]
    width = fit_width(n, registers(dt, count=2))
    kept = fits_stack(n, dt)
    row = stack(dt, n if kept else 1)
    begin, end = split(product(x.shape[:-1]))
    for item in range(begin, end):
        lead = delinearise(item, x.shape[:-1])

        def load(i, w):
            if kept:
                return row.load(i, width=w)
            return x[along(lead, i, w)].cast(dt)

        def keep(i, w):
            v = x[along(lead, i, w)].cast(dt)
            if kept:
                row.store(v, i)
            return v

        # A NaN in the row is one in its sum, and so in all of its results.
        top = reduce_row(n, width, dt(-dt.inf), keep, larger_of)

        def exponential(i, w):
            e = exp(load(i, w) - top)
            if kept and not logarithm:
                row.store(e, i)
            return e

        total = reduce_row(n, width, dt(0), exponential, lambda a, b: a + b)
        shift = log(total) if logarithm else dt(1) / total

        def finish(i, w):
            if logarithm:
                v = (load(i, w) - top) - shift
            elif kept:
                v = load(i, w) * shift
            else:
                v = exp(load(i, w) - top) * shift
            out[along(lead, i, w)] = v.cast(out.dtype)

        vectors(0, n, widths_for(n, width), finish)


@inline
def softmax_columns(out, x, axis, *, logarithm):
    """Along another axis: vectors lie along the last one, and every lane is a softmax of its own."""
    dt = out.dtype.acc
    n = x.shape[-1]
    width = fit_width(n, registers(dt, count=2))
    blocks = ceildiv(n, width)
    outer = without(x.shape, (axis, x.rank - 1))
    begin, end = split(product(outer) * blocks)
    for item in range(begin, end):
        line = item // blocks
        first = (item - line * blocks) * width
        lead = delinearise(line, outer)

        def column(i, w):
            def at(k):
                return position(lead[:axis] + (k,) + lead[axis:] + (i,), width=w, axis=x.rank - 1)

            top = splat(dt(-dt.inf), w)
            for k in range(x.shape[axis]):
                top = max(top, x[at(k)].cast(dt))
            total = zeros(dt, w)
            for k in range(x.shape[axis]):
                total = total + exp(x[at(k)].cast(dt) - top)
            shift = log(total) if logarithm else dt(1) / total
            for k in range(x.shape[axis]):
                v = x[at(k)].cast(dt) - top
                v = v - shift if logarithm else exp(v) * shift
                out[at(k)] = v.cast(out.dtype)

        vectors(first, min(first + width, n), widths_for(n, width), column)
