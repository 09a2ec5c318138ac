"""Kernels that keep one part of an NVIDIA GPU busy and do nothing else: memory, L2, multiply-adds, tensor cores.

How many rounds they make is read from memory: a loop of known length the driver's compiler unrolls for many seconds.
"""
# ruff: noqa
# pyright: basic, reportUndefinedVariable=false, reportMissingImports=false, reportWildcardImportFromLibrary=false

from kernels.gpu_fragments import multiply_words
from kernels.language import *

THREADS = 256
# Vectors of 16 bytes that a thread has under way at once.
EACH = 4
# Steps of a chain, or products, written one after the other: the loop around them then costs next to nothing.
STRAIGHT = 16
WARPGROUP = 128
# A product of a warp group: 64 x 16 by 16 x 256, from rows of 64 elements (128 bytes) in shared memory.
TALL, BROAD, DEEP, ROW = 64, 256, 16, 64
# A pair of bf16, each 1.
TWO_ONES = 0x3F803F80


@kernel("kg.gpu_copy")
def gpu_copy(out: Tensor, x: Tensor, rounds: Tensor):
    """Copy x to out so many times. A block takes another part each time, and loads go past L1: they come from L2."""
    width = 16 // x.dtype.bytes
    part = THREADS * EACH * width
    parts = x.size // part
    launch(blocks=parts, threads=THREADS)
    for r in range(rounds[0].cast(index)):
        first = (block_index() + r * 97) % parts * part + thread_index() * width
        loaded = [load_from_l2(x, first + k * THREADS * width) for k in range(EACH)]
        for k in unroll(EACH):
            out[position((first + k * THREADS * width,), width=width, axis=0)] = loaded[k]


@inline
def load_from_l2(x, i):
    """16 bytes of f32 from place i on."""
    place = strided(x.flat, (4,), (1,), i)
    v = asm("ld.global.cg.v4.b32 {$0, $1, $2, $3}, [$4];", "=f,=f,=f,=f,l", f32, 1, place, results=4)
    return vector(v[0], v[1], v[2], v[3])


@kernel("kg.gpu_multiply")
def gpu_multiply(out: Tensor, x: Tensor, rounds: Tensor, *, blocks, chains):
    """`chains` independent chains of multiply-adds in every thread; 16-bit floats go in pairs, as the chip has them."""
    launch(blocks=blocks, threads=THREADS)
    dt = x.dtype
    width = 2 if dt.bits == 16 else 1
    given = [x[position(((c * THREADS + thread_index()) * width,), width=width, axis=0)] for c in range(2 + chains)]
    if dt == bf16:
        given = [word(pair, i32) for pair in given]
    acc = given[2:]
    for r in range(rounds[0].cast(index)):
        for u in unroll(STRAIGHT):
            for c in unroll(chains):
                acc[c] = multiply_once(dt, given[0], given[1], acc[c])
    lanes, one = width, splat(dt(1), width)
    if dt == bf16:
        lanes, one = 1, i32(TWO_ONES)
    total = acc[0]
    for c in unroll(1, chains):
        total = multiply_once(dt, acc[c], one, total)
    out[position(((block_index() * THREADS + thread_index()) * lanes,), width=lanes, axis=0)] = total


@inline
def multiply_once(dt, a, b, c):
    """a * b + c in one instruction. The language computes bf16 in f32: pairs of those are words here, and in `out`."""
    if dt == bf16:
        return asm("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", i32, 1, a, b, c)
    return fma(a, b, c)


@kernel("kg.gpu_tensor")
def gpu_tensor(out: Tensor, x: Tensor, rounds: Tensor, *, blocks):
    """Products of 16 x 16 by 16 x 8 on tensor cores: two left sides times four right sides in every warp."""
    launch(blocks=blocks, threads=THREADS)
    places = [(c * THREADS + thread_index()) * 2 for c in range(16)]
    words = [word(x[position((place,), width=2, axis=0)], i32) for place in places]
    acc = [f32(0) for _ in range(32)]
    for r in range(rounds[0].cast(index)):
        for u in unroll(STRAIGHT // 4):
            for mi in unroll(2):
                for ni in unroll(4):
                    at = (mi * 4 + ni) * 4
                    left, right = words[mi * 4 : mi * 4 + 4], words[8 + ni * 2 : 10 + ni * 2]
                    sums = multiply_words(x.dtype, left, right, acc[at : at + 4])
                    for s in unroll(4):
                        acc[at + s] = sums[s]
    out[position((block_index() * THREADS + thread_index(),))] = added(acc)


@kernel("kg.gpu_warpgroup")
def gpu_warpgroup(out: Tensor, x: Tensor, rounds: Tensor, *, blocks):
    """Products of 64 x 16 by 16 x 256 by a whole warp group, both sides from shared memory (sm_90a alone has them)."""
    launch(blocks=blocks, threads=WARPGROUP)
    count = (TALL + BROAD) * ROW
    tile = shared(x.dtype, count + 512)
    begin = asm("mov.u64 $0, $1;", "=l,l", i64, 1, tile)
    start = (begin + 1023) & -1024  # the pattern that banks are mixed by repeats every 1024 bytes
    offset = ((start - begin) >> 1).cast(index)
    for i in range(thread_index() * 8, count, WARPGROUP * 8):
        tile.store(x[position((i,), width=8, axis=0)], offset + i)
    asm("fence.proxy.async.shared::cta;", "~{memory}", None, 1)
    barrier()
    left = [described(start + k * DEEP * 2) for k in range(ROW // DEEP)]
    right = [described(start + TALL * ROW * 2 + k * DEEP * 2) for k in range(ROW // DEEP)]
    acc = [f32(0) for _ in range(WARPGROUP)]
    kind = "f16" if x.dtype == f16 else "bf16"
    text = "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.fence.sync.aligned; " + products(kind) * (STRAIGHT // 4)
    text = text + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"
    constraints = "=f," * WARPGROUP + listed("", 0, WARPGROUP, ",") + ",l,l,l,l,l,l,l,l"
    for r in range(rounds[0].cast(index)):
        sums = asm(text, constraints, f32, 1, *acc, *left, *right, results=WARPGROUP)
        for s in unroll(WARPGROUP):
            acc[s] = sums[s]
    out[position((block_index() * WARPGROUP + thread_index(),))] = added(acc)


@inline
def described(address):
    """The word by which the instruction knows a tile at this address: rows of 128 bytes in groups of 8, mixed."""
    return ((address & 262143) >> 4) | (1 << 16) | (64 << 32) | (1 << 62)


@inline
def products(kind):
    """One product after the other along a row, added to the same sums, in PTX."""
    text = ""
    sums = listed("$", 0, WARPGROUP, ", ")
    for k in unroll(ROW // DEEP):
        name = "wgmma.mma_async.sync.aligned.m64n256k16.f32." + kind + "." + kind
        sides = ", " + listed("$", 2 * WARPGROUP + k, 1, "") + ", " + listed("$", 2 * WARPGROUP + 4 + k, 1, "")
        text = text + name + " {" + sums + "}" + sides + ", p, 1, 1, 0, 0; "
    return text


@inline
def listed(mark, first, count, between):
    """`count` numbers in words, each with a mark before it."""
    text = f"{mark}{first}"
    for k in unroll(1, count):
        text = text + f"{between}{mark}{first + k}"
    return text


@inline
def added(values):
    """The sum of some values, so that none of them can be left out."""
    total = values[0]
    for k in unroll(1, len(values)):
        total = total + values[k]
    return total
