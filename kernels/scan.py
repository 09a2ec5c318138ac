"""Running sums along one axis."""

from kernels.gpu_scan import gpu_cumsum_rows
from kernels.indexing import along, delinearise, product, without
from kernels.language import *
from kernels.parallel import split
from kernels.rows import fit_width, registers, vectors, widths_for


@kernel("mo.cumsum")
def cumsum(out: FusedOutput, x: FusedInput, *, axis):
    """Element i along `axis` is the sum of x's elements 0..i."""
    dt = out.dtype.acc
    if axis == x.rank - 1 and target.is_nvidia:
        gpu_cumsum_rows(out, x, dt)
    elif axis == x.rank - 1:
        begin, end = split(product(x.shape[:-1]))
        for row in range(begin, end):
            lead = delinearise(row, x.shape[:-1])
            total = dt(0)
            for i in range(x.shape[-1]):
                total = total + x[along(lead, i, 1)].cast(dt)
                out[along(lead, i, 1)] = total.cast(out.dtype)
    else:
        cumsum_columns(out, x, axis, dt)


@inline
def cumsum_columns(out, x, axis, dt):
    """Along an axis that is not the last: vectors lie along the last one."""
    n = x.shape[-1]
    width = fit_width(n, registers(dt, count=4))
    blocks = ceildiv(n, width)
    outer = without(x.shape, (axis, x.rank - 1))
    begin, end = split(product(outer) * blocks)
    for item in range(begin, end):
        row = item // blocks
        first = (item - row * blocks) * width
        lead = delinearise(row, outer)

        def column(i, w):
            total = zeros(dt, w)
            for k in range(x.shape[axis]):
                at = position(lead[:axis] + (k,) + lead[axis:] + (i,), width=w, axis=x.rank - 1)
                total = total + x[at].cast(dt)
                out[at] = total.cast(out.dtype)

        vectors(first, min(first + width, n), widths_for(n, width), column)
