"""Row kernels (kernels/row_phases.py) on a GPU.

A block takes a row, and its threads keep what fits in registers; or a strip of columns, which are read again.
"""

from kernels.gpu_blocks import combine_block, fitting_power
from kernels.gpu_driver import gpu_width
from kernels.indexing import delinearise, interleave, product, replace, without
from kernels.language import *
from kernels.rows import fold, is_spared

from .gpu_blocks import PROCESSORS

# The most elements of each value of a row that one thread keeps in registers, and the most bytes of all of them.
KEPT = 32
KEPT_BYTES = 256
# Threads of a block that takes columns, and how many elements each of them has on their way at once.
THREADS = 512
AHEAD = 4


@inline
def gpu_row_phases(phases, finish, spare):
    """Choose by whether the last axis goes."""
    shape, axes = phases[0][1], phases[0][2]
    if len(shape) - 1 in axes:
        gpu_phases_along_rows(phases, finish, spare)
    else:
        gpu_phases_along_columns(phases, finish, spare)


@inline
def phase_plan(phases):
    """(threads of the block, lanes of a vector, vectors that each thread keeps: 0 when rows are walked again)."""
    n = product([phases[0][1][k] for k in phases[0][2]])
    if not is_static(n) or n == 0:
        return 256, 1, 0
    narrowest = 4
    kept = 0
    last = n
    for phase in unroll(phases):
        last = min(last, phase[1][-1])
        for dt, wanted in unroll(phase[3]):
            narrowest = min(narrowest, dt.bytes)
            kept = kept + (0 if wanted == "drop" else dt.bytes)
    width = gpu_width(last, min(16 // narrowest, 8))
    threads = keeping_threads(n, width, kept, fitting_power(ceildiv(n, width * 4), target.warp, 512))
    if threads == 0:
        return fitting_power(ceildiv(n, 8), target.warp, 1024), 1, 0
    return threads, width, ceildiv(n, width * threads)


@inline
def keeping_threads(n, width, kept, threads):
    """The fewest threads, `threads` or more, that can keep a row of `n` elements, `kept` bytes each; 0 if none can.

    Threads beyond that would have nothing to do but wait for the others.
    """
    each = ceildiv(n, width * threads) * width
    if each <= KEPT and each * kept <= KEPT_BYTES:
        return threads
    return 0 if threads >= 1024 else keeping_threads(n, width, kept, threads * 2)


@inline
def gpu_phases_along_rows(phases, finish, spare):
    """A block for each row."""
    threads, width, count = phase_plan(phases)
    rows = without(phases[0][1], phases[0][2])
    launch(blocks=product(rows), threads=threads)
    if count > 0:
        row = walk_pieces(phases, 0, [() for _ in range(count)], (), threads=threads, width=width)
    else:
        row = walk_strided(phases, 0, spare, (), threads=threads)
    if thread_index() == 0:
        finish(row_position(phases, block_index()), row)


@inline
def element_of_row(phase, item, i, w):
    """The position of `w` elements from the i-th of a row on."""
    shape, axes = phase[1], phase[2]
    reduced = [shape[k] for k in axes]
    lead = delinearise(item, without(shape, axes))
    return position(interleave(axes, delinearise(i, reduced), lead), width=w, axis=len(shape) - 1)


@inline
def row_position(phases, item):
    """The position of a row among the rows."""
    return position(delinearise(item, without(phases[0][1], phases[0][2])))


@inline
def walk_pieces(phases, p, kept, row, *, threads, width):
    """Phase `p` and all later ones, every value of this thread's vectors in registers.

    A vector that lies behind the end of the row is the last one of the row again, and counts for nothing.
    """
    if p == len(phases):
        return row
    elements, shape, axes, dtypes, reductions, after, known = phases[p]
    n = product([shape[k] for k in axes])
    count = len(kept)
    places = [(thread_index() + j * threads) * width for j in range(count)]
    if len(reductions) == 0:
        for j in unroll(count):
            if (j + 1) * threads * width <= n:
                elements(element_of_row(phases[p], block_index(), places[j], width), kept[j], row)
            else:
                if places[j] < n:
                    elements(element_of_row(phases[p], block_index(), places[j], width), kept[j], row)
        return walk_pieces(phases, p + 1, kept, row, threads=threads, width=width)
    values = []
    for j in unroll(count):
        i = places[j]
        if (j + 1) * threads * width > n:
            i = min(i, index(n - width))
        values = values + [elements(element_of_row(phases[p], block_index(), i, width), kept[j], row)]
    for which, how, dt in unroll(reductions):
        start, combine, done, blocked = how(dt.acc)
        total = splat(start, width)
        for j in unroll(count):
            v = values[j][which].cast(dt.acc)
            if (j + 1) * threads * width > n:
                v = select(splat(places[j] < n, width), v, splat(start, width))
            total = combine(total, v)
        whole = combine_block(fold(total, combine), combine, threads=threads)
        row = row + (done(whole, n).cast(dt),)
    row = row + after(row_position(phases, block_index()), row)
    kept = [kept[j] + values[j] for j in range(count)]
    return walk_pieces(phases, p + 1, kept, row, threads=threads, width=width)


@inline
def computed_again(phases, p, spare, item, i, row):
    """The values of the phases before `p` at element `i` of a row; one of them may lie in the spare tensor."""
    values = ()
    for q in unroll(p):
        found = phases[q][0](element_of_row(phases[q], item, i, 1), values, row)
        if is_spared(spare, q):
            found = replace(found, spare[1], spare[2][element_of_row(phases[-1], item, i, 1)])
        values = values + found
    return values


@inline
def computed_here(phases, p, spare, item, i, row):
    """The values of phase `p` at element `i` of a row."""
    at = element_of_row(phases[p], item, i, 1)
    values = phases[p][0](at, computed_again(phases, p, spare, item, i, row), row)
    if is_spared(spare, p):
        spare[2][element_of_row(phases[-1], item, i, 1)] = values[spare[1]]
    return values


@inline
def walk_strided(phases, p, spare, row, *, threads):
    """Phase `p` and all later ones, rows read in each."""
    if p == len(phases):
        return row
    elements, shape, axes, dtypes, reductions, after, known = phases[p]
    n = product([shape[k] for k in axes])

    def compute(i):
        return computed_here(phases, p, spare, block_index(), i, row)

    if len(reductions) == 0:
        for i in range(thread_index(), n, threads):
            compute(i)
    else:
        hows = [how(dt.acc) for which, how, dt in reductions]
        sums = [how[0] for how in hows]
        for i in range(thread_index(), n, threads):
            values = compute(i)
            sums = [how[1](a, values[which].cast(dt.acc)) for a, how, (which, _, dt) in zip(sums, hows, reductions)]
        totals = [combine_block(a, how[1], threads=threads) for a, how in zip(sums, hows)]
        row = row + tuple([how[2](a, n).cast(dt) for a, how, (_, _, dt) in zip(totals, hows, reductions)])
        row = row + after(row_position(phases, block_index()), row)
    return walk_strided(phases, p + 1, spare, row, threads=threads)


@inline
def column_plan(phases):
    """(threads that lie side by side, groups of them that share the elements of a column).

    As many side by side as leave blocks for all processors, but no fewer than read whole sectors of memory; groups
    where a column has the elements for them.
    """
    n = product([phases[0][1][k] for k in phases[0][2]])
    columns = product(without(phases[0][1], phases[0][2]))
    side = 32
    if is_static(columns):
        side = fitting_power(ceildiv(columns, 2 * PROCESSORS), fitting_power(columns, 1, 8), 32)
    groups = THREADS // side
    if is_static(n):
        groups = fitting_power(ceildiv(n, 2 * AHEAD), 1, groups)
    return side, groups


@inline
def gpu_phases_along_columns(phases, finish, spare):
    """A strip of columns for each block. All of its threads come to every barrier: one whose column there is not has
    one without elements."""
    columns = product(without(phases[0][1], phases[0][2]))
    side, groups = column_plan(phases)
    launch(blocks=ceildiv(columns, side), threads=side * groups)
    item = block_index() * side + thread_index() % side
    all_exist = is_static(columns) and columns % side == 0
    exists = True if all_exist else item < columns
    column = item if all_exist else min(item, index(columns) - 1)
    row = walk_column(phases, 0, spare, column, exists, (), side=side, groups=groups)
    if (thread_index() < side) & exists:
        finish(row_position(phases, item), row)


@inline
def walk_column(phases, p, spare, item, exists, row, *, side, groups):
    """Phase `p` of one column and all later ones; this thread's elements are those of its group in each."""
    if p == len(phases):
        return row
    elements, shape, axes, dtypes, reductions, after, known = phases[p]
    n = product([shape[k] for k in axes])
    group = thread_index() // side
    last = select(exists, index(n), index(0))
    # Several are on their way at once, in as many whole rounds for all threads as the column has elements for.
    whole = last // (groups * AHEAD)
    rest = group + whole * (groups * AHEAD)

    def compute(i):
        return computed_here(phases, p, spare, item, i, row)

    if len(reductions) == 0:
        for round in range(whole):
            for u in unroll(AHEAD):
                compute(group + (round * AHEAD + u) * groups)
        for i in range(rest, last, groups):
            compute(i)
        return walk_column(phases, p + 1, spare, item, exists, row, side=side, groups=groups)
    hows = [how(dt.acc) for which, how, dt in reductions]
    sums = [how[0] for how in hows]
    for round in range(whole):
        found = [compute(group + (round * AHEAD + u) * groups) for u in range(AHEAD)]
        for u in unroll(AHEAD):
            sums = [how[1](a, found[u][which].cast(dt.acc)) for a, how, (which, _, dt) in zip(sums, hows, reductions)]
    for i in range(rest, last, groups):
        values = compute(i)
        sums = [how[1](a, values[which].cast(dt.acc)) for a, how, (which, _, dt) in zip(sums, hows, reductions)]
    totals = [combine_groups(a, how[1], side=side, groups=groups) for a, how in zip(sums, hows)]
    row = row + tuple([how[2](a, n).cast(dt) for a, how, (_, _, dt) in zip(totals, hows, reductions)])
    row = row + after(row_position(phases, item), row)
    return walk_column(phases, p + 1, spare, item, exists, row, side=side, groups=groups)


@inline
def combine_groups(v, combine, *, side, groups):
    """`v` of the same column in all groups, combined in their order; all threads get it. Each use has its own cells."""
    if groups == 1:
        return v
    cells = shared(v.dtype, (groups, side))
    column = thread_index() % side
    cells[thread_index() // side, column] = v
    barrier()
    total = cells[0, column]
    for other in range(1, groups):
        total = combine(total, cells[other, column])
    return total
