"""Ops whose elements come from computed places: concat, pad, gather, tile, iota.

Each gives the value at any position. Where the vector runs along an axis that the op does not touch, or lies whole
inside one input, it is one vector load; otherwise lane by lane. No load is ever made outside its input.
"""

from kernels.indexing import replace
from kernels.language import *


@inline
def moved(at, k, i):
    """The position `at` with index `i` at axis `k`."""
    return position(replace(at.index, k, i), width=at.width, axis=at.axis)


@inline
def filled(dt, value, width):
    """A vector of a number given as an attribute."""
    if dt.is_float:
        return splat(dt(float(value)), width)
    if dt.name == "bool":
        return splat(dt(value != 0), width)
    return splat(dt(int(value)), width)


@pointwise("mo.concat")
def concatenate(at, *xs, axis):
    """The inputs one after the other along `axis`."""
    some = tuple([x for x in xs if not (is_static(x.shape[axis]) and x.shape[axis] == 0)])
    xs = some if len(some) > 0 else xs[:1]
    if at.width == 1 or at.axis != axis:
        return choose_input(at, xs, axis, 0)
    return choose_whole(at, xs, axis, 0)


@inline
def extent(xs, axis):
    """The size of all inputs together along `axis`."""
    total = 0
    for x in unroll(xs):
        total = total + x.shape[axis]
    return total


@inline
def choose_input(at, xs, axis, start):
    """The value at `at` of the concatenation of `xs` that begins at `start`: halves are chosen until one is left."""
    if len(xs) == 1:
        return xs[0][moved(at, axis, at[axis] - start)]
    middle = len(xs) // 2
    border = start + extent(xs[:middle], axis)
    if at[axis] < border:
        value = choose_input(at, xs[:middle], axis, start)
    else:
        value = choose_input(at, xs[middle:], axis, border)
    return value


@inline
def choose_whole(at, xs, axis, start):
    """As choose_input, for a vector along `axis`: it goes lane by lane only where it crosses a border."""
    if len(xs) == 1:
        return xs[0][moved(at, axis, at[axis] - start)]
    middle = len(xs) // 2
    border = start + extent(xs[:middle], axis)
    if at[axis] + at.width <= border:
        value = choose_whole(at, xs[:middle], axis, start)
    elif at[axis] >= border:
        value = choose_whole(at, xs[middle:], axis, border)
    else:
        value = at.lanes(lambda one: choose_input(one, xs, axis, start))
    return value


@pointwise("mo.pad")
def pad(at, x: FusedInput, *, low, high, value):
    """x with low[k] elements of `value` before it and high[k] after it along each axis."""
    inside, touched = within(at, x, low, high)
    inner = position(tuple([at[k] - low[k] for k in range(x.rank)]), width=at.width, axis=at.axis)
    if not touched:
        return x[inner]
    outside = filled(x.dtype, value, at.width)
    if at.width == 1 or not pads(low[at.axis], high[at.axis]):
        if inside:
            result = x[inner]
        else:
            result = outside
        return result
    last = moved(at, at.axis, at[at.axis] + (at.width - 1))
    if inside & within(last, x, low, high)[0]:
        result = x[inner]
    else:
        result = at.lanes(lambda one: pad(one, x, low=low, high=high, value=value))
    return result


@inline
def pads(low, high):
    """Whether an axis gets any padding, as far as is known."""
    return not (is_static(low) and is_static(high) and low == 0 and high == 0)


@inline
def within(at, x, low, high):
    """Whether the first element at `at` is one of x's (a run-time value), and whether the op pads at all."""
    inside = True
    touched = False
    for k in unroll(x.rank):
        if pads(low[k], high[k]):
            here = (at[k] >= low[k]) & (at[k] < low[k] + x.shape[k])
            inside = (inside & here) if touched else here
            touched = True
    return inside, touched


@pointwise("mo.gather")
def gather(at, x: FusedInput, indices: FusedInput, *, axis):
    """np.take: x at `indices` along `axis`; negative indices count from the end, others are clamped to x."""
    last = axis + indices.rank
    if at.width > 1 and axis <= at.axis and at.axis < last:
        return at.lanes(lambda one: gather(one, x, indices, axis=axis))
    size = x.shape[axis]
    if is_static(size) and size == 0:
        return filled(x.dtype, 0, at.width)
    chosen = indices[position(at.index[axis:last])].cast(index)
    chosen = max(min(chosen + size if chosen < 0 else chosen, size - 1), 0)
    vector_axis = at.axis if at.axis < axis else at.axis - indices.rank + 1
    if at.width == 1:
        vector_axis = x.rank - 1
    source = position(at.index[:axis] + (chosen,) + at.index[last:], width=at.width, axis=vector_axis)
    if is_static(size):
        return x[source]
    if index(size) > 0:
        value = x[source]
    else:
        value = filled(x.dtype, 0, at.width)
    return value


@pointwise("mo.tile")
def tile(at, x: FusedInput, *, repeats):
    """x repeated repeats[k] times along axis k."""
    start = ()
    for k in unroll(x.rank):
        size = x.shape[k]
        if (is_static(repeats[k]) and repeats[k] == 1) or (is_static(size) and size == 0):
            start = start + (at[k],)
        else:
            start = start + (at[k] % size,)
    source = position(start, width=at.width, axis=at.axis)
    if at.width == 1 or (is_static(repeats[at.axis]) and repeats[at.axis] == 1):
        return x[source]
    if start[at.axis] + at.width <= x.shape[at.axis]:
        value = x[source]
    else:
        value = at.lanes(lambda one: tile(one, x, repeats=repeats))
    return value


@pointwise("mo.iota")
def count_along(at, *, shape, axis, dtype):
    """The index along `axis`, as a number."""
    if at.width > 1 and at.axis == axis:
        return (splat(index(at[axis]), at.width) + iota(index, at.width)).cast(dtype)
    return splat(index(at[axis]).cast(dtype), at.width)
