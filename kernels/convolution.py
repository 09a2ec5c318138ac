"""conv2d, NCHW: a product of the weights with patches of the image that are laid out only while they are packed."""

from kernels.gemm import gemm, multiply_add, pack_panel, reads_in_place
from kernels.gpu_matmul import gpu_conv2d
from kernels.gpu_register_tiles import register_conv2d
from kernels.indexing import delinearise, product
from kernels.language import *
from kernels.parallel import split
from kernels.patches import inside, pack_patches
from kernels.rows import vectors, widths_for

# Fewer output channels a group than this do not fill a register tile: they are computed directly.
DIRECT_CHANNELS = 4


@kernel("mo.conv2d")
def conv2d(out: FusedOutput, x: FusedInput, w: FusedInput, *, stride, padding, dilation, groups):
    """out[n, o, i, j] is the sum over c, p, q of x[n, c, i*stride + p*dilation - padding, ...] * w[o, c, p, q]."""
    channels = out.shape[1] // groups
    if target.is_nvidia:
        register_conv2d(out, x, w, stride, padding, dilation, groups)
    elif target.is_gpu:
        gpu_conv2d(out, x, w, stride, padding, dilation, groups)
    elif is_static(channels) and channels < DIRECT_CHANNELS:
        direct_conv2d(out, x, w, stride, padding, dilation, groups)
    else:
        panel_conv2d(out, x, w, stride, padding, dilation, groups)


@stored("mo.conv2d")
def operands_of_conv2d(x, w):
    """Weights are packed, or loaded for a tile, for every few pixels of every image; an image once, but element by
    element for all its taps, and rounding to 16 bits takes a processor as long as that."""
    return not target.is_gpu and x.dtype.bits == 16, True


@inline
def panel_conv2d(out, x, w, stride, padding, dilation, groups):
    """For each image and group: weights (output channels x taps) times patches (taps x output pixels)."""
    dt = out.dtype.acc
    lanes = target.simd(dt)
    height, breadth = out.shape[2], out.shape[3]
    taps = (w.shape[1], w.shape[2], w.shape[3])
    channels = out.shape[1] // groups
    weights = w.reshape((out.shape[1], product(taps)))
    pack_b = pack_patches(out, x, taps, stride, padding, dilation, groups, dt)
    # Where lines are whole vectors, so is what the product hands over of them: it cuts columns between vectors.
    even = is_static(breadth) and breadth % lanes == 0

    def pack_a(group, panel, i, rows, k0, count):
        first = group % groups * channels
        source = weights.slice((first, 0), (1, 1), (channels, product(taps))).permute((1, 0))
        pack_panel(panel, 0, source, k0, count, i, rows, along=0)

    def weights_of(group):
        first = weights.place(group % groups * channels, 0)
        return strided(weights.flat, (channels, product(taps)), weights.strides, first)

    def store(group, i, j, columns, tile, start):
        image = group // groups
        channel = group % groups * channels + i
        for r in range(j // breadth, ceildiv(j + columns, breadth)):
            base = r * breadth - j

            def part(o, width):
                where = position((image, channel, r, o), width=width, axis=3)
                out[where] = tile.load(start + base + o, width=width).cast(out.dtype)

            vectors(max(-base, 0), min(columns - base, breadth), (lanes,) if even else (lanes, 1), part)

    gemm(
        channels, height * breadth, product(taps), out.shape[0] * groups, dt, pack_a, pack_b, store,
        rows_of_a=weights_of if reads_in_place(weights, dt) else None, many=False, fine=True,
    )  # fmt: skip


@inline
def direct_conv2d(out, x, w, stride, padding, dilation, groups):
    """Row by row: each tap adds a shifted row of the image to a row of sums on the stack."""
    dt = out.dtype.acc
    lanes = target.simd(dt)
    breadth = out.shape[3]
    piece = lanes * 64
    pieces = ceildiv(breadth, piece)
    channels = out.shape[1] // groups
    taps = (w.shape[1], w.shape[2], w.shape[3])
    sums = stack(dt, piece)
    begin, end = split(product(out.shape[:3]) * pieces)
    for item in range(begin, end):
        line = item // pieces
        first = (item - line * pieces) * piece
        used = min(breadth - first, piece)
        image, o, i = delinearise(line, out.shape[:3])
        c0 = o // channels * w.shape[1]
        for j in range(0, piece, lanes):
            sums.store(zeros(dt, lanes), j)
        for tap in range(product(taps)):
            c, p, q = delinearise(tap, taps)
            row = i * stride[0] + p * dilation[0] - padding[0]
            shift = (first * stride[1]) + q * dilation[1] - padding[1]
            if (row >= 0) & (row < x.shape[2]):
                from_, to = inside(0, used, shift, stride[1], x.shape[3])
                weight = w[o, c, p, q].cast(dt)

                def add(j, width):
                    where = position((image, c0 + c, row, j * stride[1] + shift), width=width, axis=3)
                    sums.store(multiply_add(splat(weight, width), x[where].cast(dt), sums.load(j, width=width)), j)

                vectors(from_, to, (lanes * 2, 1) if stride[1] == 1 else (1,), add)

        def finish(j, width):
            where = position((image, o, i, first + j), width=width, axis=3)
            out[where] = sums.load(j, width=width).cast(out.dtype)

        vectors(0, used, widths_for(breadth, lanes * 2), finish)
