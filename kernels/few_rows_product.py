"""A few rows times a matrix, which is read once, as it lies, for all of them."""

from kernels.gemm import multiply_add
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *
from kernels.one_row_product import is_large, sum_of_parts
from kernels.parallel import share, split, strip_length
from kernels.rows import vectors, widths_for

# So many rows times a matrix are not worth packing it.
FEW_ROWS = 16
# How many of them are multiplied at once, with how many rows of the matrix, and how much of them is copied at a time.
ROWS_AT_ONCE = 8
STEP = 4
SEGMENT = 1024
FEW_ROWS_BYTES = 2048
# Of a large matrix threads share so many rows a row of the left side: what is kept of them for adding up is then a
# sixteenth of what was read.
PART_ROWS = 16
# A matrix of so many bytes is read before a thread that is late could be helped.
LITTLE_BYTES = 1 << 20
# Rows of the matrix that are asked for before they are needed, where vectors are cache lines: a strip of each is too
# short for the processor to see.
ROWS_AHEAD = 8
LINE_BYTES = 64


@inline
def are_few(rows):
    """Whether so many rows are multiplied with a matrix as it lies."""
    if not is_static(rows) or rows > 2 * FEW_ROWS:
        return False
    return choice("matrix as it lies", rows <= FEW_ROWS, (True, False))


@inline
def few_rows_product(out, a, b, dt):
    """A few rows times a matrix that is read as it lies: threads share strips of columns, whose sums stay in the cache.

    Sums run along k as in the general case, so that the result is the same to the bit. A large matrix is read from end
    to end instead, where that is known to be faster.
    """
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    lanes = target.simd(dt)
    longest = choice("strip bytes", FEW_ROWS_BYTES, (1024, 4096)) // dt.bytes
    if cuts_depth(m, n, depth, dt):
        few_rows_in_parts(out, a, b, dt, longest)
        return
    sums = stack(dt, m * longest)
    left = stack(dt, SEGMENT * m)
    strip = strip_length(n, product(batch), longest, lanes)
    strips = ceildiv(index(n), strip)

    def do(begin, end):
        for item in range(begin, end):
            group = item // strips
            j0 = (item - group * strips) * strip
            used = min(n - j0, strip)
            lead = delinearise(group, batch)
            rows, matrix = fix_leading(a, lead), fix_leading(b, lead)
            add_few_rows(sums, left, rows, matrix, 0, depth, j0, used, longest=longest, segment=SEGMENT, early=True)
            for i in unroll(m):

                def finish(x, w):
                    at = position((*lead, i, j0 + x), width=w, axis=out.rank - 1)
                    out[at] = sums.load(i * longest + x, width=w).cast(out.dtype)

                vectors(0, used, widths_for(n, lanes), finish)

    if is_static(n) and is_static(depth) and n * depth * dt.bytes <= LITTLE_BYTES:
        begin, end = split(strips * product(batch))
        do(begin, end)
    else:
        share(strips * product(batch), None, do)


@inline
def cuts_depth(m, n, depth, dt):
    """Whether threads share parts of a matrix's rows that a few rows are multiplied with: strips of its columns lie in
    few sets of the cache, and are too short for the processor to see that the next will be wanted."""
    if not is_static(n) or not is_static(depth) or target.simd(dt) * dt.bytes != LINE_BYTES:
        return False
    large = is_large(n, depth, dt) and depth >= 8 * PART_ROWS * m
    return choice("threads share rows", large, (True, False))


@inline
def few_rows_in_parts(out, a, b, dt, longest):
    """A few rows times a matrix whose rows are read from end to end: threads share parts of them."""
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    widths = widths_for(n, target.simd(dt))
    rows = PART_ROWS * m
    sums = stack(dt, m * longest)
    left = stack(dt, rows * m)

    def add_part(partial, part, lead, k0, j0, used):
        end_k, few, matrix = min(k0 + rows, index(depth)), fix_leading(a, lead), fix_leading(b, lead)
        add_few_rows(sums, left, few, matrix, k0, end_k, j0, used, longest=longest, segment=rows, early=False)
        for i in unroll(m):

            def keep(x, w):
                partial.store(sums.load(i * longest + x, width=w), (part * m + i) * n + j0 + x)

            vectors(0, used, widths, keep)

    sum_of_parts(out, depth, dt, rows, min(n, longest), widths, add_part)


@inline
def add_few_rows(sums, left, rows, matrix, k0, k1, j0, used, *, longest, segment, early):
    """sums[i * longest + x] is the sum over k from k0 to k1 of rows[i, k] * matrix[k, j0 + x]. So much of the rows as
    `segment` is copied at a time; `early` has the matrix brought near before it is needed."""
    dt = sums.dtype
    m = rows.shape[0]
    lanes = target.simd(dt)
    widths = widths_for(matrix.shape[1], lanes)
    together = choice("rows together", STEP, (2, 8))
    at_once = choice("rows of A at once", ROWS_AT_ONCE, (4, 16))
    for x in range(0, m * longest, lanes):
        sums.store(zeros(dt, lanes), x)
    for k_now in range(k0, k1, segment):
        count = min(k1 - k_now, segment)
        for i in unroll(m):

            def copy(k, w):
                left.store(rows[position((i, k_now + k), width=w, axis=1)].cast(dt), i * segment + k)

            vectors(0, count, (lanes * 2, 1), copy)

        def steps_from(k, steps):
            for first in unroll(0, m, at_once):
                several = min(at_once, m - first)
                factors = [left.load((first + i) * segment + k, width=steps) for i in range(several)]

                def part(x, w):
                    right = [matrix[position((k_now + k + s, j0 + x), width=w, axis=1)].cast(dt) for s in range(steps)]
                    if early and first == 0 and steps == together and w * dt.bytes == LINE_BYTES:
                        for s in unroll(steps):
                            fetch_early(matrix, k_now + k + s + ROWS_AHEAD, j0 + x)
                    for i in unroll(several):
                        total = sums.load((first + i) * longest + x, width=w)
                        for s in unroll(steps):
                            factor = factors[i][s] if steps > 1 else factors[i]
                            total = multiply_add(splat(factor, w), right[s], total)
                        sums.store(total, (first + i) * longest + x)

                vectors(0, used, widths, part)

        vectors(0, count, (together, 1), steps_from)


@inline
def fetch_early(matrix, i, j):
    """Have the cache line of an element brought near; there need not be such an element."""
    beyond = is_static(i) and is_static(matrix.shape[0]) and i >= matrix.shape[0]
    if matrix.is_strided and not beyond:
        place = strided(matrix.flat, (1,), (1,), matrix.place(i, j))
        intrinsic("llvm.prefetch.p0", None, 1, place, i32(0), i32(3), i32(1))
