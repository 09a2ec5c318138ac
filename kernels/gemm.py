"""The blocked matrix product that matmul, convolution and attention share.

Operands are copied ("packed") into panels on the stack in the order in which the inner loop reads them, in the type
that is accumulated in, with zeros past the edges. The inner loop keeps a tile of the result in registers. Finished
rows are handed to a `store` function from a buffer, so that what is fused behind the product exists once.
"""

from kernels.language import *
from kernels.parallel import parts_wanted, piece_at, pieces_of, share
from kernels.rows import transposed, vectors, widths_for

# How much of the inner dimension one panel holds, and the bytes of B's panels: they stay in the second-level cache.
DEPTH = 512
PANEL_BYTES = 524288
COLUMNS = 1024
# Where columns are cut so that threads can take them in turns, a piece has so many tiles at least.
FINE_TILES = 3
# Rows of the result that wait on the stack for the next part of the inner dimension.
WAITING_ROWS = 256
# Of so many columns that three vectors to a tile come to, others must save one to be faster.
WORTH = 20
# Register tiles to choose from, where their sums and a row of B leave room for a value of A.
TILES = ((4, 2), (4, 3), (4, 4), (6, 2), (6, 3), (6, 4), (8, 1), (8, 2), (8, 3), (12, 2))


@inline
def most_columns():
    """The most columns of B that pack_b is ever asked for at a time."""
    return COLUMNS


@inline
def register_tile(m, n, dt):
    """Rows, and vectors a row, of the tile that is kept in registers.

    AVX-512 has wide vectors: two of them cut matrices more evenly than three, and are as fast. With short vectors three
    are faster, but for few columns that four or two cut more evenly.
    """
    rows, columns = (8, 3) if target.registers >= 32 else (6, 2)
    if target.simd_bytes == 64:
        columns = 2
    if columns == 3 and is_static(n):
        lanes = target.simd(dt)
        for r, c in unroll(((4, 4), (8, 2))):
            if WORTH * round_up(n, c * lanes) <= (WORTH - 1) * round_up(n, columns * lanes):
                rows, columns = r, c
    most_rows, most_columns = 12, 4
    if is_static(m):
        most_rows = max(m, 1)
    if is_static(n):
        most_columns = max(ceildiv(n, target.simd(dt)), 1)
    tiles = TILES
    if most_rows < 12 or most_columns < 4 or target.registers < 32:
        tiles = [(r, c) for r, c in TILES if r <= most_rows and c <= most_columns and (r + 1) * c < target.registers]
    return choice("register tile", (min(rows, most_rows), min(columns, most_columns)), tiles)


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
def loads_lanes():
    """Whether products take a lane of a register; elsewhere each value of a column is loaded by itself."""
    return target.simd_bytes == 16


@inline
def load_column(panel, start, *, rows):
    """The `rows` values that tile_product multiplies with a row of the other side.

    Where products take a lane of a register they are loaded as one; elsewhere broadcast loads are cheaper.
    """
    if loads_lanes() and (rows == 8 or rows == 4 or rows == 2):
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

        def scatter(k, w):
            v = element(k, x, w, 0)
            for lane in unroll(w):
                panel[start + (k + lane) * width + x] = v[lane] if w > 1 else v

        if turns_squares(source, width, lanes):
            # What does not fill a square is scattered.
            turned, whole = count - count % lanes, valid - valid % lanes
            for x in range(0, whole, lanes):
                for k in range(0, turned, lanes):
                    square = transposed([element(k, x + lane, lanes, 0) for lane in range(lanes)], step=1)
                    for lane in unroll(lanes):
                        panel.store(square[lane], start + (k + lane) * width + x)
            for x in range(valid):
                vectors(select(x < whole, turned, index(0)), count, (lanes, 1), scatter)
        else:
            for x in range(valid):
                vectors(0, count, (lanes, 1), scatter)
        clear_columns(panel, start, count, valid, width)
    elif valid == width:
        for k in range(count):

            def copy(x, w):
                panel.store(element(k, x, w, 1), start + k * width + x)

            vectors(0, width, widths_for(width, lanes), copy)
    else:
        for k in range(count):
            for x in range(valid):
                panel[start + k * width + x] = element(k, x, 1, 1)
        clear_columns(panel, start, count, valid, width)


@inline
def packs_rows(source, width, lanes, along):
    """Whether vectors are loaded along axis 1 of the source, the one that is contiguous in a panel."""
    if source.is_contiguous(1) and not source.is_contiguous(0):
        return True
    if along == 0 or source.is_contiguous(0):
        return width % lanes == 0 and source.is_contiguous(1)
    return width % lanes == 0


@inline
def turns_squares(source, width, lanes):
    """Whether a panel is filled by turning squares in registers: where scattering a vector takes long."""
    return not loads_lanes() and lanes > 1 and width % lanes == 0 and source.is_contiguous(0)


@inline
def fill_panels(panels, source, k0, count, x0, columns, width, *, along):
    """Panels of `width` for `columns` columns of the source; each as fill_panel makes it, one after the other."""
    lanes = target.simd(panels.dtype)
    whole = index(0)
    if packs_rows(source, width, lanes, along):
        # Whole rows are read at a time, which the memory likes better than columns of a panel's width.
        whole = max(min(source.shape[1] - x0, columns), 0) // width  # never below: so that no sign is looked at
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


@inline
def reads_in_place(a, dt):
    """Whether rows of A are multiplied where they lie: packing is for nothing where single values are loaded anyway."""
    # Not is_contiguous(), which is also true of a row that repeats one value.
    return not loads_lanes() and a.is_strided and a.dtype == dt and is_unit(a.strides[a.rank - 1])


@outlined
def multiply_panels(
    tile, a, start, step, last, b_panels, panels, count, first, stride, fresh, *, rows, across, in_place, resumes
):
    """Rows of A times each panel of columns, into the rows of `tile` from `first` on, `stride` apart.

    A function of its own: all products of a type share it, whatever their sizes and whatever is fused to them.
    With `resumes` sums go on from what `tile` holds unless they are `fresh` (not 0). A is a panel, or (`in_place`) a
    matrix whose row r begins at a[start + r * step]; behind row `last` that one is taken again.
    """
    dt = tile.dtype
    lanes = target.simd(dt)
    width = across * lanes
    starts = [start + min(index(r), last) * step for r in range(rows if in_place else 0)]
    for p in range(panels):

        def left(k):
            if in_place:
                return [a[starts[r] + k] for r in range(rows)]
            return load_column(a, k * rows, rows=rows)

        def right(k):
            return [b_panels.load((p * count + k) * width + v * lanes, width=lanes) for v in range(across)]

        acc = [zeros(dt, lanes) for _ in range(rows * across)]
        if resumes and fresh == 0:
            acc = load_tile(tile, first + p * width, stride, lanes, rows=rows, columns=across)
        acc = tile_product(acc, count, left, right, rows=rows, columns=across)
        store_tile(tile, acc, first + p * width, stride, lanes, rows=rows, columns=across)


@inline
def round_up(n, multiple):
    """The next multiple."""
    return ceildiv(n, multiple) * multiple


@outlined
def rows_left(rows, most):
    """The rows that are done together. Of a number that LLVM can bound it makes as many copies of what follows."""
    return min(rows, most)


@inline
def gemm(m, n, k, groups, dt, pack_a, pack_b, store, *, rows_of_a=None, copy_rows=None, many=True, fine=False):
    """`groups` independent products of m x k by k x n matrices in type dt.

    pack_a(group, panel, i, rows, k0, count): rows i..i+rows of A, columns k0..k0+count, as panel[k * rows + r].
    pack_b(group, panels, j, columns, k0, count, width): rows k0.. and columns j..j+columns of B, as panels of `width`
        columns: panels[(p * count + k) * width + x].
    store(group, i, j, columns, tile, start): tile[start..start+columns] is row i of the result, from column j on.
    rows_of_a(group): A itself, where reads_in_place() is true of it; then pack_a is not called.
    copy_rows(group, panel, i, rows, k0, count, pitch): as pack_a, but as panel[r * pitch + k]; called in place of it
        where single values are loaded anyway.
    many: whether a model mostly has several such products, which then share what they can, at the cost of one alone.
    fine: whether packing few columns at a time costs little, so that threads can take many small pieces in turns.
    """
    lanes = target.simd(dt)
    rows, across = register_tile(m, n, dt)
    width = across * lanes
    all_of_k = is_static(k) and k <= DEPTH
    depth = choice(
        "depth", max(k, 1) if all_of_k else DEPTH // 2,
        [d for d in (128, 256, 512) if not is_static(k) or d < k] + ([k] if is_static(k) and 512 < k <= 1024 else []),
    )  # fmt: skip
    whole = is_static(k) and k <= depth
    # Columns are cut where whole vectors of two registers end.
    unit = width if across % 2 == 0 else 2 * width
    columns = max(min(PANEL_BYTES // (depth * dt.bytes), COLUMNS) // unit, 1) * unit
    if is_static(n) and round_up(n, unit) <= columns:
        columns = max(round_up(n, unit), unit)
    columns = choice("columns", columns, [c // unit * unit for c in (128, 256, 512) if unit <= c < columns])
    waiting = rows if whole else round_up(choice("waiting rows", WAITING_ROWS, (64, 128)), rows)
    if is_static(m):
        waiting = min(waiting, max(round_up(m, rows), rows))
    copied = rows_of_a is None and copy_rows is not None and not loads_lanes()
    in_place, resumes = rows_of_a is not None or copied, many or not whole
    a_panel = stack(dt, 1 if in_place and not copied else depth * rows)
    b_panels = stack(dt, depth * columns)
    tile = stack(dt, waiting * columns)

    row_tiles, column_tiles = max(ceildiv(index(m), rows), 1), index(max(ceildiv(n, unit), 1))
    down, column_pieces = pieces_of(
        row_tiles, column_tiles, index(groups), thread_count(), index(rows), index(unit), index(columns)
    )
    if fine and is_static(groups) and groups == 1:
        wanted = select((down == 1) & (thread_count() > 1), parts_wanted(), index(1))
        column_pieces = max(column_pieces, min(column_tiles // FINE_TILES, wanted))
    row_pieces = down
    if not whole:
        row_pieces = down * ceildiv(ceildiv(row_tiles, down) * rows, waiting)

    def do(begin, end):
        for item in range(begin, end):
            group, i0, i1, j, used = piece_at(
                item, row_pieces, column_pieces, row_tiles, column_tiles, index(rows), index(unit), index(m), index(n)
            )
            panels = index(ceildiv(used, width))
            for k0 in range(0, max(k, 1), depth):
                count = min(k - k0, depth)
                pack_b(group, b_panels, j, used, k0, count, width)
                for i in range(i0, i1, rows):
                    first = index(0) if whole else (i - i0) * columns
                    left = (a_panel, index(0), index(0), index(0))
                    if copied:
                        copy_rows(group, a_panel, i, min(i1 - i, index(rows)), k0, count, depth)
                        left = (a_panel, index(0), index(depth), index(i1 - i - 1))
                    elif in_place:
                        a = rows_of_a(group)
                        left = (a.flat, index(a.place(i, k0)), index(a.strides[0]), index(i1 - i - 1))
                    else:
                        pack_a(group, a_panel, i, rows, k0, count)
                    fresh = index(1) if whole else select(k0 == 0, index(1), index(0))
                    multiply_panels(
                        tile, *left, b_panels, panels, index(count), first, index(columns), fresh,
                        rows=rows, across=across, in_place=in_place, resumes=resumes,
                    )  # fmt: skip
                    if True if whole else k0 + depth >= k:
                        for r in range(rows_left(i1 - i, index(rows))):
                            store(group, i + r, j, used, tile, first + r * columns)

    share(row_pieces * groups * column_pieces, None, do)
