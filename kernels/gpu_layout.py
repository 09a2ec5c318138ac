"""Operands that the copy engine cannot be told of, laid out for it by all blocks of a grid, which then wait for it.

That is how what is fused into an operand is computed once, and how rows that begin anywhere become rows that do not.

Rows that begin anywhere are not all laid out either. Every eighth row begins as far behind a multiple of 16 bytes, so
that the engine can be told of eight classes of rows, each from that multiple on: what a row then has before its first
column is for the kernel to hide. (It refuses boxes that begin in between, as an illegal instruction.)

(Nor is it worth having some warps lay out what is needed later while others multiply already: the few that are left
beside the products take longer than the first tiles do. The copy engine brings rows no sooner than the threads do.)
A kernel that does so says launch(..., resident=True, together=True).
"""

from kernels.gpu_blocks import grid_thread
from kernels.gpu_reduce import memory_fence
from kernels.indexing import delinearise, product
from kernels.language import *

CHUNK = 8  # elements of 16 bits in 16 bytes
CLASSES = 8  # of rows, by how many elements behind a multiple of 16 bytes they begin
LINE = 64  # and in a line of the cache
# Chunks that a thread loads before it stores them.
AHEAD = 4


@inline
def laid_out(x):
    """x in a workspace: row-major, rows padded to lines. Complete for a block once it has been through meet_all()."""
    lead, high, wide = x.shape[:-2], x.shape[-2], x.shape[-1]
    chunks = ceildiv(wide, CHUNK)
    pitch = ceildiv(wide, LINE) * LINE
    rows = product(lead) * high
    buffer = workspace(x.dtype, rows * pitch)
    worker, workers = grid_thread()
    whole = is_static(wide % CHUNK) and wide % CHUNK == 0

    def chunk(e):
        row = e // chunks
        column = (e - row * chunks) * CHUNK
        return row, column, loaded_at(delinearise(row, lead + (high,)), column)

    def loaded_at(where, column):
        if not whole and is_plain(x):
            return unaligned_words(x, x.place(*where, column))
        if whole:
            return words_of(x[position(where + (column,), width=CHUNK, axis=x.rank - 1)])
        # What is past the end of a row is never looked at: the copy engine knows how long rows are.
        return words_of(vector(*[x[position(where + (min(column + k, index(wide) - 1),))] for k in range(CHUNK)]))

    count = index(rows * chunks)
    rounds = max(count - worker, index(0)) // (workers * AHEAD)
    for round in range(rounds):
        first = worker + round * (workers * AHEAD)
        loaded = [chunk(first + u * workers) for u in range(AHEAD)]
        for row, column, words in unroll(loaded):
            store_words(buffer, row * pitch + column, words)
    for e in range(worker + rounds * (workers * AHEAD), count, workers):
        row, column, words = chunk(e)
        store_words(buffer, row * pitch + column, words)
    strides = [1, pitch]
    step = pitch * high
    for k in unroll(len(lead)):
        strides = [*strides, step]
        step = step * lead[len(lead) - 1 - k]
    return strided(buffer.flat, x.shape, tuple([strides[x.rank - 1 - k] for k in range(x.rank)]), 0)


@inline
def is_classed(x):
    """Whether row_classes can be made of a matrix."""
    if x.rank != 2 or not is_plain(x):
        return False
    step, first = x.strides[0], x.offset
    if not is_static(step) or not is_static(first) or not is_static(x.shape[1]) or step < x.shape[1]:
        return False
    return can_map(row_classes(x)[0][0])


@inline
def row_classes(x):
    """For each class the matrix of its rows, with those columns before the first that the copy engine needs; and how
    many these are."""
    made = []
    step = x.strides[0]
    for k in unroll(CLASSES):
        first = x.offset + k * step
        before = first % CHUNK
        shape = (ceildiv(max(x.shape[0] - k, 0), CLASSES), x.shape[1] + before)
        made = [*made, (strided(x.flat, shape, (CLASSES * step, 1), first - before), before)]
    return made


@inline
def is_plain(x):
    """Whether the elements of each row of x lie together in memory."""
    return x.is_strided and x.is_contiguous(x.rank - 1)


@inline
def words_of(v):
    """The four words that eight elements of 16 bits are."""
    return [word(shuffle(v, v, (2 * k, 2 * k + 1)), i32) for k in range(CHUNK // 2)]


@inline
def load_words(x, at):
    """The four words of a chunk, which begins at a multiple of 16 bytes."""
    row = strided(x.flat, (CHUNK,), (1,), at)
    return list(asm("ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}", i32, 1, row, results=4))


@inline
def store_words(buffer, at, words):
    """Four words to a chunk of a workspace."""
    row = strided(buffer.flat, (CHUNK,), (1,), at)
    asm("st.global.v4.b32 [$0], {$1, $2, $3, $4};", "l,r,r,r,r,~{memory}", None, 1, row, *words)


@inline
def runs_backwards(x, axis):
    """Whether a higher index along this axis is a lower place in memory."""
    return is_static(x.strides[axis]) and x.strides[axis] < 0


@inline
def unaligned_words(x, at):
    """The words of a chunk that begins anywhere in a buffer, from two that do not; none outside it is looked at."""
    last = x.place(*[0 if runs_backwards(x, axis) else x.shape[axis] - 1 for axis in range(x.rank)]) // CHUNK * CHUNK
    first = min(at // CHUNK * CHUNK, last)
    skipped = at % CHUNK
    return words_from(load_words(x, first) + load_words(x, min(first + CHUNK, last)), skipped)


@inline
def words_from(words, skipped):
    """Four words, from so many elements of 16 bits behind the first of eight on."""
    for step in unroll((2, 1)):
        taken = (skipped & (2 * step)) != 0
        words = [select(taken, words[k + step], words[k]) for k in range(CHUNK // 2 + step)]
    half = ((skipped & 1) * 16).cast(i32)
    return [intrinsic("llvm.fshr.i32", i32, 1, words[k + 1], words[k], half) for k in range(CHUNK // 2)]


@inline
def meet_all():
    """Wait for all blocks of the grid; what they stored before, this block and the copy engine see afterwards."""
    counter = workspace(i32, 1)
    asm("fence.proxy.async;", "~{memory}", None, 1)
    memory_fence()
    barrier()
    if thread_index() == 0:
        # The first bit of the counter changes when everybody has come; it needs no reset.
        mine = select(block_index() == 0, i32(-2147483648) - (block_count() - 1).cast(i32), i32(1))
        before = counter.atomic_add(0, mine)
        asm(
            "{\n.reg .pred met;\n.reg .b32 now;\nMEET${:uid}:\nld.acquire.gpu.b32 now, [$0];\n"
            "xor.b32 now, now, $1;\nsetp.lt.s32 met, now, 0;\n@!met bra MEET${:uid};\n}",
            "l,r,~{memory}", None, 1, counter, before,
        )  # fmt: skip
    barrier()
    memory_fence()
    asm("fence.proxy.async;", "~{memory}", None, 1)
