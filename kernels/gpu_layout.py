"""Operands that the copy engine cannot be told of, laid out for it by all blocks of a grid, which then wait for it.

That is how what is fused into an operand is computed once, and how rows that begin anywhere become rows that do not.
(Telling the engine of eight rows as one, which together always take multiples of 16 bytes, is no way around it: it also
refuses boxes that begin in between along the last axis, as an illegal instruction.)
A kernel that does so says launch(..., resident=True, together=True).
"""

from kernels.gpu_blocks import grid_thread
from kernels.gpu_reduce import memory_fence
from kernels.indexing import delinearise, product
from kernels.language import *

CHUNK = 8  # elements of 16 bits in 16 bytes
LINE = 64  # and in a line of the cache
# Chunks that a thread loads before it stores them.
AHEAD = 2


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
        if not whole and x.is_strided and x.is_contiguous(x.rank - 1):
            return unaligned_chunk(x, x.place(*where, column), x.place(*[size - 1 for size in x.shape]))
        if whole:
            return x[position(where + (column,), width=CHUNK, axis=x.rank - 1)]
        # What is past the end of a row is never looked at: the copy engine knows how long rows are.
        return vector(*[x[position(where + (min(column + k, index(wide) - 1),))] for k in range(CHUNK)])

    count = index(rows * chunks)
    rounds = max(count - worker, index(0)) // (workers * AHEAD)
    for round in range(rounds):
        first = worker + round * (workers * AHEAD)
        loaded = [chunk(first + u * workers) for u in range(AHEAD)]
        for row, column, v in unroll(loaded):
            buffer.store(v, row * pitch + column)
    for e in range(worker + rounds * (workers * AHEAD), count, workers):
        row, column, v = chunk(e)
        buffer.store(v, row * pitch + column)
    strides = [1, pitch]
    step = pitch * high
    for k in unroll(len(lead)):
        strides = [*strides, step]
        step = step * lead[len(lead) - 1 - k]
    return strided(buffer.flat, x.shape, tuple([strides[x.rank - 1 - k] for k in range(x.rank)]), 0)


@inline
def unaligned_chunk(x, at, last):
    """A chunk that begins anywhere in a buffer of which `last` is read at most: from two that do not."""
    first = at // CHUNK * CHUNK
    skipped = at - first
    pair = concat(x.flat.load(first, width=CHUNK), x.flat.load(min(first + CHUNK, last // CHUNK * CHUNK), width=CHUNK))
    for step in unroll((4, 2, 1)):
        kept = CHUNK + step - 1
        moved = shuffle(pair, pair, tuple(range(step, step + kept)))
        pair = select((skipped & step) != 0, moved, shuffle(pair, pair, tuple(range(kept))))
    return pair


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
