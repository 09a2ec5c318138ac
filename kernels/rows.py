"""Loops over one row of elements: vectors first, then what does not fill a vector; and combining a row to one value.

Wide vectors stand for several registers, so that one copy of the loop's body keeps several accumulators going.
"""

from kernels.indexing import along, delinearise
from kernels.language import *

# Partial results are folded into the total every BLOCK vectors, so that rounding errors of long sums stay small.
BLOCK = 64
# Vectors of results that wait for what follows from them: enough that the first have long been stored.
GATHERED = 4
# A row of known length is kept on the stack up to this size, so that what is fused into its loads is computed once.
ROW_BYTES = 16384


@inline
def registers(dt, *, count):
    """The lanes of `count` vector registers of the type that `dt` is computed in."""
    return target.simd(dt.acc) * count


@inline
def fit_width(n, widest):
    """The widest vector for rows of `n`: a power of two, at most `widest`, at most `n` where that is known."""
    if widest == 1 or not is_static(n) or n >= widest:
        return widest
    return fit_width(n, widest // 2)


@inline
def widths_for(n, widest):
    """The vector widths that cover rows of `n` elements one after the other, as few as do it well."""
    width = fit_width(n, widest)
    rest = n % width
    if width == 1 or (is_static(rest) and rest == 0):
        return (width,)
    if is_static(rest) and rest < 4:
        return (width, 1)
    if is_static(rest):
        return (width,) + widths_for(rest, width // 2)
    if width > 8:
        return (width, width // 4, 1)
    return (width, 1)


@inline
def remainder(n, width):
    """`n` modulo `width`, a power of two."""
    if is_static(n):
        return n % width
    return index(n) & (width - 1)


@inline
def vectors(begin, end, widths, body):
    """Call body(i, width) for vectors that cover begin..end (begin <= end) once, the widest first.

    The last of `widths` has to divide what the others leave.
    """
    stop = end
    if len(widths) > 1:
        stop = end - remainder(end - begin, widths[0])
    for i in range(begin, stop, widths[0]):
        body(i, widths[0])
    if len(widths) > 1:
        vectors(stop, end, widths[1:], body)


@inline
def fold(v, combine):
    """All lanes of `v` combined to one, by halves."""
    if v.width == 1:
        return v
    half = v.width // 2
    if half == 1:
        return combine(v[0], v[1])
    low = shuffle(v, v, tuple(range(half)))
    return fold(combine(low, shuffle(v, v, tuple(range(half, v.width)))), combine)


@inline
def transposed(rows, *, step):
    """The columns of a square of as many vectors as they have lanes, by exchanging ever larger blocks."""
    count = len(rows)
    if step == count:
        return rows
    low = tuple([j if j // step % 2 == 0 else count + j - step for j in range(count)])
    high = tuple([j + step if j // step % 2 == 0 else count + j for j in range(count)])
    exchanged = [
        shuffle(rows[i], rows[i + step], low) if i // step % 2 == 0 else shuffle(rows[i - step], rows[i], high)
        for i in range(count)
    ]
    return transposed(exchanged, step=step * 2)


@inline
def streams(x):
    """How many tensors x is known to read at its own positions: in as many places it goes through memory at once."""
    if x.is_strided:
        return 1
    found = 0
    for source in unroll(x.reads):
        if source.rank == x.rank:
            found = found + streams(source)
    return max(found, 1)


@inline
def larger_of(a, b):
    """The larger of two, either of them where one is NaN: for who finds NaN by other means. x86 does that at once."""
    return select(a > b, a, b) if target.simd_bytes > 16 else max(a, b)


@inline
def rest_width(n, width):
    """The lanes in which what `width` leaves of `n` can be loaded: a power of two that divides it; 1 if unknown."""
    if not is_static(n) or n % width == 0:
        return 1
    if width > 1 and n % (width // 2) == 0:
        return width // 2
    return rest_width(n, width // 2)


@inline
def accumulate(begin, end, width, start, load, combine, lanes, single, *, exact=False, blocked=True, ordered=True):
    """Combine load(i, w) for begin..end into `lanes` (whole vectors) and `single` (the rest; none when `exact`).

    The rest is combined in turn, so that sums have the same bits however it is loaded; unless the order is known not
    to matter.
    """
    stop = end
    if not exact:
        stop = end - remainder(end - begin, width)
    if blocked:
        for block in range(begin, stop, BLOCK * width):
            part = splat(start, width)
            for i in range(block, min(block + BLOCK * width, stop), width):
                part = combine(part, load(i, width))
            lanes = combine(lanes, part)
    else:
        for i in range(begin, stop, width):
            lanes = combine(lanes, load(i, width))
    if not exact:
        few = rest_width(end - begin, width)
        for i in range(stop, end, few):
            v = load(i, few)
            if few == 1 or not ordered:
                single = combine(single, fold(v, combine))
            else:
                for lane in unroll(few):
                    single = combine(single, v[lane])
    return lanes, single


@inline
def reduce_row(n, width, start, load, combine, *, ordered=True):
    """One value: load(i, w) for all of 0..n, combined; `start` is what combining does not change."""
    exact = is_static(n % width) and n % width == 0
    short = is_static(n) and n <= BLOCK * width
    lanes, single = accumulate(
        0, n, width, start, load, combine, splat(start, width), start,
        exact=exact, blocked=ordered and not short, ordered=ordered,
    )  # fmt: skip
    if exact:
        return fold(lanes, combine)
    return combine(fold(lanes, combine), single)


@inline
def gathered(begin, end, shape, dtypes, results, hand_on, *, width):
    """Call hand_on(at, values) for vectors of the items begin..end of `shape`, whose values come one at a time from
    results(item), a tuple of such dtypes."""
    room = GATHERED * width
    cells = [stack(dt, room) for dt in dtypes]
    first = index(begin)
    while first < end:
        lead = delinearise(first, shape)
        count = min(min(end - first, room), shape[-1] - lead[-1])  # a vector does not go on into the next line
        for k in range(count):
            values = results(first + k)
            for j in unroll(len(cells)):
                cells[j].store(values[j], k)

        def next_ones(k, w):
            hand_on(along(lead[:-1], lead[-1] + k, w), tuple([cell.load(k, width=w) for cell in cells]))

        vectors(0, count, widths_for(count, width), next_ones)
        first = first + count


@inline
def fits_stack(n, dt, *, most=ROW_BYTES):
    """Whether a row of `n` is known to be small enough to keep on the stack."""
    return is_static(n) and n > 0 and n * dt.bytes <= most


@inline
def is_spared(spare, p):
    """Whether a value of phase `p` of a row (kernels/row_phases.py) is kept in the spare tensor."""
    return len(spare) > 0 and spare[0] == p
