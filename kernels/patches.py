"""Patches of an image, laid out as the panels that the blocked product multiplies with a convolution's weights."""

from kernels.gemm import is_unit, most_columns
from kernels.indexing import delinearise
from kernels.language import *
from kernels.rows import vectors

# Kernels of so many columns have a row of the image read once for all of these, and those that skip every other pixel.
FEWEST_TAPS = 5
MOST_TAPS = 16


@inline
def inside(first, last, offset, stride, size):
    """The outputs within first..last whose inputs, output * stride + offset, lie in 0..size; never end before begin."""
    begin = min(max(ceildiv(max(-offset, 0), stride), first), last)
    end = min(ceildiv(max(size - offset, 0), stride), last)
    return begin, max(begin, end)


@inline
def pack_patches(out, x, taps, stride, padding, dilation, groups, dt):
    """A `pack_b` for the blocked product: taps (channel, row, column) by output pixels, of one image and group."""
    many = is_static(taps[2]) and stride[1] <= 2 and taps[2] <= MOST_TAPS
    many = many and (taps[2] >= FEWEST_TAPS or (stride[1] == 2 and taps[2] > 1))
    held = taps[2] if many else 1
    lanes = target.simd(dt)
    # What a block of output pixels has at some taps, before it goes to its panels; the last vector may reach over.
    pitch = most_columns() + lanes
    lines = stack(dt, held * pitch)
    for o in range(0, held * pitch, lanes):
        lines.store(zeros(dt, lanes), o)
    reach = (most_columns() + lanes) * stride[1] + held * dilation[1]
    row = stack(dt, reach if many else 1)

    widths = (lanes, 1) if stride[1] == 1 else (1,)
    is_line = stride[1] == 1 and x.is_strided and is_unit(x.strides[3])

    def pack_b(group, panels, j, columns, k0, count, width):
        image = group // groups
        c0 = group % groups * taps[0]

        def part_of_row(i):
            base = i * out.shape[3] - j
            return base, max(-base, 0), min(columns - base, out.shape[3])

        def to_panels(line, k):
            for panel in range(ceildiv(columns, width)):
                for o in unroll(0, width, lanes):
                    v = lines.load(line * pitch + panel * width + o, width=lanes)
                    panels.store(v, (panel * count + k) * width + o)

        top, bottom = j // out.shape[3], ceildiv(j + columns, out.shape[3])
        if many:
            for rank in range(k0 // held, ceildiv(k0 + count, held)):
                c, p = delinearise(rank, taps[:2])
                for i in range(top, bottom):
                    base, first, last = part_of_row(i)
                    line = i * stride[0] + p * dilation[0] - padding[0]
                    start = first * stride[1] - padding[1]
                    length = (last - first - 1) * stride[1] + (held - 1) * dilation[1] + 1
                    read_row(row, x, image, c0 + c, line, start, length)
                    for q in range(held):
                        for o in range(0, last - first, lanes):
                            v = every_nth(row, q * dilation[1] + o * stride[1], stride[1], lanes)
                            lines.store(v, q * pitch + base + first + o)
                for q in range(max(k0 - rank * held, 0), min(k0 + count - rank * held, held)):
                    to_panels(q, rank * held + q - k0)
        else:
            for k in range(count):
                c, p, q = delinearise(k0 + k, taps)
                shift = q * dilation[1] - padding[1]
                drop = p * dilation[0] - padding[0]
                if is_line:
                    lay_lines(
                        lines, x.flat, x.place(image, c0 + c, 0, 0), index(x.strides[2]), index(x.shape[2]),
                        index(x.shape[3]), top, bottom, index(stride[0]), drop, shift, index(out.shape[3]), j, columns,
                    )  # fmt: skip
                else:
                    for i in range(top, bottom):
                        base, first, last = part_of_row(i)
                        line = i * stride[0] + drop

                        def copy(o, w):
                            where = position((image, c0 + c, line, o * stride[1] + shift), width=w, axis=3)
                            lines.store(x[where].cast(dt), base + o)

                        exists = (line >= 0) & (line < x.shape[2])
                        bounds = inside(first, last, shift, stride[1], x.shape[3])
                        fill_line(lines, base, first, last, exists, bounds, copy, widths=widths)
                to_panels(0, k)

    return pack_b


@outlined
def lay_lines(lines, memory, plane, pitch, height, wide, top, bottom, step, drop, shift, breadth, j, columns):
    """What output pixels j..j+columns have at one tap, from the plane of an image that begins at memory[plane].

    Its lines are `pitch` apart. Line i of the output reads line i * step + drop of the plane, each pixel the one
    `shift` beside it. A function that all convolutions share.
    """
    dt = lines.dtype
    for i in range(top, bottom):
        base = i * breadth - j
        first, last = max(-base, 0), min(columns - base, breadth)
        line = i * step + drop
        start = plane + line * pitch + shift

        def copy(o, w):
            lines.store(memory.load(start + o, width=w).cast(dt), base + o)

        exists = (line >= 0) & (line < height)
        bounds = inside(first, last, shift, 1, wide)
        fill_line(lines, base, first, last, exists, bounds, copy, widths=(target.simd(dt), 1))


@inline
def fill_line(lines, base, first, last, exists, bounds, copy, *, widths):
    """Elements first..last of a line that begins at lines[base]: what copy(o, w) brings within the bounds if there is
    a line in the image, zeros around it."""
    begin, end = first, first
    if exists:
        begin, end = bounds

    def clear(o, w):
        lines.store(zeros(lines.dtype, w), base + o)

    vectors(first, begin, (1,), clear)
    vectors(begin, end, widths, copy)
    vectors(end, last, (1,), clear)


@inline
def read_row(row, x, image, channel, line, start, length):
    """`length` elements of a line of an image from column `start` on into `row`, with zeros where there is no image."""
    lanes = target.simd(row.dtype)
    for o in range(0, length, lanes):
        row.store(zeros(row.dtype, lanes), o)
    if (line >= 0) & (line < x.shape[2]):

        def copy(o, w):
            where = position((image, channel, line, o), width=w, axis=3)
            row.store(x[where].cast(row.dtype), o - start)

        begin = max(start, 0)
        vectors(begin, max(min(start + length, x.shape[3]), begin), (lanes, 1), copy)


@inline
def every_nth(row, start, step, lanes):
    """`lanes` elements of a row that are `step` (1 or 2) apart; what lies between them is read too."""
    if step == 1:
        return row.load(start, width=lanes)
    both = row.load(start, width=lanes * 2)
    return shuffle(both, both, tuple([2 * k for k in range(lanes)]))
