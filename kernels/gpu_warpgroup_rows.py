"""Matrix products of 16-bit floats by warpgroups (sm_90a) whose rows begin anywhere in memory.

The copy engine wants rows that begin at multiples of 16 bytes. Eight rows together always take such a multiple: it is
told of a matrix as if eight rows were one, and brings every eighth row of a tile at a time, first 0, 8, 16, ..., then
1, 9, 17, .... For the left operand that is the order of the result's rows. For the right one it is the order of k; the
left one's elements are put into the same order on their way from shared memory to the registers that are multiplied.

Blocks, stages and barriers are as in gpu_warpgroup_matmul. A narrow last column of tiles is left to the blocks that
have one tile less than the others.
"""

from kernels.gpu_warpgroup_matmul import tile_columns
from kernels.gpu_warpgroups import (
    arrive,
    arrive_expecting,
    barriers_are_made,
    describe_tile,
    fetch_map,
    fewer_registers,
    make_barrier,
    more_registers,
    multiply_words_tiles,
    next_stage,
    shared_address,
    start_tile_copy,
    wait_for,
)
from kernels.language import *

TOGETHER = 8  # rows that are one for the copy engine
# The rest is as in gpu_warpgroup_matmul.
DOWN = 128
DEEP = 64
ROW_BYTES = 128
WARPGROUP = 128
STAGE_BYTES = 200 * 1024
BAND = 16
NARROW = 32


@inline
def fits_eighth_rows(out, a, b):
    """Whether these are plain matrices of known sizes, the copy engine can be told of eight rows of."""
    if out.rank != 2 or not is_static(out.size) or not is_static(a.shape[-1]) or not a.is_strided or not b.is_strided:
        return False
    if min(a.shape[0], b.shape[0]) < TOGETHER or a.strides[1] != 1 or b.strides[1] != 1:
        return False
    return can_map(whole_eights(a)) and can_map(whole_eights(b))


@inline
def whole_eights(x):
    """A matrix with eight rows as one; what does not make eight is left out."""
    pitch = x.strides[0]
    wide = (TOGETHER - 1) * pitch + x.shape[1]
    return strided(x.flat, (x.shape[0] // TOGETHER, wide), (TOGETHER * pitch, 1), x.offset)


@inline
def all_eights(x):
    """The same with what is left over at the end: of each eight only as many rows as the last ones have."""
    pitch, rest = x.strides[0], x.shape[0] % TOGETHER
    wide = (rest - 1) * pitch + x.shape[1]
    return strided(x.flat, (x.shape[0] // TOGETHER + 1, wide), (TOGETHER * pitch, 1), x.offset)


@inline
def eighth_maps(x, *, rows):
    """For each of eight rows the map that has them all, for boxes of `rows` of these by 64 elements."""
    rest = x.shape[0] % TOGETHER
    whole = tensor_map(whole_eights(x), (rows, DEEP))
    longer = whole if rest == 0 else tensor_map(all_eights(x), (rows, DEEP))
    return [longer if s < rest else whole for s in range(TOGETHER)]


@inline
def eighth_rows_matmul(out, a, b):
    """out[i, j] is the sum over k of a[i, k] * b[k, j]."""
    dt = a.dtype
    m, n, depth = out.shape[0], out.shape[1], a.shape[1]
    across = tile_columns(m, n, 1, any_width=False)
    narrow = n > across and 0 < n % across <= NARROW
    left_bytes, right_bytes = DOWN * DEEP * 2, across * DEEP * 2
    stages = min(STAGE_BYTES // (left_bytes + right_bytes), 8)
    tiles_down = ceildiv(m, DOWN)
    tiles_across = n // across if narrow else ceildiv(n, across)
    tiles = tiles_down * tiles_across
    launch(blocks=tiles, threads=3 * WARPGROUP, resident=True)
    left_maps = eighth_maps(a, rows=DOWN // TOGETHER)
    right_maps = eighth_maps(b, rows=DEEP // TOGETHER)
    memory = shared_address(shared(dt, stages * (left_bytes + right_bytes) // 2, of_launch=True))
    turn = shared(f32, (8, 16, 33), of_launch=True)
    barriers = shared_address(shared(i64, 2 * stages))
    thread = thread_index()
    steps = ceildiv(depth, DEEP)
    # Blocks that have one tile less than the others, and which of them this one is.
    spare = block_count() - tiles % block_count()
    mine = block_index() - tiles % block_count()
    first_narrow = select(mine < 0, index(tiles_down), mine)

    def full(stage):
        return barriers + stage * 16

    def empty(stage):
        return barriers + stage * 16 + 8

    def place(tile):
        """Row and column of a tile: bands of BAND rows of tiles, which go column by column."""
        band = tile // (tiles_across * BAND)
        within = tile - band * (tiles_across * BAND)
        high = min(index(tiles_down) - band * BAND, index(BAND))
        return (band * BAND + within % high) * DOWN, within // high * across

    def produce(warp):
        """One warp's part of the copies: two eighths of the left tile, 64 columns of the right one."""

        def tile_copies(i0, j0, stage, parity, *, columns):
            size = left_bytes + ceildiv(columns, 64) * 64 * DEEP * 2
            for step in range(steps):
                k, eight = (step * DEEP).cast(i32), (step * (DEEP // TOGETHER)).cast(i32)
                to = memory + stage * (left_bytes + right_bytes)
                wait_for(empty(stage), parity)
                if warp == 0:
                    arrive_expecting(full(stage), size=size)
                for s in unroll(warp * 2, warp * 2 + 2):
                    at = (k + s * a.strides[0], (i0 // TOGETHER).cast(i32))
                    start_tile_copy(to + s * (DOWN // TOGETHER) * ROW_BYTES, left_maps[s], at, full(stage))
                if warp * 64 < columns:
                    for s in unroll(TOGETHER):
                        at = ((j0 + warp * 64 + s * b.strides[0]).cast(i32), eight)
                        place_of = left_bytes + (warp * DEEP + s * (DEEP // TOGETHER)) * ROW_BYTES
                        start_tile_copy(to + place_of, right_maps[s], at, full(stage))
                stage, parity = next_stage(stage, parity, stages=stages)
            return stage, parity

        stage, parity = i32(0), i32(1)
        for tile in range(block_index(), tiles, block_count()):
            i0, j0 = place(tile)
            stage, parity = tile_copies(i0, j0, stage, parity, columns=across)
        if narrow:
            for strip in range(first_narrow, tiles_down, spare):
                stage, parity = tile_copies(strip * DOWN, index(n - n % across), stage, parity, columns=NARROW)

    def consume(half):
        within = thread % WARPGROUP
        warp, lane = within // 32, within % 32
        g, t = lane // 4, lane % 4
        row = (half * 64 + warp * 16 + g) * ROW_BYTES
        chunk = row + ((t * 2) ^ g) * 16
        other = row + ((t * 2 + 1) ^ g) * 16

        def multiply(i0, j0, stage, parity, *, columns):
            acc = [f32(0) for _ in range(columns // 2)]
            for step in range(steps):
                wait_for(full(stage), parity)
                at = memory + stage * (left_bytes + right_bytes)
                low, high = [], []
                for r in unroll(2):  # rows g and g + 8 of the warp's 16
                    low = low + [load_words(at + (chunk + r * 8 * ROW_BYTES).cast(i32))]
                    high = high + [load_words(at + (other + r * 8 * ROW_BYTES).cast(i32))]
                if depth % DEEP != 0:
                    if step == steps - 1:
                        valid = (depth - step * DEEP - t * 16).cast(i32)
                        low = [words_below(words, valid) for words in low]
                        high = [words_below(words, valid - 8) for words in high]
                words = in_order_of_eighths(low, high)
                second = describe_tile(at + left_bytes, between=DEEP * ROW_BYTES)
                rights = [second + k * 128 for k in range(DEEP // 16)]
                acc = multiply_words_tiles(dt, acc, words, rights, right_turned=True)
                if lane == 0:
                    arrive(empty(stage))
                stage, parity = next_stage(stage, parity, stages=stages)
            store_eighths(out, acc, i0 + half * 4 + warp, j0, turn, thread // 32 - 4, lane)
            return stage, parity

        stage, parity = i32(0), i32(0)
        for tile in range(block_index(), tiles, block_count()):
            i0, j0 = place(tile)
            stage, parity = multiply(i0, j0, stage, parity, columns=across)
        if narrow:
            for strip in range(first_narrow, tiles_down, spare):
                stage, parity = multiply(strip * DOWN, index(n - n % across), stage, parity, columns=NARROW)

    if thread == 0:
        for s in unroll(TOGETHER):
            fetch_map(left_maps[s])
            fetch_map(right_maps[s])
        for stage in unroll(stages):
            make_barrier(full(stage), arrivals=1)
            make_barrier(empty(stage), arrivals=8)
        barriers_are_made()
    barrier()
    if thread < WARPGROUP:
        if across > 96:
            fewer_registers(count=40)
        for warp in unroll(4):
            if thread == warp * 32:
                produce(warp)
    else:
        if across > 96:
            more_registers(count=232)
        consume(thread // WARPGROUP - 1)


@inline
def load_words(address):
    """Four words of shared memory."""
    return list(asm("ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,r,~{memory}", i32, 1, address, results=4))


@inline
def words_below(words, valid):
    """Words of two elements each; zeros from element `valid` on."""
    kept = []
    for k in unroll(4):
        kept = kept + [select(valid > 2 * k + 1, words[k], select(valid > 2 * k, words[k] & 65535, i32(0)))]
    return kept


@inline
def in_order_of_eighths(low, high):
    """What a thread has of 64 elements of two rows, eight and eight more each, as four words for each 16 of k.

    Of 16, the first 8 are elements 2j, 2j + 8, 2j + 16, ..., the others the ones behind each of these.
    """
    words = []
    for j in unroll(4):
        for odd in unroll(2):
            for r in unroll(2):
                selector = i32(0x7632 if odd == 1 else 0x5410)
                words = words + [asm("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", i32, 1, low[r][j], high[r][j], selector)]
    return words


@inline
def store_eighths(out, acc, i, j, turn, warp, lane):
    """The sums of a warp's 16 rows, i and every eighth from there on: through shared memory, then along rows."""
    m, n = out.shape[0], out.shape[1]
    g, t = lane // 4, lane % 4
    for c in unroll(0, len(acc) // 4, 4):
        for e in unroll(16):
            turn[warp, g + e // 2 % 2 * 8, e // 4 * 8 + t * 2 + e % 2] = acc[c * 4 + e]
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)
        column = j + c * 8 + lane
        for r in unroll(16):
            if (i + r * TOGETHER < m) & (column < n):
                out[position((i + r * TOGETHER, column))] = turn[warp, r, lane].cast(out.dtype)
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)
