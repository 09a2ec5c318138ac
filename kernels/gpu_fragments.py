"""Tensor cores by the warp: fragments of 16-bit matrices from shared memory, their products, and tiles they lie in.

An instruction multiplies 16 x 16 by 16 x 8. Which lane holds which elements is the instruction set's choice: lane
4*g + t has rows g and g + 8, and columns 2*t, 2*t + 1 of every 8. A pair of elements is one i32 (a word).

Tiles in shared memory are rows of chunks of 16 bytes. Where a row's length is a power of two, the same chunk of
neighbouring rows lies in the same banks; so chunks change places within their row by the row's number (`chunk_place`).
"""

from kernels.gpu_async import copies_run_alone
from kernels.indexing import fix_leading, matrix_at
from kernels.language import *

CHUNK = 8  # elements of 16 bits in 16 bytes


@inline
def multiply_words(dt, a, b, c):
    """c + a * b for one 16 x 8 tile: a is 4 words, b is 2, c has 4 sums."""
    if dt == f16:
        return asm(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, "
            "{$10, $11, $12, $13};",
            "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", f32, 1, *a, *b, *c, results=4,
        )  # fmt: skip
    return intrinsic("llvm.nvvm.mma.m16n8k16.row.col.bf16", f32, 1, *a, *b, *c, results=4)


@inline
def pair(dt, x, y):
    """Two f32 values rounded to dt, as a word."""
    return word(vector(x, y).cast(dt), i32)


@inline
def chunk_place(row, chunk, *, chunks):
    """Where in its tile a chunk of a row begins, in elements, for rows of `chunks` chunks."""
    if chunks >= 8:
        moved = chunk ^ (row & 7)
    elif chunks == 4:
        moved = chunk ^ ((row // 2) & 3)
    else:
        moved = chunk ^ ((row // 4) & 1)
    return (row * chunks + moved) * CHUNK


@inline
def four_matrices(tile, place):
    """Four 8 x 8 matrices: lanes 8*k .. 8*k + 7 say where the rows of matrix k begin; each lane gets a word of each."""
    row = strided(tile.flat, (CHUNK,), (1,), place)
    return intrinsic("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3", i32, 1, row, results=4)


@inline
def four_matrices_turned(tile, place):
    """As four_matrices, each matrix transposed."""
    row = strided(tile.flat, (CHUNK,), (1,), place)
    return intrinsic("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3", i32, 1, row, results=4)


@inline
def load_left(tile, base, i, k, *, chunks):
    """The 16 x 16 fragment of a left operand whose tile has rows i and chunks of k."""
    lane = thread_index() % 32
    return four_matrices(tile, base + chunk_place(i + lane % 16, k // CHUNK + lane // 16, chunks=chunks))


@inline
def load_right(tile, base, k, j, *, chunks):
    """Two 16 x 8 fragments of a right operand, columns j and j + 8, whose tile has rows k and chunks of j."""
    lane = thread_index() % 32
    return four_matrices_turned(tile, base + chunk_place(k + lane % 16, j // CHUNK + lane // 16, chunks=chunks))


@inline
def load_right_turned(tile, base, k, j, *, chunks):
    """As load_right, from a tile that has rows j and chunks of k."""
    lane = thread_index() % 32
    row, chunk = j + lane // 16 * 8 + lane % 8, k // CHUNK + lane // 8 % 2
    return four_matrices(tile, base + chunk_place(row, chunk, chunks=chunks))


@inline
def is_chunks(count):
    """Whether a number of elements is known to be whole chunks."""
    rest = count % CHUNK
    return is_static(rest) and rest == 0


@inline
def chunked_matrix_at(x, lead):
    """As matrix_at; a tensor only if all of its matrices begin at a chunk: where they do cannot be seen of one."""
    chunked = x.is_strided
    if chunked:
        for step in unroll((x.offset, *x.strides[: len(lead)])):
            chunked = chunked and is_chunks(step)
    return matrix_at(x, lead) if chunked or len(lead) == 0 else fix_leading(x, lead)


@inline
def copied_by_chunks(x):
    """Whether 16 bytes of a row of this matrix lie together in memory, at a multiple of 16 bytes."""
    if not x.is_strided or not copies_run_alone() or (is_static(x.offset) and not is_chunks(x.offset)):
        return False
    if not is_static(x.strides[1]) or x.strides[1] != 1:  # an element that is repeated along a row is not a row of them
        return False
    return is_chunks(x.shape[1]) and is_chunks(x.strides[0])


@inline
def fill_chunk(tile, place, x, i, c, *, inside):
    """Chunk c of row i of a matrix goes to its place in a tile; where it is not inside, zeros do."""
    if copied_by_chunks(x):
        to = strided(tile.flat, (CHUNK,), (1,), place)
        start = strided(
            x.flat, (CHUNK,), (1,), x.place(select(inside, i, index(0)), select(inside, c * CHUNK, index(0)))
        )
        count = select(inside, i32(16), i32(0))
        intrinsic("llvm.nvvm.cp.async.cg.shared.global.16.s", None, 1, to, start, count)
    else:
        for e in unroll(CHUNK):
            v = x.dtype(0)
            if inside & (c * CHUNK + e < x.shape[1]):
                v = x[i, c * CHUNK + e]
            tile.flat[place + e] = v
