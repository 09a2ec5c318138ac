"""Operands that the copy engine cannot be told of, laid out for it by all blocks of a grid, which then wait for it.

That is how what is fused into an operand is computed once, and how rows that begin anywhere become rows that do not.

Rows that begin anywhere are not all laid out either. Every eighth row begins as far behind a multiple of 16 bytes, so
that the engine can be told of eight classes of rows, each from that multiple on: what a row then has before its first
column is for the kernel to hide. (It refuses boxes that begin in between, as an illegal instruction.)

A kernel whose blocks wait for each other says launch(..., resident=True, together=True). What is needed later can be
laid out while others multiply already, by warps that have nothing else to do, piece by piece: few of them, as they take
memory from the products, and as they are given few registers. (The copy engine brings rows no sooner than threads do.)
"""

from kernels.gpu_blocks import grid_thread, lane_of
from kernels.gpu_reduce import memory_fence
from kernels.gpu_warpgroups import meet_warps
from kernels.indexing import delinearise, product
from kernels.language import *

CHUNK = 8  # elements of 16 bits in 16 bytes
CLASSES = 8  # of rows, by how many elements behind a multiple of 16 bytes they begin
LINE = 64  # and in a line of the cache
# Chunks that a thread loads before it stores them; if it has few registers; and if that is all that it will lay out.
AHEAD, AHEAD_LATER, AHEAD_ONCE = 4, 2, 13


@inline
def laid_out(x):
    """x in a workspace: row-major, rows padded to lines. Complete for a block once it has been through meet_all()."""
    room = room_for(x)
    lay_out(x, room, columns=x.shape[-1], ahead=AHEAD)
    return room


@inline
def room_for(x):
    """A workspace as large as x, to be indexed as x is: row-major, rows padded to lines."""
    lead, high = x.shape[:-2], x.shape[-2]
    pitch = row_pitch(x)
    buffer = workspace(x.dtype, product(lead) * high * pitch)
    strides = [1, pitch]
    step = pitch * high
    for k in unroll(len(lead)):
        strides = [*strides, step]
        step = step * lead[len(lead) - 1 - k]
    return strided(buffer.flat, x.shape, tuple([strides[x.rank - 1 - k] for k in range(x.rank)]), 0)


@inline
def row_pitch(x):
    """Elements from one row of a room for x to the next."""
    return ceildiv(x.shape[-1], LINE) * LINE


@inline
def lay_out(x, room, *, columns, ahead):
    """The first so many columns of x to the room for it: what this thread, of all of the grid, has to do."""
    lead, high, pitch = x.shape[:-2], x.shape[-2], row_pitch(x)
    chunks = ceildiv(columns, CHUNK)
    count = index(product(lead) * high * chunks)
    worker, workers = grid_thread()

    def chunk(first, u):
        e = own_or_first(first + u * workers, first, count)
        row = e // chunks
        column = (e - row * chunks) * CHUNK
        return row * pitch + column, chunk_at(x, delinearise(row, lead + (high,)), column)

    for first in range(worker, count, workers * ahead):
        for at, words in unroll([chunk(first, u) for u in range(ahead)]):
            store_words(room, at, words)


@inline
def chunk_at(x, where, column):
    """The words of the chunk of a row of x that begins at this column."""
    wide = x.shape[-1]
    if is_static(wide % CHUNK) and wide % CHUNK == 0:
        return words_of(x[position(where + (column,), width=CHUNK, axis=x.rank - 1)])
    if is_plain(x):
        return unaligned_words(x, x.place(*where, column))
    # What is past the end of a row is never looked at: the copy engine knows how long rows are.
    return words_of(vector(*[x[position(where + (min(column + k, index(wide) - 1),))] for k in range(CHUNK)]))


@inline
def lay_out_later(x, room, counters, *, columns, early, warp, warps):
    """The columns of a matrix behind the first `early` pieces of so many: what this warp of a block, one of `warps`,
    has to do of it. Pieces have counters, which count blocks, and no more chunks in a row than a warp has lanes."""
    high, wide, pitch = x.shape[0], x.shape[1], row_pitch(x)
    own, all = block_index() * warps + warp, block_count() * warps

    def chunk(first, u, column):
        # Every row's place is computed from its number: this is for threads that have few registers.
        row = hidden(own_or_first(first + u * all, first, high).cast(i32)).cast(index)
        return row * pitch + column, chunk_at(x, (row,), column)

    def piece(which, wide):
        column = which * columns + lane_of() * CHUNK
        if lane_of() < ceildiv(wide, CHUNK):
            for first in range(own, index(high), all * AHEAD_LATER):
                for at, words in unroll([chunk(first, u, column) for u in range(AHEAD_LATER)]):
                    store_words(room, at, words)
        meet_warps(warps)
        if (warp == 0) & (lane_of() == 0):
            memory_fence()
            come(counters, which)

    for which in range(index(early), index(wide // columns)):
        piece(which, columns)
    if wide % columns:
        piece(index(wide // columns), wide % columns)


@inline
def own_or_first(e, first, count):
    """e, or what there is of so many in place of it: the first, which its thread then lays out twice, to have no
    question between its loads."""
    return select(e < count, e, first)


@inline
def hidden(v):
    """v, as a number of which the compiler knows nothing."""
    return asm("mov.b32 $0, $1;", "=r,r", i32, 1, v)


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
        wait_to_meet(counter, 0, come(counter, 0))
    barrier()
    memory_fence()
    asm("fence.proxy.async;", "~{memory}", None, 1)


@inline
def come(counters, which):
    """Count this block, once in a launch; what the counter was before. Its first bit changes when all have come, so
    that it needs no reset."""
    mine = select(block_index() == 0, i32(-2147483648) - (block_count() - 1).cast(i32), i32(1))
    return counters.atomic_add(which, mine)


@inline
def count_before(counters, which):
    """What a counter is before anybody has come: who asks has not yet met the others."""
    at = strided(counters.flat, (1,), (1,), which)
    return asm("ld.relaxed.gpu.b32 $0, [$1];", "=r,l,~{memory}", i32, 1, at)


@inline
def wait_to_meet(counters, which, before):
    """Wait until all have come to a counter that was `before`; what they stored, this thread's copies then see."""
    at = strided(counters.flat, (1,), (1,), which)
    asm(
        "{\n.reg .pred met;\n.reg .b32 now;\nMEET${:uid}:\nld.acquire.gpu.b32 now, [$0];\n"
        "xor.b32 now, now, $1;\nsetp.lt.s32 met, now, 0;\n@!met bra MEET${:uid};\n}",
        "l,r,~{memory}", None, 1, at, before,
    )  # fmt: skip
    asm("fence.proxy.async;", "~{memory}", None, 1)
