"""Threads of a GPU working together: numbering, shuffles between lanes, combining a value over a block."""

from kernels.language import *

# Multiprocessors to share work out over, where their number decides how: those of an H100 or H200.
PROCESSORS = 132


@inline
def grid_thread():
    """This thread's number in the whole grid, and how many there are."""
    return block_index() * thread_count() + thread_index(), block_count() * thread_count()


@inline
def lane_of():
    """This thread's number within its warp."""
    return thread_index() % target.warp


@inline
def exchange_word(v, distance):
    """The 32 bits that the lane whose number differs by `distance` (xor) holds."""
    if target.is_nvidia:
        return intrinsic("llvm.nvvm.shfl.sync.bfly.i32", i32, 1, i32(-1), v, i32(distance), i32(31))
    other = lane_of().cast(i32) ^ distance
    return intrinsic("llvm.amdgcn.ds.bpermute", i32, 1, other * 4, v)


@inline
def word_from_below(v, distance):
    """The 32 bits that the lane `distance` before this one holds; the first lanes get their own (NVIDIA)."""
    return intrinsic("llvm.nvvm.shfl.sync.up.i32", i32, 1, i32(-1), v, i32(distance), i32(0))


@inline
def exchange(v, distance):
    """The value that the lane whose number differs by `distance` (xor) holds; any dtype."""
    if target.is_nvidia and v.dtype == f32:  # the common case, with the least to compile
        return intrinsic("llvm.nvvm.shfl.sync.bfly.f32", f32, 1, i32(-1), v, i32(distance), i32(31))
    return by_words(v, lambda word: exchange_word(word, distance))


@inline
def shift_up(v, distance):
    """The value that the lane `distance` before this one holds; the first lanes get their own; any dtype (NVIDIA)."""
    return by_words(v, lambda word: word_from_below(word, distance))


@inline
def by_words(v, move):
    """`v` through a function that moves 32 bits."""
    dt = v.dtype
    if dt.bits == 64:
        whole = v.bits(i64) if dt.is_float else v.cast(i64)
        low = move(whole.cast(i32)).cast(i64) & 4294967295
        high = move(lshr(whole, 32).cast(i32)).cast(i64) << 32
        joined = low | high
        return joined.bits(dt) if dt.is_float else joined.cast(dt)
    if dt.bits == 32:
        other = move(v.bits(i32) if dt.is_float else v)
        return other.bits(dt) if dt.is_float else other
    if dt.is_float:
        return move(v.bits(i16).cast(i32)).cast(i16).bits(dt)
    return move(v.cast(i32)).cast(dt)


@inline
def combine_warp(v, combine, distance):
    """`v` of every lane of the warp combined; all lanes get the result."""
    for step in unroll(6):
        if distance >> step > 0:
            v = combine(v, exchange(v, distance >> step))
    return v


@inline
def combine_block(v, combine, *, threads):
    """`v` of every thread of the block combined; all threads get the result. Each use has its own shared cells."""
    v = combine_warp(v, combine, target.warp // 2)
    warps = threads // target.warp
    if warps == 1:
        return v
    cells = shared(v.dtype, warps)
    if lane_of() == 0:
        cells[thread_index() // target.warp] = v
    barrier()
    total = cells[0]
    for k in unroll(1, warps):
        total = combine(total, cells[k])
    return total


@inline
def fitting_power(n, low, high):
    """The smallest power of two from `low` on that is at least `n`, but at most `high`."""
    if low >= n or low >= high:
        return low
    return fitting_power(n, low * 2, high)
