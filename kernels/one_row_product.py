"""One row times a matrix, or a matrix times one column: its rows or columns are read as they lie."""

from kernels.gemm import multiply_add
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *
from kernels.parallel import share, split, strip_length
from kernels.rows import fold, vectors, widths_for

# Bytes of sums that a thread keeps on the stack, and rows of the matrix read together.
STRIP_BYTES = 16384
STEP = 4
# How much of the row is kept on the stack while the columns of a strip are multiplied with it.
SEGMENT = 1024
# Of a matrix of so many bytes threads share the rows, so many at a time: a strip of each, the length of rows being what
# it mostly is, would lie in a few sets of the cache.
LARGE_BYTES = 1 << 23
ROWS_SHARED = 64


@inline
def row_product(out, a, b, dt, *, turned):
    """One row times a matrix, which may be one that was turned: threads share strips of columns, whose sums wait on
    the stack."""
    n, depth = out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    if shares_rows(n, depth, dt) and not lies_in_columns(fix_leading(b, delinearise(index(0), batch)), turned):
        shared_rows_product(out, a, b, dt)
        return
    lanes = target.simd(dt)
    widths = widths_for(n, lanes * 2)
    strip_bytes = choice("strip bytes", STRIP_BYTES, (4096, 8192, 32768))
    sums = stack(dt, strip_bytes // dt.bytes)
    row = stack(dt, SEGMENT)
    strip = strip_length(n, product(batch), strip_bytes // dt.bytes, lanes * 2)
    strips = ceildiv(index(n), strip)
    begin, end = split(strips * product(batch))
    for item in range(begin, end):
        group = item // strips
        j0 = (item - group * strips) * strip
        used = min(n - j0, strip)
        lead = delinearise(group, batch)
        line = fix_leading(a, lead).drop(0, 0)
        matrix = fix_leading(b, lead)

        def clear(x, w):
            sums.store(zeros(dt, w), x)

        vectors(0, used, widths, clear)
        for k0 in range(0, depth, SEGMENT):
            count = min(depth - k0, SEGMENT)

            def copy(k, w):
                row.store(line[position((k0 + k,), width=w, axis=0)].cast(dt), k)

            vectors(0, count, (lanes * 2, 1), copy)
            if lies_in_columns(matrix, turned):
                for x in range(used):
                    sums[x] = sums[x] + dot(row, matrix, k0, count, j0 + x)
            else:
                add_rows(sums, row, matrix, k0, count, j0, used, widths)

        def finish(x, w):
            out[position(lead + (0, j0 + x), width=w, axis=out.rank - 1)] = sums.load(x, width=w).cast(out.dtype)

        vectors(0, used, widths, finish)


@inline
def shares_rows(n, depth, dt):
    """Whether threads share the rows of a matrix."""
    if not is_static(n) or not is_static(depth) or depth < 2 * ROWS_SHARED:
        return False
    return choice("threads share rows", is_large(n, depth, dt), (True, False))


@inline
def is_large(n, depth, dt):
    """Whether a matrix of known sizes has so many bytes that strips of its columns lie in few sets of the cache."""
    return n * depth * dt.bytes >= LARGE_BYTES


@inline
def shared_rows_product(out, a, b, dt):
    """One row times a matrix whose rows are read from end to end: threads share parts of them."""
    n, depth = out.shape[-1], a.shape[-1]
    widths = widths_for(n, target.simd(dt) * 2)
    strip = min(n, STRIP_BYTES // dt.bytes)
    row = stack(dt, ROWS_SHARED)

    def add_part(partial, part, lead, k0, j0, used):
        count = min(depth - k0, index(ROWS_SHARED))
        line = fix_leading(a, lead).drop(0, 0)
        sums = strided(partial.flat, (strip,), (1,), part * n + j0)

        def copy(k, w):
            row.store(line[position((k0 + k,), width=w, axis=0)].cast(dt), k)

        def clear(x, w):
            sums.store(zeros(dt, w), x)

        vectors(0, count, (target.simd(dt) * 2, 1), copy)
        vectors(0, used, widths, clear)
        add_rows(sums, row, fix_leading(b, lead), k0, count, j0, used, widths)

    sum_of_parts(out, depth, dt, ROWS_SHARED, strip, widths, add_part)


@inline
def sum_of_parts(out, depth, dt, rows, strip, widths, add_part):
    """A product in parts of so many rows of its matrix, of which threads share strips. What `add_part` left of each in
    `partial`, an `out` for every part, is added up in the order of the parts when all have met: so the result does not
    depend on how many threads there are."""
    m, n = out.shape[-2], out.shape[-1]
    batch = out.shape[:-2]
    strips, parts = ceildiv(n, strip), ceildiv(depth, rows)
    partial = workspace(dt, product(batch) * parts * m * n)

    def do(begin, end):
        for item in range(begin, end):
            part = item // strips
            j0 = (item - part * strips) * strip
            used = min(n - j0, index(strip))
            group = part // parts
            k0 = (part - group * parts) * rows
            add_part(partial, part, delinearise(group, batch), k0, j0, used)

    share(product(batch) * parts * strips, rows * strip * dt.bytes, do)
    barrier()
    begin, end = split(product(batch) * m * ceildiv(n, widths[0]))
    for item in range(begin, end):
        line = item // ceildiv(n, widths[0])
        group, i = line // m, line % m
        j0 = (item - line * ceildiv(n, widths[0])) * widths[0]

        def finish(x, w):
            total = partial.load((group * parts * m + i) * n + j0 + x, width=w)
            for part in range(1, parts):
                total = total + partial.load(((group * parts + part) * m + i) * n + j0 + x, width=w)
            out[position((*delinearise(group, batch), i, j0 + x), width=w, axis=out.rank - 1)] = total.cast(out.dtype)

        vectors(0, min(n - j0, index(widths[0])), widths, finish)


@inline
def lies_in_columns(matrix, turned):
    """Whether neighbours in a column lie closer together than neighbours in a row, also in reverse or with gaps. Where
    nothing is known, rows are taken to be what they are in memory, columns in a matrix that was turned."""
    if matrix.is_contiguous(0) or matrix.is_contiguous(1):
        return matrix.is_contiguous(0) and not matrix.is_contiguous(1)
    if not matrix.is_strided:
        return turned
    down, along = matrix.strides
    if not is_static(down) or not is_static(along):
        return is_static(down)
    return max(down, -down) < max(along, -along)


@inline
def dot(row, matrix, k0, count, j):
    """The sum of row[k] * matrix[k0 + k, j], for a matrix that lies in columns."""
    dt = row.dtype
    width = target.simd(dt) * 4
    stop = count - (count & (width - 1))
    lanes = zeros(dt, width)
    single = dt(0)
    for k in range(0, stop, width):
        lanes = multiply_add(
            row.load(k, width=width), matrix[position((k0 + k, j), width=width, axis=0)].cast(dt), lanes
        )
    for k in range(stop, count):
        single = multiply_add(row[k], matrix[k0 + k, j].cast(dt), single)
    return fold(lanes, lambda x, y: x + y) + single


@inline
def add_rows(sums, row, matrix, k0, count, j0, used, widths):
    """sums[x] += row[k] * matrix[k0 + k, j0 + x], several rows of the matrix at a time."""
    dt = sums.dtype

    def rows_from(k, steps):
        def part(x, w):
            total = sums.load(x, width=w)
            for s in unroll(steps):
                v = matrix[position((k0 + k + s, j0 + x), width=w, axis=1)].cast(dt)
                total = multiply_add(splat(row[k + s], w), v, total)
            sums.store(total, x)

        vectors(0, used, widths, part)

    vectors(0, count, (choice("rows together", STEP, (2, 8)), 1), rows_from)
