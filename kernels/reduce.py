"""Reductions over any set of axes: sum, mean, max, min, prod."""

from kernels.gpu_reduce import nvidia_reduce
from kernels.gpu_rows import gpu_reduce
from kernels.indexing import along, delinearise, ends_in_one, interleave, product, without
from kernels.language import *
from kernels.parallel import share, split, strip_length
from kernels.rows import accumulate, fit_width, fold, gathered, registers, streams, vectors, widths_for

# A reduction to few values is cut into this many parts a value; fixed, so the result does not depend on the threads.
PARTS = 64
FEW = 16
# As in kernels/rows.py: so many vectors are combined before they go into the total.
BLOCK = 64
# Reducing columns: rows combined at a time, and bytes of results that wait for the next rows.
ROWS = 8
STRIP_BYTES = 16384


@kernel("mo.reduce_sum")
def reduce_sum(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    """The sum over `axes`."""
    reduce_with(out, x, partial, axes, sum_of)


@kernel("mo.reduce_mean")
def reduce_mean(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    """The sum over `axes`, divided by the number of elements."""
    reduce_with(out, x, partial, axes, mean_of)


@kernel("mo.reduce_max")
def reduce_max(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    """The largest value over `axes`; NaN if there is one."""
    reduce_with(out, x, partial, axes, largest_of)


@kernel("mo.reduce_min")
def reduce_min(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    """The smallest value over `axes`; NaN if there is one."""
    reduce_with(out, x, partial, axes, smallest_of)


@kernel("mo.reduce_prod")
def reduce_prod(out: FusedOutput, x: FusedInput, partial: Workspace[out.dtype.acc, 1024], *, axes):
    """The product over `axes`."""
    reduce_with(out, x, partial, axes, product_of)


# What each reduction does: (where it starts, how two values combine, what becomes of the value of n elements, whether
# partial results are kept apart for the rounding errors). Kernels that reduce rows among other work go by these too.


@reduction("mo.reduce_sum")
def sum_of(dt):
    """a + b."""
    return dt(0), lambda a, b: a + b, lambda v, n: v, True


@reduction("mo.reduce_mean")
def mean_of(dt):
    """a + b, divided by the number at the end."""
    return dt(0), lambda a, b: a + b, divided, True


@reduction("mo.reduce_max")
def largest_of(dt):
    """The larger one."""
    return lowest(dt), larger, lambda v, n: v, False


@reduction("mo.reduce_min")
def smallest_of(dt):
    """The smaller one."""
    return highest(dt), smaller, lambda v, n: v, False


@reduction("mo.reduce_prod")
def product_of(dt):
    """a * b."""
    return dt(1), lambda a, b: a * b, lambda v, n: v, True


@inline
def divided(v, n):
    """The mean, from the sum of n elements."""
    return v / index(n).cast(v.dtype)


@inline
def lowest(dt):
    """The value no other is below."""
    if dt.is_float:
        return dt(-dt.inf)
    if dt.name == "bool":
        return dt(False)
    return dt(dt.min)


@inline
def highest(dt):
    """The value no other is above."""
    if dt.is_float:
        return dt(dt.inf)
    if dt.name == "bool":
        return dt(True)
    return dt(dt.max)


@inline
def larger(a, b):
    """The larger of two, lane by lane; NaN if one is."""
    if a.dtype.name == "bool":
        return a | b
    return max(a, b)


@inline
def smaller(a, b):
    """The smaller of two, lane by lane; NaN if one is."""
    if a.dtype.name == "bool":
        return a & b
    return min(a, b)


@inline
def reduce_with(out, x, partial, axes, reduction):
    """Combine the elements over `axes` as a reduction says."""
    start, combine, finish, blocked = reduction(out.dtype.acc)
    count = product([x.shape[k] for k in axes])

    def store(where, value):
        out[where] = finish(value, count).cast(out.dtype)

    few = is_static(out.size) and out.size <= FEW
    small = is_static(x.size) and x.size <= PARTS * BLOCK
    if len(axes) == 0:
        copy_elements(out, x, start.dtype, store)
    elif target.is_nvidia:
        nvidia_reduce(x, axes, start, combine, store)
    elif target.is_gpu:
        gpu_reduce(out, x, axes, start, combine, store)
    elif ends_in_one(x.shape, axes):
        # Vectors lie along the axis before.
        reduce_with(out.reshape(out.shape[:-1]), x.drop(x.rank - 1, 0), partial, axes, reduction)
    elif x.rank - 1 not in axes:
        reduce_columns(x, axes, start, combine, store)
    elif few and not small:
        reduce_in_parts(x, partial, axes, start, combine, store, blocked=blocked)
    else:
        # What is fused behind it is done for several results at once; plain results are stored as they come.
        plain = len(out.writes) > 0 or out.rank == 0
        width = 1 if plain else fit_width(out.shape[-1], registers(start.dtype, count=4))
        reduce_rows(x, axes, start, combine, store, blocked=blocked, width=width)


@inline
def copy_elements(out, x, dt, store):
    """A reduction over no axis: each element is its own result."""
    begin, end = split(out.size)
    for i in range(begin, end):
        where = position(delinearise(i, out.shape))
        store(where, x[where].cast(dt))


@inline
def reduce_columns(x, axes, start, combine, store):
    """The last axis stays: vectors lie along it. Threads share strips of it, whose results wait on the stack.

    A block of rows is combined at a time, so that errors of sums stay small: in registers where one tensor is read;
    several in as many rows would be more places at once than a processor reads ahead in.
    """
    kept = without(x.shape, axes)
    reduced = [x.shape[k] for k in axes]
    count = product(reduced)
    n = kept[-1]
    width = fit_width(n, registers(start.dtype, count=choice("registers", 8, (2, 4))))
    widths = widths_for(n, width)
    # What is done once a column need not have the widest loop as well where nobody knows how many columns there are.
    once = widths if is_static(n) or len(widths) < 3 else widths[1:]
    one_by_one = streams(x) > 1
    longest = choice("strip bytes", STRIP_BYTES, (4096, 32768)) // start.dtype.bytes
    results = stack(start.dtype, longest)
    parts = stack(start.dtype, longest if one_by_one else 1)
    strip = strip_length(n, product(kept[:-1]), longest, width)
    strips = ceildiv(index(n), strip)
    begin, end = split(strips * product(kept[:-1]))
    for item in range(begin, end):
        row = item // strips
        first = (item - row * strips) * strip
        used = min(n - first, strip)
        lead = delinearise(row, kept[:-1])

        def clear(i, w):
            results.store(splat(start, w), i)

        def element(r, i, w):
            where = interleave(axes, delinearise(r, reduced), lead + (first + i,))
            return x[position(where, width=w, axis=x.rank - 1)].cast(start.dtype)

        vectors(0, used, once, clear)
        for block in range(0, count, ROWS):
            if one_by_one:
                combine_in_turn(parts, results, start, combine, element, block, min(block + ROWS, count), used, widths)
            else:

                def column(i, w):
                    part = splat(start, w)
                    for r in range(block, min(block + ROWS, count)):
                        part = combine(part, element(r, i, w))
                    results.store(combine(results.load(i, width=w), part), i)

                vectors(0, used, widths, column)

        def finish(i, w):
            store(along(lead, first + i, w), results.load(i, width=w))

        vectors(0, used, once, finish)


@inline
def combine_in_turn(parts, results, start, combine, element, begin, end, used, widths):
    """Combine a block of rows into `results`, one row after the other; what they come to waits in `parts`."""

    def clear(i, w):
        parts.store(splat(start, w), i)

    vectors(0, used, widths, clear)
    for r in range(begin, end):

        def column(i, w):
            parts.store(combine(parts.load(i, width=w), element(r, i, w)), i)

        vectors(0, used, widths, column)

    def add(i, w):
        results.store(combine(results.load(i, width=w), parts.load(i, width=w)), i)

    vectors(0, used, widths, add)


@inline
def row_width(n, dt):
    """How much of a row of `n` is combined at a time."""
    return fit_width(n, registers(dt, count=choice("registers", 4, (2, 8))))


@inline
def reduce_region(x, axes, start, combine, lead, rows, columns, *, blocked):
    """One value from part of the elements that go into result `lead`.

    `rows` is a range of the reduced axes but the last, taken as one, and `columns` a range of the last axis.
    """
    n = x.shape[-1]
    width = row_width(n, start.dtype)
    exact = is_static(n % width) and n % width == 0
    outer_axes = axes[:-1]
    outer = [x.shape[k] for k in outer_axes]
    short = is_static(n) and n <= BLOCK * width and is_static(product(outer)) and product(outer) * n <= BLOCK * width
    lanes = splat(start, width)
    single = start
    for r in range(rows[0], rows[1]):
        upper = interleave(outer_axes, delinearise(r, outer), lead)

        def load(i, w):
            return x[along(upper, i, w)].cast(start.dtype)

        lanes, single = accumulate(
            columns[0], columns[1], width, start, load, combine, lanes, single,
            exact=exact, blocked=blocked and not short, ordered=blocked,
        )  # fmt: skip
    if exact:
        return fold(lanes, combine)
    return combine(fold(lanes, combine), single)


@inline
def reduce_rows(x, axes, start, combine, store, *, blocked, width):
    """The last axis goes: vectors run along it; threads share the results, and hand on `width` of them at a time."""
    kept = without(x.shape, axes)
    rows = product([x.shape[k] for k in axes[:-1]])

    def value(item):
        lead = delinearise(item, kept)
        return reduce_region(x, axes, start, combine, lead, (0, rows), (0, x.shape[-1]), blocked=blocked)

    def do(begin, end):
        if width == 1:
            for item in range(begin, end):
                store(position(delinearise(item, kept)), value(item))
        else:

            def one(item):
                return (value(item),)

            gathered(begin, end, kept, (start.dtype,), one, lambda at, found: store(at, found[0]), width=width)

    share(product(kept), rows * x.shape[-1] * x.dtype.bytes, do)


@inline
def reduce_in_parts(x, partial, axes, start, combine, store, *, blocked):
    """Few results from many elements: threads share parts of each, and the parts are combined after a barrier."""
    kept = without(x.shape, axes)
    rows = index(product([x.shape[k] for k in axes[:-1]]))
    n = x.shape[-1]
    # Rows are shared first; where they are fewer than the parts, each is cut too, at multiples of a vector.
    down = max(min(rows, PARTS), 1)
    across = PARTS // down
    width = row_width(n, start.dtype)
    span = ceildiv(ceildiv(n, width), across) * width
    begin, end = split(product(kept) * PARTS)
    for item in range(begin, end):
        part = item % PARTS
        i = part // across
        j = part - i * across
        value = start
        if i < down:
            first = min(j * span, index(n))
            value = reduce_region(
                x, axes, start, combine, delinearise(item // PARTS, kept),
                (i * rows // down, (i + 1) * rows // down), (first, min(first + span, index(n))), blocked=blocked,
            )  # fmt: skip
        partial[item] = value
    barrier()
    begin, end = split(product(kept))
    for item in range(begin, end):
        value = fold(partial.load(item * PARTS, width=PARTS), combine)
        store(position(delinearise(item, kept)), value)
