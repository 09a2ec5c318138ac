"""Running sums on NVIDIA GPUs: a block takes a row, and goes along it a stretch at a time, or some columns, whose
stretches it adds up before it goes along them again."""

from kernels.gpu_blocks import fitting_power, lane_of, shift_up
from kernels.gpu_columns import columns_of_block
from kernels.gpu_driver import gpu_width
from kernels.indexing import along, delinearise, product
from kernels.language import *

# Vectors of a stretch that each thread has.
EACH = 4
# Columns side by side of which each has so many threads at most, and elements of a stretch that are loaded at once.
COLUMNS = 16
MOST_SHARES = 64
AHEAD = 8


@inline
def running_sums(v):
    """The running sums of a vector's lanes."""
    total = v[0]
    sums = [total]
    for lane in unroll(1, v.width):
        total = total + v[lane]
        sums = sums + [total]
    return vector(*sums) if v.width > 1 else v


@inline
def gpu_cumsum_rows(out, x, dt):
    """Element i of a row is the sum of x's elements 0..i."""
    n = x.shape[-1]
    width = gpu_width(n, max(16 // max(x.dtype.bytes, out.dtype.bytes), 1))
    threads = 256
    if is_static(n):
        threads = fitting_power(ceildiv(n, width * EACH), target.warp, 256)
    warps = threads // target.warp
    launch(blocks=product(x.shape[:-1]), threads=threads)
    lead = delinearise(block_index(), x.shape[:-1])
    totals = shared(dt, (2, EACH, warps))
    thread = thread_index()
    warp = thread // target.warp
    carried = dt(0)
    turn = index(0)
    for first in range(0, n, threads * width * EACH):
        pieces = []
        for c in unroll(EACH):
            i = first + (c * threads + thread) * width
            v = zeros(dt, width)
            if i < n:
                v = x[along(lead, i, width)].cast(dt)
            pieces = pieces + [running_sums(v)]
        # Of each vector: what the lanes before it have, and (through shared memory) the warps and vectors before it.
        befores = []
        for c in unroll(EACH):
            inclusive = pieces[c][width - 1]
            for step in unroll(5):
                other = shift_up(inclusive, 1 << step)
                inclusive = select(lane_of() >= (1 << step), inclusive + other, inclusive)
            exclusive = shift_up(inclusive, 1)
            befores = befores + [select(lane_of() > 0, exclusive, dt(0))]
            if lane_of() == target.warp - 1:
                totals[turn, c, warp] = inclusive
        barrier()
        for c in unroll(EACH):
            offset = carried
            for w in unroll(warps):
                sum_of_warp = totals[turn, c, w]
                offset = select(warp > w, offset + sum_of_warp, offset)
                carried = carried + sum_of_warp
            i = first + (c * threads + thread) * width
            if i < n:
                before = offset + befores[c]
                out[along(lead, i, width)] = (pieces[c] + before).cast(out.dtype)
        turn = 1 - turn


@inline
def gpu_cumsum_columns(out, x, axis, dt):
    """Along an axis that is not the last: threads share a column, each has a stretch of it."""
    n, high = x.shape[-1], x.shape[axis]
    shares, share, column, j, lead, place = columns_of_block(x, axis, columns=COLUMNS, ahead=AHEAD, most=MOST_SHARES)
    each = ceildiv(high, shares)
    begin = min(share * each, index(high))
    end = min(begin + each, index(high))

    def walk(total, visit):
        """The sum of what there is before this stretch, and of it; visit(k, total) after each element."""
        whole = end - (end - begin) % AHEAD
        for first in range(begin, whole, AHEAD):
            loaded = [x[place(first + u)].cast(dt) for u in range(AHEAD)]
            for u in unroll(AHEAD):
                total = total + loaded[u]
                visit(first + u, total)
        for k in range(whole, end):
            total = total + x[place(k)].cast(dt)
            visit(k, total)
        return total

    def nothing(k, total):
        return None

    def keep(k, total):
        if j < n:
            out[place(k)] = total.cast(out.dtype)

    before = dt(0)
    if shares > 1:
        totals = shared(dt, (shares, COLUMNS))
        totals[share, column] = walk(dt(0), nothing)
        barrier()
        for s in range(share):
            before = before + totals[s, column]
    walk(before, keep)
