"""The blocked matrix product that matmul, convolution and attention share.

Operands are copied ("packed") into panels on the stack in the order in which the inner loop reads them, in the type
that is accumulated in, with zeros past the edges. The inner loop keeps a tile of the result in registers. Finished
rows are handed to a `store` function from a buffer, so that what is fused behind the product exists once.
"""

from kernels.language import *
from kernels.parallel import split
from kernels.rows import vectors

# How much of the inner dimension one panel holds, and the bytes of B's panels: they stay in the second-level cache.
DEPTH = 512
PANEL_BYTES = 524288
COLUMNS = 1024
# Rows of the result that wait on the stack for the next part of the inner dimension.
WAITING_ROWS = 256


@inline
def most_columns():
    """The most columns of B that pack_b is ever asked for at a time."""
    return COLUMNS


@inline
def register_tile(m, n, dt):
    """Rows, and vectors a row, of the tile that is kept in registers."""
    rows, columns = (8, 3) if target.registers >= 32 else (6, 2)
    if is_static(m):
        rows = min(rows, max(m, 1))
    if is_static(n):
        columns = min(columns, max(ceildiv(n, target.simd(dt)), 1))
    return rows, columns


@inline
def multiply_add(a, b, c):
    """a * b + c in one step where the target has it."""
    if c.dtype.is_float:
        return muladd(a, b, c)
    return a * b + c


@inline
def tile_product(acc, count, left, right, *, rows, columns):
    """acc[i, v] += left(k)[i] * right(k)[v] for k < count: the loop that does all the work."""
    for k in range(count):
        a = left(k)
        b = right(k)
        for i in unroll(rows):
            for v in unroll(columns):
                acc[i * columns + v] = multiply_add(splat(a[i], b[v].width), b[v], acc[i * columns + v])
    return acc


@inline
def load_column(panel, start, *, rows):
    """The `rows` values that tile_product multiplies with a row of the other side.

    Where products take a lane of a register they are loaded as one; elsewhere broadcast loads are cheaper.
    """
    if target.simd_bytes == 16 and (rows == 8 or rows == 4 or rows == 2):
        a = panel.load(start, width=rows)
        return [a[i] for i in range(rows)]
    return [panel[start + i] for i in range(rows)]


@inline
def load_tile(tile, start, stride, lanes, *, rows, columns):
    """The register tile whose first element is tile[start]; its rows are `stride` apart."""
    return [
        tile.load(start + i * stride + v * lanes, width=lanes) for i in range(rows) for v in range(columns)
    ]  # fmt: skip


@inline
def store_tile(tile, acc, start, stride, lanes, *, rows, columns):
    """Write a register tile where load_tile reads it."""
    for i in unroll(rows):
        for v in unroll(columns):
            tile.store(acc[i * columns + v], start + i * stride + v * lanes)


@inline
def is_unit(step):
    """Whether a stride is known to be 1."""
    return is_static(step) and step == 1


@inline
def pack_panel(panel, start, source, k0, count, x0, width, *, along):
    """As fill_panel; plain memory is packed by a function that all products of a type share."""
    if source.is_strided:
        k_step, x_step = source.strides
        pack_plain_panel(
            panel, source.flat, index(start), source.place(k0, x0), index(k_step), index(x_step), index(count),
            source.shape[1] - index(x0), width=width, along=along, unit_k=is_unit(k_step), unit_x=is_unit(x_step),
        )  # fmt: skip
    else:
        fill_panel(panel, start, source, k0, count, x0, width, along=along)


@outlined
def pack_plain_panel(panel, memory, start, base, k_step, x_step, count, limit, *, width, along, unit_k, unit_x):
    """fill_panel from memory[base + k * k_step + x * x_step], of which x < limit exist."""
    source = strided(memory, (count, limit), (1 if unit_k else k_step, 1 if unit_x else x_step), base)
    fill_panel(panel, start, source, 0, count, 0, width, along=along)


@inline
def pack_panels(panels, source, k0, count, x0, columns, width, *, along):
    """As fill_panels; plain memory is packed by a function that all products of a type share."""
    if source.is_strided:
        k_step, x_step = source.strides
        pack_plain_panels(
            panels, source.flat, source.place(k0, x0), index(k_step), index(x_step), index(count), index(columns),
            source.shape[1] - index(x0), width=width, along=along, unit_k=is_unit(k_step), unit_x=is_unit(x_step),
        )  # fmt: skip
    else:
        fill_panels(panels, source, k0, count, x0, columns, width, along=along)


@outlined
def pack_plain_panels(panels, memory, base, k_step, x_step, count, columns, limit, *, width, along, unit_k, unit_x):
    """fill_panels from memory[base + k * k_step + x * x_step], of which x < limit exist."""
    source = strided(memory, (count, limit), (1 if unit_k else k_step, 1 if unit_x else x_step), base)
    fill_panels(panels, source, 0, count, 0, columns, width, along=along)


@inline
def fill_panel(panel, start, source, k0, count, x0, width, *, along):
    """panel[start + k * width + x] = source[k0 + k, x0 + x] for k < count, x < width; zero past the end of axis 1.

    `along` is the axis that vectors lie along when it is not known which one is contiguous.
    """
    dt = panel.dtype
    lanes = target.simd(dt)
    valid = min(source.shape[1] - x0, width)

    def element(k, x, w, axis):
        return source[position((k0 + k, x0 + x), width=w, axis=axis)].cast(dt)

    if not packs_rows(source, width, lanes, along):
        for x in range(valid):

            def scatter(k, w):
                v = element(k, x, w, 0)
                for lane in unroll(w):
                    panel[start + (k + lane) * width + x] = v[lane] if w > 1 else v

            vectors(0, count, (lanes, 1), scatter)
        clear_columns(panel, start, count, valid, width)
    elif valid == width:
        for k in range(count):
            for x in range(0, width, lanes):
                panel.store(element(k, x, lanes, 1), start + k * width + x)
    else:
        for k in range(count):
            for x in range(valid):
                panel[start + k * width + x] = element(k, x, 1, 1)
        clear_columns(panel, start, count, valid, width)


@inline
def packs_rows(source, width, lanes, along):
    """Whether vectors are loaded along axis 1 of the source, the one that is contiguous in a panel."""
    if along == 0 or source.is_contiguous(0):
        return width % lanes == 0 and source.is_contiguous(1)
    return width % lanes == 0


@inline
def fill_panels(panels, source, k0, count, x0, columns, width, *, along):
    """Panels of `width` for `columns` columns of the source; each as fill_panel makes it, one after the other."""
    lanes = target.simd(panels.dtype)
    whole = index(0)
    if packs_rows(source, width, lanes, along):
        # Whole rows are read at a time, which the memory likes better than columns of a panel's width.
        whole = min(source.shape[1] - x0, columns) // width
        for k in range(count):
            for p in range(whole):
                for x in range(0, width, lanes):
                    v = source[position((k0 + k, x0 + p * width + x), width=lanes, axis=1)]
                    panels.store(v.cast(panels.dtype), (p * count + k) * width + x)
    for p in range(whole, ceildiv(columns, width)):
        fill_panel(panels, p * count * width, source, k0, count, x0 + p * width, width, along=along)


@inline
def clear_columns(panel, start, count, valid, width):
    """Zeros for what fill_panel has no source for."""
    for x in range(valid, width):
        for k in range(count):
            panel[start + k * width + x] = panel.dtype(0)


@outlined
def multiply_panels(tile, a_panel, b_panels, panels, count, first, stride, *, rows, across, fresh):
    """A panel of rows times each panel of columns, into the rows of `tile` from `first` on, `stride` apart.

    A function of its own: all products of a type share it, whatever their sizes and whatever is fused to them.
    `fresh` starts from zero instead of from what `tile` holds.
    """
    dt = tile.dtype
    lanes = target.simd(dt)
    width = across * lanes
    for p in range(panels):

        def left(k):
            return load_column(a_panel, k * rows, rows=rows)

        def right(k):
            return [b_panels.load((p * count + k) * width + v * lanes, width=lanes) for v in range(across)]

        acc = [zeros(dt, lanes) for _ in range(rows * across)]
        if not fresh:
            acc = load_tile(tile, first + p * width, stride, lanes, rows=rows, columns=across)
        acc = tile_product(acc, count, left, right, rows=rows, columns=across)
        store_tile(tile, acc, first + p * width, stride, lanes, rows=rows, columns=across)


@inline
def round_up(n, multiple):
    """The next multiple."""
    return ceildiv(n, multiple) * multiple


@inline
def parts_of(rows, columns, groups, workers, *, height, width):
    """How many parts the rows and how many the columns are cut into: for every worker one, about as tall as wide.

    Then the least is packed. `rows` and `columns` are counted in register tiles of `height` by `width` elements.
    """
    share = workers
    if not is_static(groups) or groups != 1:
        # Whole groups where they come out even or are many; else every worker has a part of each.
        some = max(index(groups), 1)  # x86 processors trap at a division by zero
        even = select(workers % some == 0, workers // some, workers)
        share = select((groups % workers == 0) | (groups >= 4 * workers), index(1), even)
    square = (share * columns * width // (rows * height)).cast(i64)  # of how many parts the columns should come to
    across = index(1) << ((63 - ctlz(max(square, i64(1)))) // 2).cast(index)
    across = min(min(across, share & (0 - share)), columns)  # a power of two that the workers divide into
    return min(share // across, rows), across


@inline
def gemm(m, n, k, groups, dt, pack_a, pack_b, store):
    """`groups` independent products of m x k by k x n matrices in type dt.

    pack_a(group, panel, i, rows, k0, count): rows i..i+rows of A, columns k0..k0+count, as panel[k * rows + r].
    pack_b(group, panels, j, columns, k0, count, width): rows k0.. and columns j..j+columns of B, as panels of `width`
        columns: panels[(p * count + k) * width + x].
    store(group, i, j, columns, tile, start): tile[start..start+columns] is row i of the result, from column j on.
    """
    lanes = target.simd(dt)
    rows, across = register_tile(m, n, dt)
    width = across * lanes
    whole = is_static(k) and k <= DEPTH
    depth = max(k, 1) if whole else DEPTH // 2
    columns = max(min(PANEL_BYTES // (depth * dt.bytes), COLUMNS) // (2 * width), 1) * 2 * width
    if is_static(n) and round_up(n, 2 * width) <= columns:
        columns = max(round_up(n, 2 * width), 2 * width)
    waiting = rows if whole else round_up(WAITING_ROWS, rows)
    if is_static(m):
        waiting = min(waiting, max(round_up(m, rows), rows))
    a_panel = stack(dt, depth * rows)
    b_panels = stack(dt, depth * columns)
    tile = stack(dt, waiting * columns)

    # Columns are cut at pairs of register tiles, so that whole vectors of twice the width are stored.
    pair = 2 * width
    row_tiles, column_tiles = max(ceildiv(index(m), rows), 1), max(ceildiv(index(n), pair), 1)
    down, across_parts = parts_of(row_tiles, column_tiles, groups, thread_count(), height=rows, width=pair)
    # What does not fit at once is cut further, into pieces of one size: a narrow rest would be packed for little work.
    column_pieces = across_parts * ceildiv(ceildiv(column_tiles, across_parts) * pair, columns)
    row_pieces = down
    if not whole:
        row_pieces = down * ceildiv(ceildiv(row_tiles, down) * rows, waiting)

    begin, end = split(row_pieces * groups * column_pieces)
    for item in range(begin, end):
        rest = item // row_pieces
        group = rest // column_pieces
        piece = item - rest * row_pieces
        i0 = piece * row_tiles // row_pieces * rows
        i1 = min((piece + 1) * row_tiles // row_pieces * rows, m)
        piece = rest - group * column_pieces
        j = piece * column_tiles // column_pieces * pair
        used = min((piece + 1) * column_tiles // column_pieces * pair, n) - j
        panels = ceildiv(used, width)
        if whole:
            pack_b(group, b_panels, j, used, 0, k, width)
            for i in range(i0, i1, rows):
                pack_a(group, a_panel, i, rows, 0, k)
                multiply_panels(
                    tile, a_panel, b_panels, index(panels), index(k), index(0), index(columns),
                    rows=rows, across=across, fresh=True,
                )  # fmt: skip
                for r in range(min(i1 - i, rows)):
                    store(group, i + r, j, used, tile, r * columns)
        else:
            for x in range(0, waiting * columns, lanes):
                tile.store(zeros(dt, lanes), x)
            for k0 in range(0, k, depth):
                count = min(k - k0, depth)
                pack_b(group, b_panels, j, used, k0, count, width)
                for i in range(i0, i1, rows):
                    pack_a(group, a_panel, i, rows, k0, count)
                    multiply_panels(
                        tile, a_panel, b_panels, index(panels), index(count), (i - i0) * columns, index(columns),
                        rows=rows, across=across, fresh=False,
                    )  # fmt: skip
            for r in range(i1 - i0):
                store(group, i0 + r, j, used, tile, r * columns)
