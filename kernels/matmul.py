"""mo.matmul: batched matrix products of any rank from 2 on, through panels; one row or one column has its own way."""

from kernels.gemm import gemm, multiply_add, pack_panel, pack_panels, reads_in_place
from kernels.gpu_matmul import gpu_matmul
from kernels.gpu_register_tiles import register_matmul
from kernels.gpu_tensor_cores import has_tensor_cores, tensor_core_matmul
from kernels.gpu_vectors import vector_product
from kernels.gpu_warpgroup_matmul import warpgroup_matmul
from kernels.gpu_warpgroup_tiles import fits_warpgroups
from kernels.indexing import delinearise, fix_leading, matrix_at, product
from kernels.language import *
from kernels.parallel import share, split, strip_length
from kernels.rows import fold, vectors, widths_for

# One row times a matrix: bytes of sums that a thread keeps on the stack, and rows of the matrix read together.
STRIP_BYTES = 16384
STEP = 4
# How much of the row is kept on the stack while the columns of a strip are multiplied with it.
SEGMENT = 1024
# Of a matrix of so many bytes threads share the rows, so many at a time: a strip of each, the length of rows being what
# it mostly is, would lie in a few sets of the cache.
LARGE_BYTES = 1 << 23
ROWS_SHARED = 64
# So many rows times a matrix are not worth packing it: its rows are read once, for all of them.
FEW_ROWS = 16
ROWS_AT_ONCE = 8
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
def product_dtype(dt):
    """The type products are summed in: bools are counted."""
    if dt.name == "bool":
        return i32
    return dt.acc


@kernel("mo.matmul")
def matmul(out: FusedOutput, a: FusedInput, b: FusedInput):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j]."""
    swapped = tuple(range(out.rank - 2)) + (out.rank - 1, out.rank - 2)
    one_row = is_static(out.shape[-2]) and out.shape[-2] == 1
    if target.is_nvidia and one_row and out.dtype.is_float:
        vector_product(out, a, b, product_dtype(out.dtype))
    elif target.is_nvidia and is_static(out.shape[-1]) and out.shape[-1] == 1 and out.dtype.is_float:
        vector_product(out.permute(swapped), b.permute(swapped), a.permute(swapped), product_dtype(out.dtype))
    elif target.is_gpu and fits_warpgroups(out, a, b):
        warpgroup_matmul(out, a, b)
    elif target.is_gpu and has_tensor_cores(a, b):
        tensor_core_matmul(out, a, b)
    elif target.is_nvidia:
        register_matmul(out, a, b, product_dtype(out.dtype))
    elif target.is_gpu:
        gpu_matmul(out, a, b, product_dtype(out.dtype))
    elif one_row:
        row_product(out, a, b, turned=False)
    elif is_static(out.shape[-1]) and out.shape[-1] == 1:
        row_product(out.permute(swapped), b.permute(swapped), a.permute(swapped), turned=True)
    elif b.is_contiguous(b.rank - 1) and are_few(out.shape[-2]):
        few_rows_product(out, a, b)
    else:
        panel_product(out, a, b)


@inline
def are_few(rows):
    """Whether so many rows are multiplied with a matrix as it lies."""
    if not is_static(rows) or rows > 2 * FEW_ROWS:
        return False
    return choice("matrix as it lies", rows <= FEW_ROWS, (True, False))


@inline
def panel_product(out, a, b):
    """The general case."""
    dt = product_dtype(out.dtype)
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]

    def pack_a(group, panel, i, rows, k0, count):
        source = fix_leading(a, delinearise(group, batch)).permute((1, 0))
        pack_panel(panel, 0, source, k0, count, i, rows, along=0)

    def copy_rows(group, panel, i, rows, k0, count, pitch):
        source = fix_leading(a, delinearise(group, batch))
        for r in range(rows):

            def part(k, w):
                panel.store(source[position((i + r, k0 + k), width=w, axis=1)].cast(dt), r * pitch + k)

            vectors(0, count, (target.simd(dt) * 2, 1), part)

    def pack_b(group, panels, j, columns, k0, count, width):
        source = fix_leading(b, delinearise(group, batch))
        pack_panels(panels, source, k0, count, j, columns, width, along=1)

    widths = widths_for(n, target.simd(dt) * 2)

    def store(group, i, j, columns, tile, start):
        lead = delinearise(group, batch) + (i,)

        def part(x, w):
            out[position(lead + (j + x,), width=w, axis=out.rank - 1)] = tile.load(start + x, width=w).cast(out.dtype)

        vectors(0, columns, widths, part)

    def rows_of_a(group):
        return matrix_at(a, delinearise(group, batch))

    gemm(
        m, n, depth, product(batch), dt, pack_a, pack_b, store,
        rows_of_a=rows_of_a if reads_in_place(a, dt) else None,
        copy_rows=copy_rows if a.is_contiguous(a.rank - 1) else None,
    )  # fmt: skip


@inline
def row_product(out, a, b, *, turned):
    """One row times a matrix, which may be one that was turned: threads share strips of columns, whose sums wait on
    the stack."""
    dt = product_dtype(out.dtype)
    n, depth = out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    if is_large(n, depth, dt) and not lies_in_columns(fix_leading(b, delinearise(index(0), batch)), turned):
        shared_rows_product(out, a, b)
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
def is_large(n, depth, dt):
    """Whether threads share the rows of a matrix."""
    if not is_static(n) or not is_static(depth) or depth < 2 * ROWS_SHARED:
        return False
    return choice("threads share rows", n * depth * dt.bytes >= LARGE_BYTES, (True, False))


@inline
def shared_rows_product(out, a, b):
    """One row times a matrix whose rows are read from end to end: threads share parts of them, whose sums are added up
    in the order of the parts when all have met; so that the result does not depend on how many threads there are."""
    dt = product_dtype(out.dtype)
    n, depth = out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    widths = widths_for(n, target.simd(dt) * 2)
    strip = min(n, STRIP_BYTES // dt.bytes)
    strips, parts = ceildiv(n, strip), ceildiv(depth, ROWS_SHARED)
    partial = workspace(dt, product(batch) * parts * n)
    row = stack(dt, ROWS_SHARED)

    def do(begin, end):
        for item in range(begin, end):
            part = item // strips
            j0 = (item - part * strips) * strip
            used = min(n - j0, index(strip))
            group = part // parts
            k0 = (part - group * parts) * ROWS_SHARED
            count = min(depth - k0, index(ROWS_SHARED))
            lead = delinearise(group, batch)
            line = fix_leading(a, lead).drop(0, 0)
            sums = strided(partial.flat, (strip,), (1,), part * n + j0)

            def copy(k, w):
                row.store(line[position((k0 + k,), width=w, axis=0)].cast(dt), k)

            def clear(x, w):
                sums.store(zeros(dt, w), x)

            vectors(0, count, (target.simd(dt) * 2, 1), copy)
            vectors(0, used, widths, clear)
            add_rows(sums, row, fix_leading(b, lead), k0, count, j0, used, widths)

    share(product(batch) * parts * strips, ROWS_SHARED * strip * dt.bytes, do)
    barrier()
    begin, end = split(product(batch) * ceildiv(n, widths[0]))
    for item in range(begin, end):
        group = item // ceildiv(n, widths[0])
        j0 = (item - group * ceildiv(n, widths[0])) * widths[0]

        def finish(x, w):
            total = partial.load(group * parts * n + j0 + x, width=w)
            for part in range(1, parts):
                total = total + partial.load((group * parts + part) * n + j0 + x, width=w)
            out[position((*delinearise(group, batch), 0, j0 + x), width=w, axis=out.rank - 1)] = total.cast(out.dtype)

        vectors(0, min(n - j0, index(widths[0])), widths, finish)


@inline
def few_rows_product(out, a, b):
    """A few rows times a matrix that is read as it lies: threads share strips of columns, whose sums stay in the cache.

    Sums run along k as in the general case, so that the result is the same to the bit. A large matrix is read from end
    to end instead, where that is known to be faster.
    """
    dt = product_dtype(out.dtype)
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    lanes = target.simd(dt)
    longest = choice("strip bytes", FEW_ROWS_BYTES, (1024, 4096)) // dt.bytes
    if cuts_depth(m, n, depth, dt):
        few_rows_in_parts(out, a, b, longest)
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
    large = n * depth * dt.bytes >= LARGE_BYTES and depth >= 8 * PART_ROWS * m
    return choice("threads share rows", large, (True, False))


@inline
def few_rows_in_parts(out, a, b, longest):
    """A few rows times a matrix whose rows are read from end to end: threads share parts of them, whose sums are added
    up in the order of the parts when all have met; so that the result does not depend on how many threads there are."""
    dt = product_dtype(out.dtype)
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    widths = widths_for(n, target.simd(dt))
    strip = min(n, longest)
    rows = PART_ROWS * m
    strips, parts = ceildiv(n, strip), ceildiv(depth, rows)
    partial = workspace(dt, product(batch) * parts * m * n)
    sums = stack(dt, m * longest)
    left = stack(dt, rows * m)

    def do(begin, end):
        for item in range(begin, end):
            part = item // strips
            j0 = (item - part * strips) * strip
            used = min(n - j0, index(strip))
            group = part // parts
            k0 = (part - group * parts) * rows
            lead = delinearise(group, batch)
            end_k, few, matrix = min(k0 + rows, index(depth)), fix_leading(a, lead), fix_leading(b, lead)
            add_few_rows(sums, left, few, matrix, k0, end_k, j0, used, longest=longest, segment=rows, early=False)
            for i in unroll(m):

                def keep(x, w):
                    partial.store(sums.load(i * longest + x, width=w), (part * m + i) * n + j0 + x)

                vectors(0, used, widths, keep)

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
