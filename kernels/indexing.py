"""Index arithmetic that kernels of any rank share: sizes, index tuples how they are taken apart and put together."""

from kernels.language import *


@inline
def product(shape):
    """The number of elements of a shape."""
    total = 1
    for size in unroll(shape):
        total = total * size
    return total


@inline
def length_of(size):
    """A size to count with: the number where it is known, else a position."""
    return size if is_static(size) else index(size)


@inline
def delinearise(i, shape):
    """The index tuple of the `i`-th element of `shape`, in row-major order."""
    if len(shape) == 0:
        return ()
    if len(shape) == 1:
        return (i,)
    if is_static(shape[-1]) and shape[-1] <= 1:
        return delinearise(i, shape[:-1]) + (0,)
    if is_static(shape[0]) and shape[0] == 1:
        return (0,) + delinearise(i, shape[1:])
    row = i // shape[-1]
    return delinearise(row, shape[:-1]) + (i - row * shape[-1],)


@inline
def replace(items, k, value):
    """The tuple with its `k`-th item exchanged for `value`."""
    return items[:k] + (value,) + items[k + 1 :]


@inline
def without(shape, axes):
    """What is left of a tuple when the items at `axes` are taken out."""
    return tuple([shape[k] for k in range(len(shape)) if k not in axes])


@inline
def interleave(axes, inside, outside):
    """One tuple with the items of `inside` at `axes`, and those of `outside`, in order, at the other places."""
    whole = ()
    taken = 0
    for k in unroll(len(inside) + len(outside)):
        if k in axes:
            whole = whole + (inside[taken],)
            taken = taken + 1
        else:
            whole = whole + (outside[k - taken],)
    return whole


@inline
def along(lead, i, width):
    """The position of `width` elements from `i` on along the last axis, in the row that `lead` names."""
    return position(lead + (i,), width=width, axis=len(lead))


@inline
def fix_leading(x, lead):
    """The view of `x` in which the first axes have the indices `lead`."""
    if len(lead) == 0:
        return x
    return fix_leading(x.drop(0, lead[0]), lead[1:])


@inline
def matrix_at(x, lead):
    """The matrix of the last two axes at the leading indices `lead`; one that lies in memory stays a tensor."""
    if x.is_strided and len(lead) > 0:
        return strided(x.flat, x.shape[-2:], x.strides[-2:], x.place(*lead, 0, 0))
    return fix_leading(x, lead)


@inline
def ends_in_one(shape, axes):
    """Whether the last axis of several stays and has one element."""
    return len(shape) > 1 and len(shape) - 1 not in axes and is_static(shape[-1]) and shape[-1] == 1
