"""Matrix products of 16-bit floats on NVIDIA's tensor cores, summed in f32.

Four warps share a 64 x 64 tile of the result, each a quarter of it. An instruction multiplies 16 x 16 by 16 x 8; which
lane holds which elements is the instruction set's choice: lane 4*g + t has rows g and g + 8, and columns 2*t, 2*t + 1.
"""

from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *

SIZE = 64
PART = 32
DEPTH_STEP = 32
# Rows in shared memory are padded so that the lanes of a warp read different banks.
PITCH = 40
WORKERS = 128


@inline
def has_tensor_cores(a, b):
    """Whether this target multiplies these types on tensor cores."""
    return target.is_nvidia and target.arch >= 80 and a.dtype == b.dtype and a.dtype.is_float and a.dtype.bits == 16


@inline
def multiply_fragments(dt, a, b, c):
    """c + a * b for one 16 x 8 tile: a has 4 pairs, b has 2, c has 4 sums."""
    if dt == f16:
        return intrinsic(
            "llvm.nvvm.mma.m16n8k16.row.col.f32.f32", f32, 1,
            a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], c[2], c[3], results=4,
        )  # fmt: skip
    words = [word(pair, i32) for pair in a + b]
    return intrinsic(
        "llvm.nvvm.mma.m16n8k16.row.col.bf16", f32, 1,
        words[0], words[1], words[2], words[3], words[4], words[5], c[0], c[1], c[2], c[3], results=4,
    )  # fmt: skip


@inline
def tensor_core_matmul(out, a, b):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j]."""
    dt = a.dtype
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    down, across = ceildiv(m, SIZE), ceildiv(n, SIZE)
    launch(blocks=down * across * product(batch), threads=WORKERS)
    left = shared(dt, (SIZE, PITCH))
    right = shared(dt, (SIZE, PITCH))
    thread = thread_index()
    group = block_index() // (down * across)
    rest = block_index() - group * (down * across)
    i0 = rest // across * SIZE
    j0 = (rest - rest // across * across) * SIZE
    lead = delinearise(group, batch)
    rows, columns = fix_leading(a, lead), fix_leading(b, lead)
    warp, lane = thread // 32, thread % 32
    g, t = lane // 4, lane % 4
    i1, j1 = warp // 2 * PART, warp % 2 * PART
    acc = [f32(0) for _ in range(32)]
    for k0 in range(0, depth, DEPTH_STEP):
        for step in range(SIZE * DEPTH_STEP // WORKERS):
            e = thread + step * WORKERS
            i, k = e // DEPTH_STEP, e % DEPTH_STEP
            v = dt(0)
            if (i0 + i < m) & (k0 + k < depth):
                v = rows[i0 + i, k0 + k]
            left[i, k] = v
            k, j = e // SIZE, e % SIZE
            v = dt(0)
            if (k0 + k < depth) & (j0 + j < n):
                v = columns[k0 + k, j0 + j]
            right[j, k] = v
        barrier()
        for k in unroll(0, DEPTH_STEP, 16):
            x = k + t * 2
            fragments_a = [
                [left.load(i1 + mi * 16 + g + 8 * (p % 2), x + 8 * (p // 2), width=2) for p in range(4)]
                for mi in range(2)
            ]  # fmt: skip
            fragments_b = [
                [right.load(j1 + ni * 8 + g, x + 8 * p, width=2) for p in range(2)] for ni in range(4)
            ]  # fmt: skip
            for mi in unroll(2):
                for ni in unroll(4):
                    at = (mi * 4 + ni) * 4
                    sums = multiply_fragments(dt, fragments_a[mi], fragments_b[ni], acc[at : at + 4])
                    for s in unroll(4):
                        acc[at + s] = sums[s]
        barrier()
    for mi in unroll(2):
        for ni in unroll(4):
            for s in unroll(4):
                i = i0 + i1 + mi * 16 + g + 8 * (s // 2)
                j = j0 + j1 + ni * 8 + t * 2 + s % 2
                if (i < m) & (j < n):
                    out[position(lead + (i, j))] = acc[(mi * 4 + ni) * 4 + s].cast(out.dtype)
