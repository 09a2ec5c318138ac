"""Matrix products without tensor cores on NVIDIA GPUs: threads share a tile, each has 4 x 4 or 8 x 16 sums.

Tiles of the operands are in shared memory twice: while one pair is multiplied, the next is on its way in registers.

An operand is (load, by_k, width): load(group, i, k, width) gives `width` elements along k (`by_k`) or along the other
axis i, in the type of the sums.
"""

from kernels.gemm import multiply_add
from kernels.gpu_driver import gpu_width
from kernels.gpu_reduce import arrives_last, sums_of_parts
from kernels.indexing import delinearise, length_of, matrix_at, product
from kernels.language import *

from .gpu_blocks import PROCESSORS

LANES = 4
# Rows of threads that share a tile.
HIGH = 16
# Beside each row of a tile, so that rows begin in different banks.
PAD = 4
# The most taps of a convolution that have their places in shared memory.
TAPS = 2048
# Shapes of tiles, as tile_plan gives them.
SMALL = (64, 64, 16, 16)
TALL = (128, 64, 16, 16)
LARGE = (128, 128, 8, 8)
# Of each shape: what a multiprocessor that has several such tiles takes for one of them, 1,024 deep, in microseconds of
# an H200; how many times that where it has only one; and how many times where some are not filled. Large tiles have a
# tenth on top for what compiling them takes.
TILE_TIMES = ((SMALL, 35.0, 1.3, 1.2), (TALL, 58.0, 1.12, 1.4), (LARGE, 105.0, 1.25, 1.06))
# Steps along k that a part of a tile has at least, and how many parts there are at most.
LEAST_STEPS = 4
MOST_PARTS = 16
# Microseconds that it takes to leave parts to the block that adds them up: at all, for 1,024 sums of one block, and for
# as many of all blocks.
PARTS_TIME, BLOCK_SUM_TIME, SUM_TIME = 4.0, 0.037, 0.0016
# Rows or columns of the result from which on computing an operand for each tile is more than storing it.
MANY = 4096
# Rows of tiles whose blocks run together, so that what they share is in the L2 cache.
BAND = 16


@inline
def tile_plan(m, n, depth, groups, dt):
    """(rows and columns of a tile, threads in a row of those that share it, how much of k it holds), and in how many
    parts k is divided among blocks: what takes least, by estimate.

    Where sizes are not known tiles are tall, as rows are what is not known, and mostly many; and k is not divided.
    """
    known = is_static(m) and is_static(n) and is_static(depth) and is_static(groups)
    one_shape = dt.bytes > 4 or (is_static(m) and m <= 64) or (is_static(n) and n <= 64)
    shape, parts, least = SMALL if one_shape else TALL, 1, None
    if known:
        for figures in unroll(TILE_TIMES):
            if figures[0] == SMALL or not one_shape:
                tried, time = likely_parts(m, n, depth, groups, figures)
                if least is None or time < least:
                    shape, parts, least = figures[0], tried, time
    shape = choice("tile", shape, (SMALL, TALL, LARGE) if dt.bytes <= 4 else ())
    if not known:
        return shape, 1
    most = most_parts(depth, shape)
    return shape, choice("parts", min(parts, most), [p for p in (1, 2, 4, 8, 16) if p <= most])


@inline
def computes_often(size):
    """Whether there are so many rows or columns of the result that what is computed on the other operand, for each tile
    of them, takes longer than storing it."""
    return is_static(size) and size >= MANY


@inline
def most_parts(depth, shape):
    """Into how many parts k can be divided."""
    return max(min(ceildiv(depth, shape[3]) // LEAST_STEPS, MOST_PARTS), 1)


@inline
def likely_parts(m, n, depth, groups, figures):
    """Into how many parts k is best divided for tiles of this shape, and the microseconds that takes by estimate."""
    shape, time, alone, ragged = figures
    tiles = ceildiv(m, shape[0]) * ceildiv(n, shape[1]) * groups
    filled = m % shape[0] == 0 and n % shape[1] == 0 and depth % shape[3] == 0
    if not filled and n % LANES == 0 and depth % LANES == 0:  # else loads of single elements count for more
        time = time * ragged
    own = shape[0] * shape[1] / 1024 * BLOCK_SUM_TIME
    each = own + m * n * groups / 1024 * SUM_TIME
    best, least = 1, None
    for parts in unroll(1, most_parts(depth, shape) + 1):
        rounds = ceildiv(tiles * parts, PROCESSORS)
        taken = rounds * time * (alone if rounds == 1 else 1.0) * ceildiv(depth, parts) / 1024
        taken = taken if parts == 1 else taken + PARTS_TIME + own + parts * each
        if least is None or taken < least:
            best, least = parts, taken
    return best, least


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
def register_tiles(m, n, depth, groups, dt, left, right, store, *, shape, parts=1):
    """`groups` products of m x depth by depth x n matrices; store(group, i, j, width, v) takes results along j.

    `shape` and `parts` are what tile_plan says. Where there are several parts of k, blocks that have one each leave
    their sums in a workspace, and the one that comes last adds them up, in their order.
    """
    down, across, wide, deep = shape
    tiles_down, tiles_across = ceildiv(m, down), ceildiv(n, across)
    tiles = tiles_down * tiles_across * groups
    steps = ceildiv(length_of(depth), deep)
    if parts > 1:
        steps_each = ceildiv(steps, parts)
        parts = ceildiv(steps, steps_each)  # none is without steps
    small, large = down * across == 64 * 64, down * across == 128 * 128
    launch(
        blocks=tiles * parts,
        threads=HIGH * wide,
        per_processor=4 if small and dt.bytes <= 4 else 2,
    )
    lefts = shared(dt, (2, deep, down + PAD))
    rights = shared(dt, (2, deep, across + PAD))
    tile, part = block_index(), index(0)
    if parts > 1:
        tile, part = block_index() % tiles, block_index() // tiles
        begun = part * steps_each
        steps = min(index(steps) - begun, index(steps_each))
    group = tile // (tiles_down * tiles_across)
    rest = tile - group * (tiles_down * tiles_across)
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

    def add_products(acc, stage, k):
        a = [lefts.load(stage, k, row + h * row_step, width=LANES) for h in range(fours_down)]
        b = [rights.load(stage, k, column + w * column_step, width=LANES) for w in range(fours_across)]
        for h in unroll(fours_down):
            for r in unroll(LANES):
                for w in unroll(fours_across):
                    at = (h * LANES + r) * fours_across + w
                    acc[at] = multiply_add(splat(a[h][r], LANES), b[w], acc[at])
        return acc

    def fetch(step):
        k0 = (step if parts == 1 else begun + step) * deep
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
        fetched = fetch(min(step + 1, steps - 1))
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

    def store_sums(acc):
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

    if parts == 1:
        store_sums(acc)
    else:
        sums = workspace(dt, parts * tiles * down * across)
        counters = workspace(i32, tiles)

        def place_of(part, v):
            return ((part * tiles + tile) * len(acc) + v) * (HIGH * wide * LANES) + thread * LANES

        for v in unroll(len(acc)):
            sums.store(acc[v], place_of(part, v))
        if arrives_last(counters, tile, parts):
            # One part at a time: registers are scarce, as a multiprocessor has four blocks of small tiles.
            total = sums_of_parts(lambda k, v: sums.load(place_of(k, v), width=LANES), parts, len(acc), ahead=1)
            store_sums(total)


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

    m, n, depth, groups = out.shape[-2], out.shape[-1], a.shape[-1], product(batch)
    shape, parts = tile_plan(m, n, depth, groups, dt)
    register_tiles(
        m, n, depth, groups, dt, matrix_operand(a, batch, dt, by_rows=True),
        matrix_operand(b, batch, dt, by_rows=False), store, shape=shape, parts=parts,
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
