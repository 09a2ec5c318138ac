"""One row times a matrix on NVIDIA GPUs: as fast as the matrix can be read, whichever way it lies in memory."""

from kernels.gpu_blocks import combine_warp, lane_of
from kernels.gpu_driver import gpu_width
from kernels.gpu_reduce import reduce_to_columns
from kernels.indexing import delinearise, matrix_at, product
from kernels.language import *
from kernels.rows import fold

# Columns that a warp works on at a time, warps of a block, and how much of the row is kept in shared memory.
COLUMNS = 2
WARPS = 8
SEGMENT = 2048
# Vectors of each column that a lane loads before it uses them.
AHEAD = 2


@inline
def vector_product(out, a, b, dt):
    """out[..., 0, j] is the sum over k of a[..., 0, k] * b[..., k, j], summed in type dt."""
    last = b.rank - 1
    if b.is_contiguous(last - 1) and not b.is_contiguous(last):
        column_products(out, a, b, dt)
    else:
        batch = out.shape[:-2]

        def scaled(at):
            lead, k, j = at.index[:-2], at.index[-2], at.index[-1]
            factor = a[position(lead + (0, k))].cast(dt)
            return splat(factor, at.width) * b[at].cast(dt)

        def store(where, v):
            at = position(where.index[:-1] + (0, where.index[-1]), width=where.width, axis=out.rank - 1)
            out[at] = v.cast(out.dtype)

        rows = FusedInput(scaled, dt, batch + (a.shape[-1], out.shape[-1]))
        widest = max(16 // b.dtype.bytes, 1)
        reduce_to_columns(rows, (last - 1,), dt(0), lambda x, y: x + y, store, widest=widest)


@inline
def column_products(out, a, b, dt):
    """For a matrix whose columns lie together: a warp takes some columns; the row waits in shared memory."""
    n, depth = out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    width = gpu_width(depth, max(16 // b.dtype.bytes, 1))
    columns = choice("columns a warp", COLUMNS, (1, 4))
    ahead = choice("ahead", AHEAD, (1, 4))
    blocks = ceildiv(n, WARPS * columns)
    launch(blocks=blocks * product(batch), threads=WARPS * 32)
    row = shared(dt, SEGMENT)
    group = block_index() // blocks
    lead = delinearise(group, batch)
    matrix = matrix_at(b, lead)
    thread, lane = thread_index(), lane_of()
    j0 = ((block_index() - group * blocks) * WARPS + thread // 32) * columns
    sums = [zeros(dt, width) for _ in range(columns)]
    for k0 in range(0, depth, SEGMENT):
        used = min(index(depth) - k0, index(SEGMENT))
        barrier()
        for k in range(thread * width, used, WARPS * 32 * width):
            row.store(a[position(lead + (0, k0 + k), width=width, axis=a.rank - 1)].cast(dt), k)
        barrier()
        step = 32 * width
        rounds = used // (step * ahead)

        def add(sums, first, count):
            parts = []
            for c in unroll(columns):
                # A column that there is not is read as the last one, and not stored.
                j = min(j0 + c, index(n) - 1)
                for u in unroll(count):
                    at = position((k0 + first + u * step + lane * width, j), width=width, axis=0)
                    parts = parts + [matrix[at]]
            for u in unroll(count):
                factor = row.load(first + u * step + lane * width, width=width)
                for c in unroll(columns):
                    sums[c] = fma(factor, parts[c * count + u].cast(dt), sums[c])
            return sums

        for round in range(rounds):
            sums = add(sums, round * (step * ahead), ahead)
        for first in range(rounds * (step * ahead), used, step):
            if first + lane * width < used:
                sums = add(sums, first, 1)
    for c in unroll(columns):
        total = combine_warp(fold(sums[c], lambda x, y: x + y), lambda x, y: x + y, 16)
        if (lane == 0) & (j0 + c < n):
            out[position(lead + (0, j0 + c))] = total.cast(out.dtype)
