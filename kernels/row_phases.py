"""Rows that several reductions and the elementwise work around them go over in turn, as one kernel.

A phase is `(elements, shape, axes, kept, reductions, after)`: a walk over every element of a row.
`elements(at, kept, row)` computes the phase's values at a position of `shape`, given those of earlier phases and what
is known of the row, and returns a tuple. `kept` has for each of these values its dtype and what later phases want of
it: "keep" it, have it computed "again" because it is only a load, or "drop" it. `reductions` are `(which value, how,
dtype of the result)` over `axes`. `after(at, row)` then returns what follows from the results for the row as a whole.
The last phase stores the elements, and is alone in that; `finish(at, row)` stores what the row comes to. Shapes of
phases may differ as long as they are cut into the same rows in the same order, each later one perhaps more finely.
Sums are taken in the order of the reductions' own kernels.
"""

from kernels.gpu_row_phases import gpu_row_phases
from kernels.indexing import along, delinearise, interleave, product, without
from kernels.language import *
from kernels.parallel import split
from kernels.rows import fit_width, fold, registers, remainder, vectors, widths_for

# The rows that are kept on the stack are at most this large together.
KEPT_BYTES = 65536
# As in kernels/reduce.py: so many vectors are combined before they go into the total,
BLOCK = 64
# and so many rows at a time where the last axis stays.
ROWS = 8


@inline
def row_phases(phases, finish):
    """Go over all rows, phase by phase."""
    shape, axes = phases[0][1], phases[0][2]
    if target.is_gpu:
        gpu_row_phases(phases, finish)
    elif len(shape) - 1 in axes:
        phases_along_rows(phases, finish)
    else:
        phases_along_columns(phases, finish)


@inline
def no_more(at, row):
    """Nothing follows for the row from the results of a phase."""
    return ()


@inline
def nothing_left(at, row):
    """Nothing of the row as a whole is stored."""


@inline
def spread_over(v, width):
    """A value of one lane in all lanes of a position."""
    return v if v.width == width else splat(v, width)


@inline
def row_length(phase):
    """The number of elements of a row."""
    return product([phase[1][k] for k in phase[2]])


@inline
def kept_bytes(phases):
    """The bytes of one row of everything that is worth keeping; -1 where rows have no known length."""
    total = 0
    for phase in unroll(phases):
        n = row_length(phase)
        if not is_static(n):
            return -1
        for dt, wanted in unroll(phase[3]):
            if wanted == "keep":
                total = total + n * dt.bytes
    return total


@inline
def phases_along_rows(phases, finish):
    """The last axis goes: threads share the rows, vectors run along the last axis."""
    size = kept_bytes(phases)
    keep = size > 0 and size <= KEPT_BYTES
    rows = without(phases[0][1], phases[0][2])
    stacks = [
        [stack(dt, row_length(phase) if keep and wanted == "keep" else 1) for dt, wanted in phase[3]]
        for phase in phases
    ]  # fmt: skip
    begin, end = split(product(rows))
    for item in range(begin, end):
        row = walk_row(phases, 0, stacks, item, (), keep=keep)
        finish(position(delinearise(item, rows)), row)


@inline
def walk_row(phases, p, stacks, item, row, *, keep):
    """Phase `p` of one row and all later ones; what is known of the row in the end."""
    if p == len(phases):
        return row
    elements, shape, axes, kept, reductions, after = phases[p]
    lead = delinearise(item, without(shape, axes))
    outer = [shape[k] for k in axes[:-1]]
    last = shape[-1]

    def compute(r, i, w):
        at = along(interleave(axes[:-1], delinearise(r, outer), lead), i, w)
        values = elements(at, earlier(phases, p, stacks, at, item, r * last + i, row, keep=keep), row)
        if keep:
            for k in unroll(len(kept)):
                if kept[k][1] == "keep":
                    stacks[p][k].store(values[k], r * last + i)
        return values

    if len(reductions) == 0:
        width = fit_width(last, registers(f32, count=4))
        for r in range(product(outer)):

            def store(i, w):
                compute(r, i, w)

            vectors(0, last, widths_for(last, width), store)
    else:
        row = row + reduce_values(compute, product(outer), last, reductions)
        row = row + after(position(delinearise(item, without(phases[0][1], phases[0][2]))), row)
    return walk_row(phases, p + 1, stacks, item, row, keep=keep)


@inline
def earlier(phases, p, stacks, at, item, i, row, *, keep):
    """The values of the phases before `p` at element `i` of a row, which is `at`: from the stack, or computed again."""
    values = ()
    for q in unroll(p):
        elements, shape, axes, kept, reductions, after = phases[q]
        stored = [keep and wanted == "keep" for dt, wanted in kept]
        asked = [wanted != "drop" for dt, wanted in kept]
        again = ()
        if any([a and not s for a, s in zip(asked, stored)]):
            again = elements(place_in_row(phases[q], phases[p], at, item, i), values, row)
        for k in unroll(len(kept)):
            if stored[k]:
                values = values + (stacks[q][k].load(i, width=at.width),)
            elif asked[k]:
                values = values + (again[k],)
            else:
                values = values + (None,)
    return values


@inline
def place_in_row(phase, other, at, item, i):
    """The position in a phase's shape of element `i` of a row, which is `at` in another phase's."""
    if phase[1] == other[1]:
        return at
    shape, axes = phase[1], phase[2]
    last = shape[-1]
    r = i // last
    upper = interleave(
        axes[:-1], delinearise(r, [shape[k] for k in axes[:-1]]), delinearise(item, without(shape, axes))
    )
    return along(upper, i - r * last, at.width)


@inline
def reduce_values(compute, rows, n, reductions):
    """The results of all reductions of a phase, as kernels/reduce.py takes them; one walk where widths agree."""
    hows = [how(dt.acc) for which, how, dt in reductions]
    widths = [fit_width(n, registers(dt.acc, count=4)) for which, how, dt in reductions]
    width = widths[0]
    for other in unroll(widths):
        width = min(width, other)
    exact = is_static(n % width) and n % width == 0
    short = is_static(n) and n <= BLOCK * width and is_static(rows) and rows * n <= BLOCK * width
    blocked = any([how[3] for how in hows]) and not short

    def combined(sums, r, i, w):
        values = compute(r, i, w)
        return [
            how[1](total, values[which].cast(dt.acc))
            for total, how, (which, _, dt) in zip(sums, hows, reductions)
        ]  # fmt: skip

    lanes = [splat(how[0], width) for how in hows]
    single = [how[0] for how in hows]
    for r in range(rows):
        stop = n if exact else n - remainder(n, width)
        if blocked:
            for block in range(0, stop, BLOCK * width):
                part = [splat(how[0], width) for how in hows]
                for i in range(block, min(block + BLOCK * width, stop), width):
                    part = combined(part, r, i, width)
                lanes = [how[1](a, b) for how, a, b in zip(hows, lanes, part)]
        else:
            for i in range(0, stop, width):
                lanes = combined(lanes, r, i, width)
        if not exact:
            for i in range(stop, n):
                single = combined(single, r, i, 1)
    totals = [fold(total, how[1]) for how, total in zip(hows, lanes)]
    if not exact:
        totals = [how[1](a, b) for how, a, b in zip(hows, totals, single)]
    count = rows * n
    return tuple([how[2](total, count).cast(dt) for total, how, (_, _, dt) in zip(totals, hows, reductions)])


@inline
def phases_along_columns(phases, finish):
    """The last axis stays: vectors lie along it, and every lane is a row of its own; nothing is kept."""
    shape, axes = phases[0][1], phases[0][2]
    rows = without(shape, axes)
    n = rows[-1]
    width = fit_width(n, registers(f32, count=2))
    blocks = ceildiv(n, width)
    begin, end = split(product(rows[:-1]) * blocks)
    for item in range(begin, end):
        line = item // blocks
        first = (item - line * blocks) * width
        lead = delinearise(line, rows[:-1])

        def column(i, w):
            row = walk_columns(phases, 0, lead, i, w, ())
            finish(along(lead, i, w), row)

        vectors(first, min(first + width, n), widths_for(n, width), column)


@inline
def walk_columns(phases, p, lead, i, w, row):
    """Phase `p` of `w` neighbouring columns and all later ones."""
    if p == len(phases):
        return row
    elements, shape, axes, kept, reductions, after = phases[p]
    reduced = [shape[k] for k in axes]
    count = product(reduced)

    def compute(r):
        at = position(interleave(axes, delinearise(r, reduced), lead + (i,)), width=w, axis=len(shape) - 1)
        return elements(at, earlier(phases, p, (), at, 0, 0, row, keep=False), row)

    if len(reductions) == 0:
        for r in range(count):
            compute(r)
    else:
        hows = [how(dt.acc) for which, how, dt in reductions]
        total = [splat(how[0], w) for how in hows]
        for block in range(0, count, ROWS):
            part = [splat(how[0], w) for how in hows]
            for r in range(block, min(block + ROWS, count)):
                values = compute(r)
                part = [how[1](a, values[which].cast(dt.acc)) for a, how, (which, _, dt) in zip(part, hows, reductions)]
            total = [how[1](a, b) for how, a, b in zip(hows, total, part)]
        row = row + tuple([how[2](a, count).cast(dt) for a, how, (_, _, dt) in zip(total, hows, reductions)])
        row = row + after(along(lead, i, w), row)
    return walk_columns(phases, p + 1, lead, i, w, row)
