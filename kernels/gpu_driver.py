"""Elementwise groups on a GPU: a thread takes 16 bytes of the result, neighbouring threads take neighbouring bytes."""

from kernels.gpu_blocks import grid_thread
from kernels.indexing import along, delinearise, product, replace
from kernels.language import *

THREADS = 256
# Where memory runs along another axis than the last: tiles of so many elements along either.
SIDE = 64
BAND = 8


@inline
def gpu_elementwise(out, x):
    """Store x at every position of out."""
    if out.rank == 0:
        launch(blocks=1, threads=32)
        if thread_index() == 0:
            out[position(())] = x[position(())]
    else:
        gpu_elementwise_rows(out, x)


@inline
def gpu_width(n, widest):
    """Lanes that one thread stores: as many as fill `widest`, fewer where rows are not multiples of that."""
    if is_static(n) and n == 0:
        return 1
    rest = n % widest
    if widest == 1 or (is_static(rest) and rest == 0):
        return widest
    return gpu_width(n, widest // 2)


@inline
def gpu_elementwise_rows(out, x):
    """Rows whose length is a multiple of the lanes are cut into vectors; one long row has a tail of single elements."""
    n = out.shape[-1]
    widest = max(16 // out.dtype.bytes, 1)
    rows = product(out.shape[:-1])
    single_row = is_static(rows) and rows == 1
    threads = choice("threads", THREADS, (128, 512))
    if single_row:
        width = min(widest, 8)
        launch(blocks=ceildiv(ceildiv(n, width), threads), threads=threads)
        worker, workers = grid_thread()
        lead = delinearise(index(0), out.shape[:-1])
        i = worker * width
        if i + width <= n:
            out[along(lead, i, width)] = x[along(lead, i, width)]
        else:
            for k in range(i, n):
                out[along(lead, k, 1)] = x[along(lead, k, 1)]
    else:
        width = gpu_width(n, min(widest, 8))
        pieces = n // width
        launch(blocks=ceildiv(rows * pieces, threads), threads=threads)
        worker, workers = grid_thread()
        if worker < rows * pieces:
            row = worker // pieces
            lead = delinearise(row, out.shape[:-1])
            i = (worker - row * pieces) * width
            out[along(lead, i, width)] = x[along(lead, i, width)]


@inline
def read_across(x):
    """The axis, not the last, along which everything that x reads is contiguous in memory; -1 where there is none."""
    found = -1
    for axis in unroll(x.rank - 1):
        along_it, along_last = True, True
        for source in unroll(x.reads):
            if source.rank == x.rank:
                along_it = along_it and source.is_contiguous(axis)
                along_last = along_last and source.is_contiguous(x.rank - 1)
            elif source.rank > 0:
                along_it = False  # read at a place that nothing is known of
        if along_it and not along_last:
            found = axis
    return found


@inline
def vector_of_tile(step, width):
    """The row of a tile and the place in it of this thread's vector in one step of going through the tile."""
    e = thread_index() + step * THREADS
    return e // (SIDE // width), e % (SIDE // width) * width


@inline
def gpu_elementwise_tiles(out, x, axis):
    """x is read along `axis`, as it lies in memory, and turned in shared memory, so that rows of out are written."""
    last = out.rank - 1
    high, wide = out.shape[axis], out.shape[last]
    widest = max(16 // out.dtype.bytes, 1)
    down, across = gpu_width(high, min(widest, 8)), gpu_width(wide, min(widest, 8))
    tiles = replace(replace(out.shape, axis, ceildiv(high, SIDE)), last, ceildiv(wide, SIDE))
    launch(blocks=product(tiles), threads=THREADS)
    # A row more than the tile has keeps what is read together in different banks.
    tile = shared(out.dtype, SIDE * (SIDE + max(4 // out.dtype.bytes, 1)))
    pitch = SIDE + max(4 // out.dtype.bytes, 1)
    # Blocks that run together read whole stretches of memory, and write them: BAND tiles along `axis`, then the next.
    others = replace(replace(tiles, axis, 1), last, 1)
    group = block_index() // (tiles[axis] * tiles[last])
    rest = block_index() - group * (tiles[axis] * tiles[last])
    band = rest // (tiles[last] * BAND)
    within = rest - band * (tiles[last] * BAND)
    high_band = min(index(tiles[axis]) - band * BAND, index(BAND))
    place = replace(delinearise(group, others), axis, band * BAND + within % high_band)
    place = replace(place, last, within // high_band)
    i0, j0 = place[axis] * SIDE, place[last] * SIDE

    def inside(i, j):
        return (i0 + i < high) & (j0 + j < wide)

    def where(i, j):
        return replace(replace(place, axis, i0 + i), last, j0 + j)

    def turn(whole):
        # Everything is loaded before anything is stored: a whole tile waits for memory once.
        loaded = []
        for step in unroll(SIDE * SIDE // (THREADS * down)):
            j, i = vector_of_tile(step, down)
            if whole:
                v = x[position(where(i, j), width=down, axis=axis)]
            else:
                v = splat(x.dtype(0), down)
                if inside(i, j):
                    v = x[position(where(i, j), width=down, axis=axis)]
            loaded = loaded + [v]
        for step in unroll(SIDE * SIDE // (THREADS * down)):
            j, i = vector_of_tile(step, down)
            for k in unroll(down):
                tile[j * pitch + i + k] = loaded[step][k] if down > 1 else loaded[step]
        barrier()
        for step in unroll(SIDE * SIDE // (THREADS * across)):
            i, j = vector_of_tile(step, across)
            values = [tile[(j + k) * pitch + i] for k in range(across)]
            v = vector(*values) if across > 1 else values[0]
            if whole:
                out[position(where(i, j), width=across, axis=last)] = v
            else:
                if inside(i, j):
                    out[position(where(i, j), width=across, axis=last)] = v

    even = is_static(high % SIDE) and is_static(wide % SIDE) and high % SIDE == 0 and wide % SIDE == 0
    if even:
        turn(True)
    elif (i0 + SIDE <= high) & (j0 + SIDE <= wide):
        turn(True)
    else:
        turn(False)
