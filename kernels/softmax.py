"""softmax and log_softmax along any axis."""

from kernels.exponential import exp
from kernels.gpu_rows import gpu_softmax_rows
from kernels.indexing import along, delinearise, product
from kernels.language import *
from kernels.logarithm import log
from kernels.parallel import split
from kernels.reduce import largest_of, sum_of
from kernels.row_phases import no_more, nothing_left, row_phases
from kernels.rows import fit_width, fits_stack, larger_of, reduce_row, registers, vectors, widths_for


@kernel("mo.softmax")
def softmax(out: FusedOutput, x: FusedInput, *, axis, kept_bytes=16384):
    """exp(x) divided by its sum along `axis`."""
    normalise_exponentials(out, x, axis, kept_bytes, logarithm=False)


@kernel("mo.log_softmax")
def log_softmax(out: FusedOutput, x: FusedInput, *, axis, kept_bytes=16384):
    """The logarithm of softmax, computed without taking it of small numbers."""
    normalise_exponentials(out, x, axis, kept_bytes, logarithm=True)


@stored("mo.softmax")
def operand_of_softmax(x, *, axis):
    """Columns are read three times, and to round an element to 16 bits takes a processor as long as to read it."""
    return not target.is_gpu and x.dtype.bits == 16 and axis != x.rank - 1


@stored("mo.log_softmax")
def operand_of_log_softmax(x, *, axis):
    """As for softmax."""
    return not target.is_gpu and x.dtype.bits == 16 and axis != x.rank - 1


@inline
def normalise_exponentials(out, x, axis, kept_bytes, *, logarithm):
    """Choose by where the axis lies. Rows of at most `kept_bytes` are read once."""
    if axis == x.rank - 1 and target.is_gpu:
        gpu_softmax_rows(out, x, logarithm=logarithm)
    elif axis == x.rank - 1 and (fits_stack(x.shape[-1], out.dtype.acc, most=kept_bytes) or not is_static(x.shape[-1])):
        softmax_rows(out, x, kept_bytes, logarithm=logarithm)
    else:
        softmax_in_phases(out, x, axis, logarithm=logarithm)


@inline
def softmax_rows(out, x, kept_bytes, *, logarithm):
    """Along the last axis: the largest value of the row, the sum of exponentials, then the results."""
    dt = out.dtype.acc
    n = x.shape[-1]
    # More of a row at a time goes faster, but takes another loop where nobody knows what is left at its end.
    width = fit_width(n, registers(dt, count=choice("registers", 4 if is_static(n) else 2, (1, 2, 4, 8))))
    kept = fits_stack(n, dt, most=kept_bytes)
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
        top = reduce_row(n, width, dt(-dt.inf), keep, larger_of, ordered=False)

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
def softmax_in_phases(out, x, axis, *, logarithm):
    """Along another axis, or a row too long to keep: as written out by hand. Exponentials wait in the output if they
    can."""
    dt = out.dtype.acc

    def load(at, kept, row):
        return (x[at].cast(dt),)

    def power(at, kept, row):
        return (exp(kept[0] - row[0]),)

    def shift(at, row):
        return (log(row[1]) if logarithm else dt(1) / row[1],)

    def store(at, kept, row):
        v = (kept[0] - row[0]) - row[2] if logarithm else kept[1] * row[2]
        out[at] = v.cast(out.dtype)
        return ()

    wanted = "drop" if logarithm else "keep"
    phases = (
        (load, x.shape, (axis,), ((dt, "again"),), ((0, largest_of, dt),), no_more, ()),
        (power, x.shape, (axis,), ((dt, wanted),), ((0, sum_of, dt),), shift, (dt,)),
        (store, x.shape, (axis,), (), (), no_more, ()),
    )
    waits = len(out.writes) > 0 and out.dtype.name == dt.name and not logarithm
    row_phases(phases, nothing_left, spare=(1, 0, out.writes[0]) if waits else ())
