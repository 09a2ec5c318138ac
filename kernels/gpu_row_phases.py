"""Row kernels (kernels/row_phases.py) on a GPU: a block takes a row, and its threads keep what fits in registers."""

from kernels.gpu_blocks import combine_block, fitting_power
from kernels.gpu_driver import gpu_width
from kernels.indexing import delinearise, interleave, product, replace, without
from kernels.language import *
from kernels.row_phases import is_spared
from kernels.rows import fold

# The most elements of each value of a row that one thread keeps in registers, and the most bytes of all of them.
KEPT = 32
KEPT_BYTES = 256


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
    threads = fitting_power(ceildiv(n, width * 4), target.warp, 512)
    count = ceildiv(n, width * threads)
    if count * width > KEPT or count * width * kept > KEPT_BYTES:
        threads = 1024
        count = ceildiv(n, width * threads)
    if count * width > KEPT or count * width * kept > KEPT_BYTES:
        return fitting_power(ceildiv(n, 8), target.warp, 1024), 1, 0
    return threads, width, count


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
def gpu_phases_along_columns(phases, finish, spare):
    """A thread for each column."""
    rows = without(phases[0][1], phases[0][2])
    launch(blocks=ceildiv(product(rows), 128), threads=128)
    item = block_index() * 128 + thread_index()
    if item < product(rows):
        row = walk_column(phases, 0, spare, item, ())
        finish(row_position(phases, item), row)


@inline
def walk_column(phases, p, spare, item, row):
    """Phase `p` of one column and all later ones."""
    if p == len(phases):
        return row
    elements, shape, axes, dtypes, reductions, after, known = phases[p]
    n = product([shape[k] for k in axes])

    def compute(i):
        return computed_here(phases, p, spare, item, i, row)

    if len(reductions) == 0:
        for i in range(n):
            compute(i)
    else:
        hows = [how(dt.acc) for which, how, dt in reductions]
        sums = [how[0] for how in hows]
        for i in range(n):
            values = compute(i)
            sums = [how[1](a, values[which].cast(dt.acc)) for a, how, (which, _, dt) in zip(sums, hows, reductions)]
        row = row + tuple([how[2](a, n).cast(dt) for a, how, (_, _, dt) in zip(sums, hows, reductions)])
        row = row + after(row_position(phases, item), row)
    return walk_column(phases, p + 1, spare, item, row)
