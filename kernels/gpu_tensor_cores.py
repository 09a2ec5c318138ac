"""Matrix products of 16-bit floats on NVIDIA's tensor cores, summed in f32.

Four warps share a 128 x 128 tile of the result, each a quarter of it. Tiles of the operands, 32 deep, come into shared
memory ahead of their use, STAGES of them at a time.
"""

from kernels.gpu_async import end_group, wait_for_groups
from kernels.gpu_fragments import (
    chunk_place,
    chunked_matrix_at,
    fill_chunk,
    load_left,
    load_right,
    load_right_turned,
    multiply_words,
)
from kernels.indexing import delinearise, length_of, product
from kernels.language import *

DOWN = 128
ACROSS = 128
DEEP = 32
CHUNK = 8
STAGES = 3
WORKERS = 128
# What one warp has of a tile, in rows and columns of the instruction's 16 x 8.
WARP_ROWS = 4
WARP_COLUMNS = 8
# Rows of tiles whose blocks run together, so that what they share is in the L2 cache.
BAND = 8


@inline
def has_tensor_cores(a, b):
    """Whether this target multiplies these types on tensor cores."""
    return target.is_nvidia and target.arch >= 80 and a.dtype == b.dtype and a.dtype.is_float and a.dtype.bits == 16


@inline
def fill_tile(tile, base, x, i0, k0, *, rows, chunks):
    """Rows i0.. and columns k0.. of a matrix into a tile, zeros where it has none."""
    thread = thread_index()
    for step in unroll(rows * chunks // WORKERS):
        e = thread + step * WORKERS
        i, c = e // chunks, e % chunks
        inside = (i0 + i < x.shape[0]) & (k0 + c * CHUNK < x.shape[1])
        fill_chunk(tile, base + chunk_place(i, c, chunks=chunks), x, i0 + i, k0 // CHUNK + c, inside=inside)


@inline
def tensor_core_matmul(out, a, b):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j]."""
    dt = a.dtype
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    stages = choice("stages", STAGES, (2,))
    band_rows = choice("band", BAND, (4, 16))
    down, across = ceildiv(m, DOWN), ceildiv(n, ACROSS)
    launch(blocks=down * across * product(batch), threads=WORKERS)
    left = shared(dt, (stages, DOWN, DEEP))
    right = shared(dt, (stages, DEEP, ACROSS))
    warp = thread_index() // 32
    group = block_index() // (down * across)
    rest = block_index() - group * (down * across)
    band = rest // (across * band_rows)
    within = rest - band * (across * band_rows)
    high = min(index(down) - band * band_rows, index(band_rows))
    i0 = (band * band_rows + within % high) * DOWN
    j0 = within // high * ACROSS
    lead = delinearise(group, batch)
    rows, columns = chunked_matrix_at(a, lead), chunked_matrix_at(b, lead)
    # x @ w.T: the right operand's columns are contiguous, so its tile is kept as rows of k.
    turned = columns.is_contiguous(0) and not columns.is_contiguous(1)
    i1, j1 = warp // 2 * (WARP_ROWS * 16), warp % 2 * (WARP_COLUMNS * 8)
    steps = ceildiv(length_of(depth), DEEP)

    def fill(step):
        stage = step % stages
        fill_tile(left, stage * (DOWN * DEEP), rows, i0, step * DEEP, rows=DOWN, chunks=DEEP // CHUNK)
        if turned:
            fill_tile(
                right,
                stage * (DEEP * ACROSS),
                columns.permute((1, 0)),
                j0,
                step * DEEP,
                rows=ACROSS,
                chunks=DEEP // CHUNK,
            )
        else:
            fill_tile(right, stage * (DEEP * ACROSS), columns, step * DEEP, j0, rows=DEEP, chunks=ACROSS // CHUNK)

    acc = [f32(0) for _ in range(WARP_ROWS * WARP_COLUMNS * 4)]
    for step in unroll(stages - 1):
        if step < steps:
            fill(index(step))
        end_group()
    for step in range(steps):
        wait_for_groups(pending=stages - 2)
        barrier()
        if step + (stages - 1) < steps:
            fill(step + (stages - 1))
        end_group()
        stage = step % stages
        for k in unroll(0, DEEP, 16):
            lefts = [
                load_left(left, stage * (DOWN * DEEP), i1 + r * 16, k, chunks=DEEP // CHUNK) for r in range(WARP_ROWS)
            ]
            rights = []
            for c in unroll(0, WARP_COLUMNS, 2):
                if turned:
                    four = load_right_turned(right, stage * (DEEP * ACROSS), k, j1 + c * 8, chunks=DEEP // CHUNK)
                else:
                    four = load_right(right, stage * (DEEP * ACROSS), k, j1 + c * 8, chunks=ACROSS // CHUNK)
                rights = rights + [four[0:2], four[2:4]]
            for r in unroll(WARP_ROWS):
                for c in unroll(WARP_COLUMNS):
                    at = (r * WARP_COLUMNS + c) * 4
                    sums = multiply_words(dt, lefts[r], rights[c], acc[at : at + 4])
                    for s in unroll(4):
                        acc[at + s] = sums[s]
    lane = thread_index() % 32
    g, t = lane // 4, lane % 4
    pairs = is_static(n % 2) and n % 2 == 0
    for r in unroll(WARP_ROWS):
        for c in unroll(WARP_COLUMNS):
            for half in unroll(2):
                at = (r * WARP_COLUMNS + c) * 4 + half * 2
                i, j = i0 + i1 + r * 16 + g + 8 * half, j0 + j1 + c * 8 + t * 2
                if i < m:
                    if pairs:
                        if j < n:
                            both = vector(acc[at], acc[at + 1]).cast(out.dtype)
                            out[position(lead + (i, j), width=2, axis=out.rank - 1)] = both
                    else:
                        for s in unroll(2):
                            if j + s < n:
                                out[position(lead + (i, j + s))] = acc[at + s].cast(out.dtype)
