"""Convolutions and pools over any number of axes, with unequal padding: made of the two-dimensional ones and slices.

Images are (N, C, spatial...). `pads` is a pair (before, after) for each spatial axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.dims import Dim, ceildiv
from compiler.graph.dtypes import dtype_info, numpy_dtype
from compiler.graph.types import Size
from compiler.graph.value import Value
from compiler.importers.compose.places import as_number

Pads = Sequence[tuple[int, int]]
_MOST_WINDOW = 4096  # elements of a window that is unrolled


def padded(x: Value, pads: Pads, value: Any = 0) -> Value:
    """Padding around the spatial axes."""
    if all(p == (0, 0) for p in pads):
        return x
    return ops.pad(x, [(0, 0), (0, 0), *[tuple(p) for p in pads]], constant_values=value)


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    return numbers[0], numbers[1]


def conv(x: Value, w: Value, bias: Value | None, stride: Sequence[int], pads: Pads, dilation: Sequence[int],
         groups: int) -> Value:  # fmt: skip
    """A convolution over one, two or three axes."""
    spatial = x.rank - 2
    if spatial == 1:
        made = conv(ops.expand_dims(x, 2), ops.expand_dims(w, 2), bias, (1, *stride), [(0, 0), *pads], (1, *dilation),
                    groups)  # fmt: skip
        return ops.squeeze(made, 2)
    if spatial == 2:
        same = all(low == high for low, high in pads)
        image = x if same else padded(x, pads)
        padding = (pads[0][0], pads[1][0]) if same else (0, 0)
        return ops.conv2d(image, w, bias, _pair(stride), padding, _pair(dilation), groups)
    if spatial != 3:
        raise GraphError(f"a convolution over {spatial} axes; one, two and three are known")
    return _conv3d(padded(x, [pads[0], (0, 0), (0, 0)]), w, bias, stride, pads, dilation, groups)


def _conv3d(x: Value, w: Value, bias: Value | None, stride: Sequence[int], pads: Pads, dilation: Sequence[int],
            groups: int) -> Value:  # fmt: skip
    """The sum over the window's depth of convolutions of planes; depth is padded already."""
    depth = w.shape[2]
    if isinstance(depth, Dim) or depth > _MOST_WINDOW:
        raise GraphError("a convolution's window must have a known size")
    length = (x.shape[2] - dilation[0] * (depth - 1) - 1) // stride[0] + 1

    def layer(at: int) -> Value:
        planes = _strided(x, 2, at * dilation[0], stride[0], length)
        flat = ops.reshape(ops.swapaxes(planes, 1, 2), (x.shape[0] * length, x.shape[1], *x.shape[3:]))
        return conv(flat, w[:, :, at], None, stride[1:], pads[1:], dilation[1:], groups)

    total = reduce(ops.add, map(layer, range(depth)))
    apart = ops.reshape(total, (x.shape[0], length, *total.shape[1:]))
    result = ops.swapaxes(apart, 1, 2)
    return result if bias is None else ops.add(result, ops.reshape(bias, (w.shape[0], 1, 1, 1)))


def _strided(x: Value, axis: int, start: int, step: int, length: Size) -> Value:
    stop = start + (length - 1) * step + 1
    return ops.slice(x, [start], [stop], [step], [axis])


def conv_transpose(x: Value, w: Value, bias: Value | None, stride: Sequence[int], pads: Pads, dilation: Sequence[int],
                   groups: int, extra: Sequence[int]) -> Value:  # fmt: skip
    """The transpose of a convolution: x spread apart by the stride, convolved with the window turned around.

    `w` is (C, O / groups, window...); `extra` is added after each axis.
    """
    spatial = x.rank - 2
    kernel = [_known(k) for k in w.shape[2:]]
    wide = x
    for at in range(spatial):
        wide = spread(wide, at + 2, stride[at])
    channels, out = w.shape[0], w.shape[1]
    turned = ops.flip(w, axis=tuple(range(2, w.rank)))
    turned = ops.reshape(turned, (groups, channels // groups, out, *w.shape[2:]))
    turned = ops.reshape(ops.swapaxes(turned, 1, 2), (groups * out, channels // groups, *w.shape[2:]))
    edges = []
    for at in range(spatial):
        span = dilation[at] * (kernel[at] - 1)
        low, high = span - pads[at][0], span - pads[at][1] + extra[at]
        wide, low = _cropped(wide, at + 2, low, True)
        wide, high = _cropped(wide, at + 2, high, False)
        edges.append((low, high))
    return conv(padded(wide, edges), turned, bias, [1] * spatial, [(0, 0)] * spatial, dilation, groups)


def _known(size: Size) -> int:
    if isinstance(size, Dim):
        raise GraphError("a window must have a known size")
    return size


def spread(x: Value, axis: int, step: int) -> Value:
    """step - 1 zeros between neighbours along an axis."""
    if step == 1:
        return x
    size = x.shape[axis]
    apart = ops.expand_dims(x, axis + 1)
    widths = [(0, 0)] * apart.rank
    widths[axis + 1] = (0, step - 1)
    wide = ops.reshape(ops.pad(apart, widths), (*x.shape[:axis], size * step, *x.shape[axis + 1 :]))
    return ops.slice(wide, [0], [size * step - (step - 1)], axes=[axis])


def _cropped(x: Value, axis: int, pad: int, before: bool) -> tuple[Value, int]:
    """A negative padding cuts off instead."""
    if pad >= 0:
        return x, pad
    bounds = ([-pad], [None]) if before else ([0], [pad])
    return ops.slice(x, *bounds, axes=[axis]), 0


def same_pads(sizes: Sequence[Size], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
              upper: bool) -> list[tuple[int, int]]:  # fmt: skip
    """The padding that gives ceil(size / stride) windows, the odd one after (upper) or before."""
    pads = []
    for size, k, s, d in zip(sizes, kernel, stride, dilation, strict=True):
        if isinstance(size, Dim):
            if s != 1:
                raise GraphError("padding 'same' with a stride needs a known size")
            total = d * (k - 1)
        else:
            total = max((-(-size // s) - 1) * s + d * (k - 1) + 1 - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if upper else (more, less))
    return pads


def ceil_pads(sizes: Sequence[Size], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
              pads: Pads) -> list[tuple[int, int]]:  # fmt: skip
    """The padding with which the last window, which begins inside the image or its first padding, is whole."""
    grown = []
    for size, k, s, d, (low, high) in zip(sizes, kernel, stride, dilation, pads, strict=True):
        span = d * (k - 1) + 1
        if isinstance(size, Dim):
            raise GraphError("ceil_mode needs a known size")
        count = ceildiv(size + low + high - span, s) + 1
        assert isinstance(count, int)
        if (count - 1) * s >= size + low:
            count -= 1
        grown.append((low, max(high, (count - 1) * s + span - size - low)))
    return grown


def windows(x: Value, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Iterator[Value]:
    """For each place in the window what lies under it, everywhere."""
    if math.prod(kernel) > _MOST_WINDOW:
        raise GraphError(f"a window of {math.prod(kernel)} elements is too large to unroll")
    lengths = []
    for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation, strict=True):
        length = (size - d * (k - 1) - 1) // s + 1
        if isinstance(length, int) and length < 1:
            raise GraphError(f"a window of {d * (k - 1) + 1} does not fit in a size of {size}")
        lengths.append(length)
    for offsets in itertools.product(*(range(k) for k in kernel)):
        part = x
        for at, (offset, s, d) in enumerate(zip(offsets, stride, dilation, strict=True)):
            part = _strided(part, at + 2, offset * d, s, lengths[at])
        yield part


def max_pool(x: Value, kernel: Sequence[int], stride: Sequence[int], pads: Pads, dilation: Sequence[int]) -> Value:
    """The largest in each window."""
    plain = len(kernel) == 2 and all(low == high and 2 * low <= k for (low, high), k in zip(pads, kernel, strict=True))
    if plain:
        return ops.max_pool2d(x, _pair(kernel), _pair(stride), (pads[0][0], pads[1][0]), _pair(dilation))
    return reduce(ops.maximum, windows(_padded_low(x, pads), kernel, stride, dilation))


def _padded_low(x: Value, pads: Pads) -> Value:
    """Padding that never wins."""
    if all(p == (0, 0) for p in pads):
        return x
    if dtype_info(x.dtype).kind == "f":
        return padded(x, pads, float("-inf"))
    return padded(x, pads, int(np.iinfo(numpy_dtype(x.dtype)).min))


def max_pool_places(x: Value, kernel: Sequence[int], stride: Sequence[int], pads: Pads, dilation: Sequence[int],
                    by_column: bool) -> Value:  # fmt: skip
    """Where the largest of each window is, as an index into the flat input."""
    shape = x.shape
    order = [0, 1, *reversed(range(2, x.rank))] if by_column else list(range(x.rank))
    flat: Any = None
    width: Size = 1
    for axis in reversed(order):
        part = ops.mul(ops.iota(shape, axis), as_number(width))
        flat, width = part if flat is None else ops.add(flat, part), width * shape[axis]
    values = ops.stack(list(windows(_padded_low(x, pads), kernel, stride, dilation)), 0)
    places = ops.stack(list(windows(padded(flat, pads, -1), kernel, stride, dilation)), 0)
    best = ops.argmax(values, axis=0, keepdims=True)
    number = ops.reshape(ops.iota((values.shape[0],)), (values.shape[0], *(1,) * x.rank))
    return ops.sum(ops.where(ops.equal(number, best), places, 0), axis=0)


def sum_pool(x: Value, kernel: Sequence[int], stride: Sequence[int], pads: Pads, dilation: Sequence[int]) -> Value:
    """The sum of each window."""
    return reduce(ops.add, windows(padded(x, pads), kernel, stride, dilation))


def average_pool(x: Value, kernel: Sequence[int], stride: Sequence[int], pads: Pads, dilation: Sequence[int],
                 counted: Pads | None) -> Value:  # fmt: skip
    """The mean of each window; of the padding only `counted` counts, none where it is None."""
    plain = (
        len(kernel) == 2
        and all(d == 1 for d in dilation)
        and all(low == high and 2 * low <= k for (low, high), k in zip(pads, kernel, strict=True))
    )
    if plain and (counted is None or list(counted) == list(pads)):
        return ops.avg_pool2d(
            x, _pair(kernel), _pair(stride), (pads[0][0], pads[1][0]), count_include_pad=counted is not None
        )
    inside = ops.ones((1, 1, *x.shape[2:]), x.dtype)
    rest = list(pads)
    if counted is not None:
        inside = padded(inside, counted, 1)
        rest = [(low - a, high - b) for (low, high), (a, b) in zip(pads, counted, strict=True)]
    total = sum_pool(x, kernel, stride, pads, dilation)
    return ops.div(total, sum_pool(inside, kernel, stride, rest, dilation))


def adaptive_bounds(size: int, count: int) -> list[tuple[int, int]]:
    """Where each of `count` windows over `size` elements begins and ends."""
    return [(at * size // count, -(-(at + 1) * size // count)) for at in range(count)]


def adaptive_average(x: Value, sizes: Sequence[int]) -> Value:
    """Means of so many windows along the last axes, by a product with a table of weights on each."""
    first = x.rank - len(sizes)
    for at, count in enumerate(sizes):
        axis, size = first + at, x.shape[first + at]
        if count == 1:
            x = ops.mean(x, axis=axis, keepdims=True)
            continue
        if isinstance(size, Dim):
            raise GraphError("adaptive pooling needs a known size")
        table = np.zeros((size, count), np.float64)
        for column, (start, stop) in enumerate(adaptive_bounds(size, count)):
            table[start:stop, column] = 1 / (stop - start)
        moved = ops.matmul(ops.moveaxis(x, axis, -1), ops.constant(table, x.dtype))
        x = ops.moveaxis(moved, -1, axis)
    return x


def put_back(
    x: Value, image: Sequence[int], block: Sequence[int], stride: Sequence[int], dilation: Sequence[int],
    pads: Sequence[int],
) -> Value:  # fmt: skip
    """Blocks (N, C * block, places) added up where they came from: an image (N, C, ...)."""
    count = len(image)
    steps, whole = [], []
    for at in range(count):
        room = image[at] + pads[at] + pads[count + at]
        whole.append(room)
        steps.append((room - dilation[at] * (block[at] - 1) - 1) // stride[at] + 1)
    window = math.prod(block)
    if window > _MOST_WINDOW or not isinstance(x.shape[1], int):
        raise GraphError(f"a block of {window} elements is too large to unroll")
    channels = x.shape[1] // window
    apart = ops.reshape(x, (x.shape[0], channels, window, *steps))

    def moved(number: int, offsets: tuple[int, ...]) -> Value:
        part = apart[:, :, number]
        for at, offset in enumerate(offsets):
            part = spread(part, at + 2, stride[at])
            low = offset * dilation[at]
            widths: list[Any] = [(0, 0)] * part.rank
            widths[at + 2] = (low, whole[at] - low - int(part.shape[at + 2]))  # type: ignore[arg-type]
            part = ops.pad(part, widths)
        return part

    total = reduce(ops.add, itertools.starmap(moved, enumerate(np.ndindex(*block))))
    return ops.slice(total, [0, 0, *pads[:count]], [None, None, *[low + size for low, size in zip(pads, image)]])
