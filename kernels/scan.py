"""Running sums along one axis."""

from kernels.gpu_scan import gpu_cumsum_columns, gpu_cumsum_rows
from kernels.indexing import along, delinearise, product, without
from kernels.language import *
from kernels.parallel import share
from kernels.rows import fit_width, registers, remainder, vectors, widths_for

# So much of a row is summed at a time.
SCANNED_BYTES = 64


@kernel("mo.cumsum")
def cumsum(out: FusedOutput, x: FusedInput, *, axis):
    """Element i along `axis` is the sum of x's elements 0..i."""
    dt = out.dtype.acc
    if axis == x.rank - 1 and target.is_nvidia:
        gpu_cumsum_rows(out, x, dt)
    elif axis == x.rank - 1:
        cumsum_rows(out, x, dt)
    elif target.is_nvidia:
        gpu_cumsum_columns(out, x, axis, dt)
    else:
        cumsum_columns(out, x, axis, dt)


@inline
def scanned(v, step):
    """The running sums of the lanes of `v`: each lane takes in the sum of the `step` before it, then twice as many."""
    if step >= v.width:
        return v
    before = shuffle(zeros(v.dtype, v.width), v, tuple([k if k < step else v.width + k - step for k in range(v.width)]))
    return scanned(v + before, step * 2)


@inline
def cumsum_rows(out, x, dt):
    """Along the last axis: threads share the rows. Only one addition a vector waits for the vectors before it.

    A vector is a cache line or more: steps over whole registers are additions alone.
    """
    n = x.shape[-1]
    width = fit_width(n, max(SCANNED_BYTES // dt.bytes, target.simd(dt)))

    def do(begin, end):
        for row in range(begin, end):
            lead = delinearise(row, x.shape[:-1])
            stop = n - remainder(n, width)
            before = zeros(dt, width)
            for i in range(0, stop, width):
                sums = scanned(x[along(lead, i, width)].cast(dt), 1)
                out[along(lead, i, width)] = (sums + before).cast(out.dtype)
                before = before + (shuffle(sums, sums, (width - 1,) * width) if width > 1 else sums)
            total = before[0] if width > 1 else before
            for i in range(stop, n):
                total = total + x[along(lead, i, 1)].cast(dt)
                out[along(lead, i, 1)] = total.cast(out.dtype)

    share(product(x.shape[:-1]), n * dt.bytes, do)


@inline
def cumsum_columns(out, x, axis, dt):
    """Along an axis that is not the last: vectors lie along the last one."""
    n = x.shape[-1]
    width = fit_width(n, registers(dt, count=4))
    blocks = ceildiv(n, width)
    outer = without(x.shape, (axis, x.rank - 1))

    def do(begin, end):
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

    share(product(outer) * blocks, x.shape[axis] * width * dt.bytes, do)
