"""Rows that several reductions and the elementwise work around them go over in turn, as one kernel.

A phase is `(elements, shape, axes, kept, reductions, after, known)`: a walk over every element of a row.
`elements(at, kept, row)` computes the phase's values at a position of `shape`, given those of earlier phases and what
is known of the row, and returns a tuple. `kept` has for each of these values its dtype and what later phases want of
it: "keep" it, have it computed "again" because it is only a load, or "drop" it. `reductions` are `(which value, how,
dtype of the result)` over `axes`. `after(at, row)` then returns what follows from the results for the row as a whole,
of the dtypes `known`.
The last phase stores the elements, and is alone in that; `finish(at, row)` stores what the row comes to. Shapes of
phases may differ as long as they are cut into the same rows in the same order, each later one perhaps more finely.
`spare` is `(phase, which value, tensor)` or nothing: the value may be kept in that tensor, which the last phase stores.
`streams` says how many tensors each phase reads at full positions, where one reads several; `works`, whether `finish`
computes anything before it stores, which is then done for several rows at once.
Sums are taken in the order of the reductions' own kernels.
"""

from kernels.gpu_row_phases import gpu_row_phases
from kernels.indexing import along, delinearise, ends_in_one, interleave, product, without
from kernels.language import *
from kernels.parallel import share, split, strip_length
from kernels.rows import fit_width, fold, gathered, is_spared, registers, remainder, rest_width, vectors, widths_for

# The rows that are kept on the stack are at most this large together.
KEPT_BYTES = 65536
# As in kernels/reduce.py: so many vectors are combined before they go into the total,
BLOCK = 64
# and so many rows at a time where the last axis stays.
ROWS = 8
# Columns in a strip whose results wait for the next rows.
STRIP = 2048


@inline
def row_phases(phases, finish, *, spare=(), streams=(), works=False):
    """Go over all rows, phase by phase."""
    shape, axes = phases[0][1], phases[0][2]
    if target.is_gpu:
        gpu_row_phases(phases, finish, spare)
    elif all([ends_in_one(phase[1], phase[2]) for phase in phases]):
        # Vectors lie along the axis before.
        fewer = tuple([without_last(phase) for phase in phases])
        left = (spare[0], spare[1], spare[2].drop(spare[2].rank - 1, 0)) if len(spare) > 0 else ()
        row_phases(fewer, lambda at, row: finish(with_last(at), row), spare=left, streams=streams, works=works)
    elif len(shape) - 1 in axes:
        phases_along_rows(phases, finish, spare, works=works)
    else:
        phases_along_columns(phases, finish, spare, streams)


@inline
def with_last(at):
    """A position with the index of a last axis of one element."""
    return position(tuple(at.index) + (0,), width=at.width, axis=at.axis)


@inline
def without_last(phase):
    """A phase whose last axis has one element, as one that does not have that axis."""
    elements, shape, axes, kept, reductions, after, known = phase

    def inside(at, values, row):
        return elements(with_last(at), values, row)

    def behind(at, row):
        return after(with_last(at), row)

    return (inside, shape[:-1], axes, kept, reductions, behind, known)


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
def phases_along_rows(phases, finish, spare, *, works):
    """The last axis goes: threads share the rows, vectors run along the last axis."""
    size = kept_bytes(phases)
    keep = size > 0 and size <= KEPT_BYTES
    rows = without(phases[0][1], phases[0][2])
    stacks = [
        [stack(dt, row_length(phase) if keep and wanted == "keep" else 1) for dt, wanted in phase[3]]
        for phase in phases
    ]  # fmt: skip

    width = fit_width(rows[-1], registers(f32, count=4)) if works and len(rows) > 0 else 1

    def walk(item):
        return walk_row(phases, 0, stacks, () if keep else spare, item, (), keep=keep)

    def do(begin, end):
        if width == 1:
            for item in range(begin, end):
                finish(position(delinearise(item, rows)), walk(item))
        else:
            gathered(begin, end, rows, row_dtypes(phases), walk, finish, width=width)

    share(product(rows), row_length(phases[0]) * f32.bytes, do)


@inline
def row_dtypes(phases):
    """The dtypes of all that is known of a row in the end."""
    return tuple([dt for phase in phases for dt in tuple([dt for which, how, dt in phase[4]]) + phase[6]])


@inline
def walk_row(phases, p, stacks, spare, item, row, *, keep):
    """Phase `p` of one row and all later ones; what is known of the row in the end."""
    if p == len(phases):
        return row
    elements, shape, axes, kept, reductions, after, known = phases[p]
    lead = delinearise(item, without(shape, axes))
    outer = [shape[k] for k in axes[:-1]]
    last = shape[-1]

    def compute(r, i, w):
        at = along(interleave(axes[:-1], delinearise(r, outer), lead), i, w)
        values = elements(at, earlier(phases, p, stacks, spare, at, item, r * last + i, row, keep=keep), row)
        if is_spared(spare, p):
            spare[2][place_in_row(phases[-1], phases[p], at, item, r * last + i)] = spread_over(values[spare[1]], w)
        if keep:
            for k in unroll(len(kept)):
                if kept[k][1] == "keep":
                    # It may have one lane: what selects between two equal numbers of the row is one of them.
                    stacks[p][k].store(spread_over(values[k], w), r * last + i)
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
    return walk_row(phases, p + 1, stacks, spare, item, row, keep=keep)


@inline
def earlier(phases, p, stacks, spare, at, item, i, row, *, keep):
    """The values of the phases before `p` at element `i` of a row, which is `at`: from the stack, or computed again."""
    values = ()
    for q in unroll(p):
        elements, shape, axes, kept, reductions, after, known = phases[q]
        stored = [keep and wanted == "keep" for dt, wanted in kept]
        spared = [is_spared(spare, q) and spare[1] == k for k in range(len(kept))]
        asked = [wanted != "drop" for dt, wanted in kept]
        again = ()
        if any([a and not s and not t for a, s, t in zip(asked, stored, spared)]):
            again = elements(place_in_row(phases[q], phases[p], at, item, i), values, row)
        for k in unroll(len(kept)):
            if spared[k]:
                values = values + (spare[2][place_in_row(phases[-1], phases[p], at, item, i)],)
            elif stored[k]:
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
def one_lane(v, lane):
    """One lane of a value, which may have only one."""
    return v[lane] if v.width > 1 else v


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
            few = rest_width(n, width)
            for i in range(stop, n, few):
                values = compute(r, i, few)
                for lane in unroll(few):
                    single = combined_with(single, [one_lane(v, lane) for v in values], hows, reductions)
    totals = [fold(total, how[1]) for how, total in zip(hows, lanes)]
    if not exact:
        totals = [how[1](a, b) for how, a, b in zip(hows, totals, single)]
    count = rows * n
    return tuple([how[2](total, count).cast(dt) for total, how, (_, _, dt) in zip(totals, hows, reductions)])


@inline
def phases_along_columns(phases, finish, spare, streams):
    """The last axis stays: vectors lie along it, and every lane is a row of its own.

    Threads share strips of columns, which are walked row by row, so that memory is read in order; what is known of
    each column waits on the stack.
    """
    shape, axes = phases[0][1], phases[0][2]
    rows = without(shape, axes)
    n = rows[-1]
    width = fit_width(n, registers(f32, count=4))
    widths = widths_for(n, width)
    strip = strip_length(n, product(rows[:-1]), STRIP, width)
    strips = ceildiv(index(n), strip)
    sums = [[stack(dt.acc, STRIP) for which, how, dt in phase[4]] for phase in phases]
    many = [k < len(streams) and streams[k] > 1 for k in range(len(phases))]
    parts = [
        [stack(dt.acc, STRIP if turns else 1) for which, how, dt in phase[4]] for phase, turns in zip(phases, many)
    ]  # fmt: skip
    known = [[stack(dt, STRIP) for dt in tuple([dt for which, how, dt in phase[4]]) + phase[6]] for phase in phases]
    begin, end = split(strips * product(rows[:-1]))
    for item in range(begin, end):
        line = item // strips
        first = (item - line * strips) * strip
        used = min(n - first, strip)
        lead = delinearise(line, rows[:-1])
        for p in unroll(len(phases)):
            walk_columns(phases, p, sums, parts, known, spare, lead, first, used, widths, in_turn=many[p])

        def last(i, w):
            finish(along(lead, first + i, w), known_of(known, len(phases), i, w))

        vectors(0, used, widths, last)


@inline
def known_of(known, p, i, w):
    """What the phases before `p` found out about `w` columns."""
    return tuple([cell.load(i, width=w) for cells in known[:p] for cell in cells])


@inline
def combined_with(part, values, hows, reductions):
    """What some rows came to so far, and the values of one more."""
    return [how[1](a, values[which].cast(dt.acc)) for a, how, (which, _, dt) in zip(part, hows, reductions)]


@inline
def columns_in_turn(compute, sums, parts, hows, reductions, begin, end, used, widths):
    """Combine a block of rows, one after the other: as in kernels/reduce.py where several tensors are read."""

    def clear(i, w):
        for k in unroll(len(hows)):
            parts[k].store(splat(hows[k][0], w), i)

    vectors(0, used, widths, clear)
    for r in range(begin, end):

        def column(i, w):
            part = combined_with([cell.load(i, width=w) for cell in parts], compute(r, i, w), hows, reductions)
            for k in unroll(len(hows)):
                parts[k].store(part[k], i)

        vectors(0, used, widths, column)

    def add(i, w):
        for k in unroll(len(hows)):
            sums[k].store(hows[k][1](sums[k].load(i, width=w), parts[k].load(i, width=w)), i)

    vectors(0, used, widths, add)


@inline
def walk_columns(phases, p, sums, parts, known, spare, lead, first, used, widths, *, in_turn):
    """One phase of a strip of columns."""
    elements, shape, axes, kept, reductions, after, follows = phases[p]
    reduced = [shape[k] for k in axes]
    count = product(reduced)

    def compute(r, i, w):
        row = known_of(known, p, i, w)
        where = interleave(axes, delinearise(r, reduced), lead + (first + i,))
        at = position(where, width=w, axis=len(shape) - 1)
        values = elements(at, earlier(phases, p, (), spare, at, 0, 0, row, keep=False), row)
        if is_spared(spare, p):
            spare[2][at] = values[spare[1]]
        return values

    if len(reductions) == 0:
        for r in range(count):

            def store(i, w):
                compute(r, i, w)

            vectors(0, used, widths, store)
    else:
        hows = [how(dt.acc) for which, how, dt in reductions]

        def clear(i, w):
            for k in unroll(len(hows)):
                sums[p][k].store(splat(hows[k][0], w), i)

        vectors(0, used, widths, clear)
        for block in range(0, count, ROWS):
            end = min(block + ROWS, count)
            if in_turn:
                columns_in_turn(compute, sums[p], parts[p], hows, reductions, block, end, used, widths)
            else:

                def column(i, w):
                    part = [splat(how[0], w) for how in hows]
                    for r in range(block, end):
                        part = combined_with(part, compute(r, i, w), hows, reductions)
                    for k in unroll(len(hows)):
                        sums[p][k].store(hows[k][1](sums[p][k].load(i, width=w), part[k]), i)

                vectors(0, used, widths, column)

        def conclude(i, w):
            totals = [cell.load(i, width=w) for cell in sums[p]]
            found = tuple([how[2](a, count).cast(dt) for a, how, (_, _, dt) in zip(totals, hows, reductions)])
            found = found + after(along(lead, first + i, w), known_of(known, p, i, w) + found)
            for k in unroll(len(found)):
                known[p][k].store(spread_over(found[k], w), i)

        vectors(0, used, widths, conclude)
