"""Matrix products without tensor cores on NVIDIA GPUs: threads share a tile, each has 4 x 4 or 8 x 16 sums.

Tiles of the operands are in shared memory twice: while one pair is multiplied, the next is on its way in registers.

An operand is (load, by_k, width): load(group, i, k, width) gives `width` elements along k (`by_k`) or along the other
axis i, in the type of the sums.
"""

from kernels.gemm import multiply_add
from kernels.gpu_driver import gpu_width
from kernels.indexing import delinearise, length_of, matrix_at, product
from kernels.language import *

LANES = 4
# Rows of threads that share a tile.
HIGH = 16
# Beside each row of a tile, so that rows begin in different banks.
PAD = 4
# The most taps of a convolution that have their places in shared memory.
TAPS = 2048
# Tiles of 128 x 128 from which on they are better than smaller ones: a multiprocessor has two at a time.
ENOUGH = 132
# The shape of the small ones, as tile_shape gives it.
SMALL = (64, 64, 16, 16)
# Rows of tiles whose blocks run together, so that what they share is in the L2 cache.
BAND = 16


@inline
def tile_shape(m, n, groups, dt):
    """Rows and columns of a tile, threads in a row of those that share it, and how much of k it holds.

    Large tiles, where each thread has 8 x 16 sums, if there are enough of them to be worth their code. Where sizes are
    not known tiles are tall: rows are what is not known, and mostly many.
    """
    tiles = ceildiv(m, 128) * ceildiv(n, 128) * groups
    if (
        dt.bytes > 4
        or (is_static(m) and m <= 64)
        or (is_static(n) and n <= 64)
        or (is_static(tiles) and tiles < ENOUGH)
    ):
        usual = SMALL
    else:
        usual = (128, 128, 8, 8) if is_static(tiles) else (128, 64, 16, 16)
    return choice("tile", usual, (SMALL, (128, 64, 16, 16), (128, 128, 8, 8)) if dt.bytes <= 4 else ())


@inline
def place_in_tile(p, by_k, width, *, tile, wide, deep):
    """Where the p-th vector of this thread lies in an operand's tile: (row or column, k)."""
    e = thread_index() + p * HIGH * wide
    if by_k:
        return e // (deep // width), e % (deep // width) * width
    return e % (tile // width) * width, e // (tile // width)


@inline
def fetch_for_tile(operand, dt, group, first, size, k0, depth, *, tile, wide, deep):
    """This thread's part of an operand's tile, in registers; zeros where there is nothing."""
    load, by_k, width = operand
    inside = is_static(size % tile) and is_static(depth % deep) and size % tile == 0 and depth % deep == 0
    parts = []
    for p in unroll(tile * deep // (HIGH * wide * width)):
        i, k = place_in_tile(p, by_k, width, tile=tile, wide=wide, deep=deep)
        if inside:
            v = load(group, first + i, k0 + k, width)
        else:
            # Loaded without a branch, so that all loads are on their way at once; what is outside is read elsewhere.
            last_i, last_k = (1, width) if by_k else (width, 1)
            v = load(group, min(first + i, index(size) - last_i), min(k0 + k, index(depth) - last_k), width)
            v = select(k0 + k < depth, v, zeros(dt, width))
        parts = [*parts, v]
    return parts


@inline
def put_in_tile(shared_tile, stage, operand, parts, *, tile, wide, deep):
    """Put what was fetched into a tile in shared memory, which has rows of i for each k."""
    load, by_k, width = operand
    for p in unroll(len(parts)):
        i, k = place_in_tile(p, by_k, width, tile=tile, wide=wide, deep=deep)
        if by_k and width > 1:
            for e in unroll(width):
                shared_tile[stage, k + e, i] = parts[p][e]
        else:
            shared_tile.store(parts[p], stage, k, i)


@inline
def register_tiles(m, n, depth, groups, dt, left, right, store, *, shape):
    """`groups` products of m x depth by depth x n matrices; store(group, i, j, width, v) takes results along j.

    `shape` is what tile_shape says of the tiles.
    """
    down, across, wide, deep = shape
    tiles_down, tiles_across = ceildiv(m, down), ceildiv(n, across)
    small, large = down * across == 64 * 64, down * across == 128 * 128
    launch(
        blocks=tiles_down * tiles_across * groups,
        threads=HIGH * wide,
        per_processor=4 if small and dt.bytes <= 4 else 2,
    )
    lefts = shared(dt, (2, deep, down + PAD))
    rights = shared(dt, (2, deep, across + PAD))
    group = block_index() // (tiles_down * tiles_across)
    rest = block_index() - group * (tiles_down * tiles_across)
    i0 = rest // tiles_across
    j0 = rest - i0 * tiles_across
    if large and is_static(tiles_down) and tiles_down > 1:
        band = rest // (tiles_across * BAND)
        within = rest - band * (tiles_across * BAND)
        high = min(index(tiles_down) - band * BAND, index(BAND))
        i0, j0 = band * BAND + within % high, within // high
    i0, j0 = i0 * down, j0 * across
    thread = thread_index()
    # Rows and columns of a thread come in fours, as far apart as all threads have.
    row, column = thread // wide * LANES, thread % wide * LANES
    row_step, column_step = HIGH * LANES, wide * LANES
    fours_down, fours_across = down // row_step, across // column_step
    acc = [zeros(dt, LANES) for _ in range(fours_down * LANES * fours_across)]
    steps = ceildiv(length_of(depth), deep)

    def add_products(acc, stage, k):
        a = [lefts.load(stage, k, row + h * row_step, width=LANES) for h in range(fours_down)]
        b = [rights.load(stage, k, column + w * column_step, width=LANES) for w in range(fours_across)]
        for h in unroll(fours_down):
            for r in unroll(LANES):
                for w in unroll(fours_across):
                    at = (h * LANES + r) * fours_across + w
                    acc[at] = multiply_add(splat(a[h][r], LANES), b[w], acc[at])
        return acc

    def fetch(k0):
        return (
            fetch_for_tile(left, dt, group, i0, m, k0, depth, tile=down, wide=wide, deep=deep),
            fetch_for_tile(right, dt, group, j0, n, k0, depth, tile=across, wide=wide, deep=deep),
        )

    def put(stage, fetched):
        put_in_tile(lefts, stage, left, fetched[0], tile=down, wide=wide, deep=deep)
        put_in_tile(rights, stage, right, fetched[1], tile=across, wide=wide, deep=deep)

    if steps > 0:
        put(0, fetch(index(0)))
    barrier()
    for step in range(steps):
        stage = step % 2
        # Behind the last step nothing is loaded: it would lie outside.
        fetched = fetch(min(step + 1, steps - 1) * deep)
        if large:
            for k in unroll(deep):
                acc = add_products(acc, stage, k)
                if k == deep - 2:  # by now it has come, and storing it goes on beside the last products
                    put(1 - stage, fetched)
        else:  # as fast for small tiles, and much less to compile
            for k in range(deep):
                acc = add_products(acc, stage, k)
            put(1 - stage, fetched)
        barrier()
    whole = is_static(n % LANES) and n % LANES == 0
    for h in unroll(fours_down):
        for r in unroll(LANES):
            i = i0 + row + h * row_step + r
            for w in unroll(fours_across):
                v = acc[(h * LANES + r) * fours_across + w]
                j = j0 + column + w * column_step
                if whole:
                    if (i < m) & (j < n):
                        store(group, i, j, LANES, v)
                else:
                    for e in unroll(LANES):
                        if (i < m) & (j + e < n):
                            store(group, i, j + e, 1, v[e])


@inline
def matrix_operand(x, batch, dt, *, by_rows):
    """The operand that a (batched) matrix is: `by_rows`: its second axis is k, else its first one is."""
    # Which axis lies together in memory; where that is not known, the second.
    first = x.is_contiguous(x.rank - 2) and not x.is_contiguous(x.rank - 1)
    axis = 0 if first else 1
    width = gpu_width(x.shape[x.rank - 2 + axis], LANES)

    def load(group, i, k, w):
        matrix = matrix_at(x, delinearise(group, batch))
        where = (i, k) if by_rows else (k, i)
        return matrix[position(where, width=w, axis=axis)].cast(dt)

    return load, (axis == 1) == by_rows, width


@inline
def register_matmul(out, a, b, dt):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j], summed in type dt."""
    batch = out.shape[:-2]

    def store(group, i, j, width, v):
        out[position(delinearise(group, batch) + (i, j), width=width, axis=out.rank - 1)] = v.cast(out.dtype)

    register_tiles(
        out.shape[-2], out.shape[-1], a.shape[-1], product(batch), dt, matrix_operand(a, batch, dt, by_rows=True),
        matrix_operand(b, batch, dt, by_rows=False), store,
        shape=tile_shape(out.shape[-2], out.shape[-1], product(batch), dt),
    )  # fmt: skip


@inline
def register_conv2d(out, x, w, stride, padding, dilation, groups):
    """conv2d as a product: output channels of a group by taps, times taps by output pixels of an image."""
    dt = out.dtype.acc
    breadth = out.shape[3]
    taps = (w.shape[1], w.shape[2], w.shape[3])
    channels = out.shape[1] // groups
    weights = w.reshape((out.shape[1], product(taps)))

    # Of each tap: its channel, and how far down and across it is. Dividing for every element would take longer than
    # multiplying.
    table = is_static(product(taps)) and product(taps) <= TAPS
    channel_of = shared(i32, product(taps) if table else 1)
    shift_of = shared(i32, (2, product(taps) if table else 1))
    if table:
        for tap in range(thread_index(), product(taps), thread_count()):
            c, p, q = delinearise(tap, taps)
            channel_of[tap] = c.cast(i32)
            shift_of[0, tap] = (p * dilation[0] - padding[0]).cast(i32)
            shift_of[1, tap] = (q * dilation[1] - padding[1]).cast(i32)
        barrier()

    def tap_place(tap):
        if table:
            return channel_of[tap].cast(index), shift_of[0, tap].cast(index), shift_of[1, tap].cast(index)
        c, p, q = delinearise(tap, taps)
        return c, p * dilation[0] - padding[0], q * dilation[1] - padding[1]

    def load_weights(item, o, tap, width):
        return weights[position((item % groups * channels + o, tap), width=width, axis=1)].cast(dt)

    def load_pixels(item, pixel, tap, width):
        c, p, q = tap_place(tap)
        i, j = pixel // breadth * stride[0] + p, pixel % breadth * stride[1] + q
        row, column = min(max(i, 0), index(x.shape[2]) - 1), min(max(j, 0), index(x.shape[3]) - 1)
        v = x[item // groups, item % groups * taps[0] + c, row, column].cast(dt)
        return select((i == row) & (j == column), v, dt(0))  # outside there is padding

    def store(item, o, pixel, width, v):
        channel = item % groups * channels + o
        for e in unroll(width):
            at = (item // groups, channel, (pixel + e) // breadth, (pixel + e) % breadth)
            out[position(at)] = (v[e] if width > 1 else v).cast(out.dtype)

    register_tiles(
        channels, out.shape[2] * breadth, product(taps), out.shape[0] * groups, dt,
        (load_weights, True, gpu_width(product(taps), LANES)), (load_pixels, False, 1), store, shape=SMALL,
    )  # fmt: skip
