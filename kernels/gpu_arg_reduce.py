"""Where the best value along an axis is, on NVIDIA GPUs: threads search parts of a row or column, then compare.

Of equal values the one that comes first is found, whichever thread has it.
"""

from kernels.gpu_blocks import exchange, fitting_power
from kernels.gpu_columns import columns_of_block
from kernels.gpu_driver import gpu_width
from kernels.indexing import along, delinearise, product
from kernels.language import *

# Vectors, or rows of columns, that a thread loads before it looks at them.
AHEAD = 4
# Threads that share a row at most, and rows that each of these has of a column at least.
MOST_THREADS = 1024
COLUMNS = 32
MOST_SHARES = 32


@inline
def better_of(value, where, other, place, beats):
    """The better one of two values, and its place; of equal ones the earlier."""
    better = beats(other, value) | (~beats(value, other) & (place < where))
    return select(better, other, value), select(better, place, where)


@inline
def gpu_find_in_rows(out, x, start, beats):
    """Along the last axis: a block has a row, its threads vectors all over it."""
    n = x.shape[-1]
    counter = i32 if is_static(n) and n < 1 << 31 else index
    width = gpu_width(n, max(16 // x.dtype.bytes, 1))
    threads = 256
    if is_static(n):
        threads = fitting_power(ceildiv(n, width * AHEAD), target.warp, MOST_THREADS)
    launch(blocks=product(x.shape[:-1]), threads=threads)
    lead = delinearise(block_index(), x.shape[:-1])
    best, place = splat(start, width), zeros(counter, width)

    def look(i, v, best, place):
        v = v.cast(start.dtype)
        better = beats(v, best)
        return select(better, v, best), select(better, splat(i.cast(counter), width) + iota(counter, width), place)

    stretch = threads * width * AHEAD
    whole = n - n % stretch
    for first in range(0, whole, stretch):
        begun = [first + (u * threads + thread_index()) * width for u in range(AHEAD)]
        loaded = [x[along(lead, i, width)] for i in begun]
        for u in unroll(AHEAD):
            best, place = look(begun[u], loaded[u], best, place)
    for i in range(whole + thread_index() * width, n, threads * width):
        best, place = look(i, x[along(lead, i, width)], best, place)
    value, where = (best[0], place[0]) if width > 1 else (best, place)
    for lane in unroll(1, width):
        value, where = better_of(value, where, best[lane], place[lane], beats)
    value, where = better_of_warp(value, where, beats)
    warps = threads // target.warp
    if warps > 1:
        values, places = shared(start.dtype, warps), shared(counter, warps)
        if thread_index() % target.warp == 0:
            values[thread_index() // target.warp] = value
            places[thread_index() // target.warp] = where
        barrier()
        value, where = values[0], places[0]
        for w in unroll(1, warps):
            value, where = better_of(value, where, values[w], places[w], beats)
    if thread_index() == 0:
        out[position(lead)] = where.cast(out.dtype)


@inline
def better_of_warp(value, where, beats):
    """The best of all lanes of a warp, and its place."""
    for step in unroll(5):
        other, place = exchange(value, 16 >> step), exchange(where, 16 >> step)
        value, where = better_of(value, where, other, place, beats)
    return value, where


@inline
def gpu_find_in_columns(out, x, axis, start, beats):
    """Along another axis: a block has COLUMNS columns side by side, each of which several threads share."""
    n, high = x.shape[-1], x.shape[axis]
    shares, share, column, j, lead, place_of = columns_of_block(
        x, axis, columns=COLUMNS, ahead=AHEAD, most=MOST_SHARES
    )  # fmt: skip
    best, place = start, index(0)

    def value_at(k):
        return x[place_of(k)].cast(start.dtype)

    def look(k, v, best, place):
        better = beats(v, best)
        return select(better, v, best), select(better, k, place)

    stretch = shares * AHEAD
    whole = high - high % stretch
    for first in range(0, whole, stretch):
        loaded = [value_at(first + u * shares + share) for u in range(AHEAD)]
        for u in unroll(AHEAD):
            best, place = look(first + u * shares + share, loaded[u], best, place)
    for k in range(whole + share, high, shares):
        best, place = look(k, value_at(k), best, place)
    if shares > 1:
        values, places = shared(start.dtype, (shares, COLUMNS)), shared(index, (shares, COLUMNS))
        values[share, column] = best
        places[share, column] = place
        barrier()
        if share == 0:
            for s in unroll(1, shares):
                best, place = better_of(best, place, values[s, column], places[s, column], beats)
    if (share == 0) & (j < n):
        out[along(lead, j, 1)] = place.cast(out.dtype)
