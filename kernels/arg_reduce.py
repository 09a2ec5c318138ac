"""Where along an axis the largest or smallest value is: the first such place; the first NaN if there is one."""

from kernels.gpu_arg_reduce import better_of, gpu_find_in_columns, gpu_find_in_rows
from kernels.indexing import along, delinearise, product, without
from kernels.language import *
from kernels.parallel import split
from kernels.reduce import highest, lowest
from kernels.rows import fit_width, registers, remainder, vectors, widths_for


@kernel("mo.argmax")
def argmax(out: FusedOutput, x: FusedInput, *, axis):
    """The index of the largest value along `axis`."""
    find(out, x, axis, lowest(searched(x.dtype)), lambda a, b: a <= b)


@kernel("mo.argmin")
def argmin(out: FusedOutput, x: FusedInput, *, axis):
    """The index of the smallest value along `axis`."""
    find(out, x, axis, highest(searched(x.dtype)), lambda a, b: a >= b)


@inline
def searched(dt):
    """The type values are compared in: bools count as 0 and 1; processors compare no vectors of 16-bit floats."""
    if dt.name == "bool":
        return u8
    return f32 if dt.is_float and dt.bits == 16 else dt


@inline
def find(out, x, axis, start, no_better):
    """The index of the best value; `no_better(a, b)` says that a does not beat b, and is false if one is NaN."""

    def beats(v, best):
        if v.dtype.is_float:
            return ~no_better(v, best) & (best == best)
        return ~no_better(v, best)

    if target.is_nvidia and axis == x.rank - 1:
        gpu_find_in_rows(out, x, start, beats)
    elif target.is_nvidia:
        gpu_find_in_columns(out, x, axis, start, beats)
    elif axis == x.rank - 1:
        find_in_rows(out, x, start, beats)
    else:
        find_in_columns(out, x, axis, start, beats)


@inline
def find_in_rows(out, x, start, beats):
    """Along the last axis: each lane keeps its best and where it was; the lanes are compared at the end."""
    n = x.shape[-1]
    width = fit_width(n, registers(start.dtype, count=2))
    # Places in short rows are counted in 32 bits, which keeps as many in a register as values.
    counter = i32 if is_static(n) and n < 1 << 31 else index
    begin, end = split(product(x.shape[:-1]))
    for row in range(begin, end):
        lead = delinearise(row, x.shape[:-1])
        best = splat(start, width)
        place = zeros(counter, width)
        stop = n - remainder(n, width)
        for i in range(0, stop, width):
            v = x[along(lead, i, width)].cast(start.dtype)
            better = beats(v, best)
            best = select(better, v, best)
            place = select(better, splat(counter(i), width) + iota(counter, width), place)
        value, where = first_best(best, place, beats)
        for i in range(stop, n):
            v = x[along(lead, i, 1)].cast(start.dtype)
            better = beats(v, value)
            value = select(better, v, value)
            where = select(better, counter(i), where)
        out[position(lead)] = where.cast(out.dtype)


@inline
def first_best(best, place, beats):
    """The best of all lanes and its place; of equal ones the earliest."""
    if best.width == 1:
        return best, place
    value, where = best[0], place[0]
    for lane in range(1, best.width):
        value, where = better_of(value, where, best[lane], place[lane], beats)
    return value, where


@inline
def find_in_columns(out, x, axis, start, beats):
    """Along another axis: vectors lie along the last one, and every lane is a search of its own."""
    n = x.shape[-1]
    width = fit_width(n, registers(start.dtype, count=2))
    blocks = ceildiv(n, width)
    outer = without(x.shape, (axis, x.rank - 1))
    begin, end = split(product(outer) * blocks)
    for item in range(begin, end):
        row = item // blocks
        first = (item - row * blocks) * width
        lead = delinearise(row, outer)

        def column(i, w):
            best = splat(start, w)
            place = splat(index(0), w)
            for k in range(x.shape[axis]):
                at = position(lead[:axis] + (k,) + lead[axis:] + (i,), width=w, axis=x.rank - 1)
                v = x[at].cast(start.dtype)
                better = beats(v, best)
                best = select(better, v, best)
                place = select(better, splat(index(k), w), place)
            out[along(lead, i, w)] = place.cast(out.dtype)

        vectors(first, min(first + width, n), widths_for(n, width), column)
