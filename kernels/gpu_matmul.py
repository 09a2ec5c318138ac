"""Matrix products on a GPU: blocks compute 64 x 64 tiles of the result from tiles of the operands in shared memory."""

from kernels.gemm import multiply_add
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *

TILE = 64
DEEP = 16
# Threads stand in a square of 16 by 16; each keeps 4 x 4 results.
SIDE = 16
EACH = 4


@inline
def gpu_tiles(m, n, depth, groups, dt, load_a, load_b, store):
    """`groups` products of m x depth by depth x n matrices.

    load_a(group, i, k) and load_b(group, k, j) give single elements in type dt; store(group, i, j, v) takes results.
    """
    down, across = ceildiv(m, TILE), ceildiv(n, TILE)
    launch(blocks=down * across * groups, threads=SIDE * SIDE)
    left = shared(dt, (DEEP, TILE))
    right = shared(dt, (DEEP, TILE))
    group = block_index() // (down * across)
    rest = block_index() - group * (down * across)
    i0 = rest // across * TILE
    j0 = (rest - rest // across * across) * TILE
    thread = thread_index()
    row, column = thread // SIDE * EACH, thread % SIDE * EACH
    acc = [zeros(dt, EACH) for _ in range(EACH)]
    for k0 in range(0, depth, DEEP):
        for step in unroll(TILE * DEEP // (SIDE * SIDE)):
            e = thread + step * SIDE * SIDE
            i, k = e // DEEP, e % DEEP
            v = dt(0)
            if (i0 + i < m) & (k0 + k < depth):
                v = load_a(group, i0 + i, k0 + k)
            left[k, i] = v
            k, j = e // TILE, e % TILE
            v = dt(0)
            if (k0 + k < depth) & (j0 + j < n):
                v = load_b(group, k0 + k, j0 + j)
            right[k, j] = v
        barrier()
        for k in range(DEEP):
            a = left.load(k, row, width=EACH)
            b = right.load(k, column, width=EACH)
            for r in unroll(EACH):
                acc[r] = multiply_add(splat(a[r], EACH), b, acc[r])
        barrier()
    for r in unroll(EACH):
        if i0 + row + r < m:
            for c in unroll(EACH):
                if j0 + column + c < n:
                    store(group, i0 + row + r, j0 + column + c, acc[r][c])


@inline
def gpu_matmul(out, a, b, dt):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j], summed in type dt."""
    batch = out.shape[:-2]

    def load_a(group, i, k):
        return fix_leading(a, delinearise(group, batch))[i, k].cast(dt)

    def load_b(group, k, j):
        return fix_leading(b, delinearise(group, batch))[k, j].cast(dt)

    def store(group, i, j, v):
        out[position(delinearise(group, batch) + (i, j))] = v.cast(out.dtype)

    gpu_tiles(out.shape[-2], out.shape[-1], a.shape[-1], product(batch), dt, load_a, load_b, store)


@inline
def gpu_conv2d(out, x, w, stride, padding, dilation, groups):
    """conv2d as a product: output channels of a group by taps, times taps by output pixels of an image."""
    dt = out.dtype.acc
    breadth = out.shape[3]
    taps = (w.shape[1], w.shape[2], w.shape[3])
    channels = out.shape[1] // groups

    def load_a(item, o, t):
        c, p, q = delinearise(t, taps)
        return w[item % groups * channels + o, c, p, q].cast(dt)

    def load_b(item, t, pixel):
        c, p, q = delinearise(t, taps)
        i = pixel // breadth * stride[0] + p * dilation[0] - padding[0]
        j = pixel % breadth * stride[1] + q * dilation[1] - padding[1]
        v = dt(0)
        if (i >= 0) & (i < x.shape[2]) & (j >= 0) & (j < x.shape[3]):
            v = x[item // groups, item % groups * taps[0] + c, i, j].cast(dt)
        return v

    def store(item, o, pixel, v):
        where = (item // groups, item % groups * channels + o, pixel // breadth, pixel % breadth)
        out[position(where)] = v.cast(out.dtype)

    gpu_tiles(
        channels, out.shape[2] * breadth, product(taps), out.shape[0] * groups, dt, load_a, load_b, store
    )  # fmt: skip
