"""Sorting by merging runs, and scattering by looking updates up in the sorted list of their places.

Every stretch of a result is found by itself, by a search for where it begins: so threads share the work of one row.
"""

from kernels.indexing import delinearise, product
from kernels.language import *
from kernels.parallel import split

# So many elements of a merged row are made after one search for where they begin.
STRETCH = 16


@inline
def comes_before(a, b, descending):
    """Whether the key `a` comes before `b`, and is not equal to it; NaN is larger than any number."""
    if not a.dtype.is_float:
        return a > b if descending else a < b
    if descending:
        return (a > b) | ((a != a) & (b == b))
    return (a < b) | ((b != b) & (a == a))


@inline
def compared(v):
    """A key as it is compared: bools count as 0 and 1."""
    if v.dtype.name == "bool":
        return v.cast(u8)
    return v


@kernel("mo.merge_runs")
def merge_runs(out: FusedOutput, order: Tensor, keys: Tensor, run: Tensor, *, descending):
    """Neighbouring runs of `order`, each sorted by its keys, merged by twos."""
    n = order.shape[-1]
    length = run[0].cast(index)
    pieces = ceildiv(n, STRETCH)
    begin, end = split(product(order.shape[:-1]) * pieces)
    for item in range(begin, end):
        row = item // pieces
        lead = delinearise(row, order.shape[:-1])
        start = (item - row * pieces) * STRETCH
        stop = min(start + STRETCH, index(n))

        def place(i):
            return max(min(order[lead + (i,)].cast(index), index(n) - 1), index(0))

        def key(i):
            return compared(keys[lead + (place(i),)])

        k = start % (2 * length)  # how far into its pair of runs
        first = start - k
        middle = min(first + length, index(n))
        last = min(first + 2 * length, index(n))
        # How many of the first k come from the left run: as long as the left one's next is not after the right one's.
        left = max(k - (last - middle), index(0))
        most = min(k, middle - first)
        while left < most:
            i = (left + most) // 2
            taken = ~comes_before(key(middle + (k - 1 - i)), key(first + i), descending)
            left, most = select(taken, i + 1, left), select(taken, most, i)
        a = first + left
        b = middle + (k - left)
        for j in range(start, stop):
            if j == last:  # the next pair of runs
                first = j
                middle = min(first + length, index(n))
                last = min(first + 2 * length, index(n))
                a = first
                b = middle
            take = a < middle
            if (a < middle) & (b < last):
                take = ~comes_before(key(b), key(a), descending)
            chosen = select(take, a, b)
            out[position(lead + (j,))] = order[lead + (chosen,)].cast(out.dtype)
            a = select(take, a + 1, a)
            b = select(take, b, b + 1)


@inline
def combined(value, new, reduction):
    """What an update makes of a value."""
    if reduction == "add":
        return value + new
    if reduction == "mul":
        return value * new
    if reduction == "min":
        return min(value, new)
    if reduction == "max":
        return max(value, new)
    return new


@kernel("mo.scatter_sorted")
def scatter_sorted(out: FusedOutput, x: FusedInput, places: Tensor, order: Tensor, updates: Tensor, *, reduction):
    """Rows of x with the updates whose place is theirs, one after the other; `places` is sorted."""
    m = places.shape[0]
    width = x.shape[1]
    dt = x.dtype.acc
    begin, end = split(x.shape[0])
    for row in range(begin, end):
        low = index(0)
        high = index(m)
        while low < high:
            i = (low + high) // 2
            below = places[i].cast(index) < row
            low, high = select(below, i + 1, low), select(below, high, i)
        stop = low
        more = stop < index(m)
        while more:
            here = places[stop].cast(index) == row
            stop = select(here, stop + 1, stop)
            more = here & (stop < index(m))
        for c in range(width):
            value = x[row, c].cast(dt)
            for p in range(low, stop):
                number = max(min(order[p].cast(index), index(m) - 1), index(0))
                value = combined(value, updates[number, c].cast(dt), reduction)
            out[row, c] = value.cast(out.dtype)
