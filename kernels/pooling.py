"""max_pool2d and avg_pool2d, NCHW. Windows are clipped to the image; padding counts only where avg_pool2d says so."""

from kernels.indexing import delinearise, product
from kernels.language import *
from kernels.parallel import split
from kernels.reduce import larger, lowest


@kernel("mo.max_pool2d")
def max_pool2d(out: FusedOutput, x: FusedInput, *, kernel, stride, padding, dilation):
    """The largest value of each window; NaN if there is one."""
    start = lowest(x.dtype.acc)
    pool(out, x, kernel, stride, padding, dilation, start, larger, lambda v, count: v)


@kernel("mo.avg_pool2d")
def avg_pool2d(out: FusedOutput, x: FusedInput, *, kernel, stride, padding, count_include_pad):
    """The mean of each window."""
    dt = out.dtype.acc

    def mean(total, count):
        if count_include_pad:
            return total / dt(float(kernel[0] * kernel[1]))
        return total / count.cast(dt)

    pool(out, x, kernel, stride, padding, (1, 1), dt(0), lambda a, b: a + b, mean)


@inline
def window(i, size, kernel, stride, padding, dilation):
    """The first input of window `i` along one axis (maybe before the image), and which taps lie inside the image."""
    first = i * stride - padding
    begin = ceildiv(max(-first, 0), dilation)
    end = min(ceildiv(max(size - first, 0), dilation), kernel)
    return first, begin, max(begin, end)


@inline
def pool(out, x, kernel, stride, padding, dilation, start, combine, finish):
    """Combine each window from `start` on; `finish(value, count)` makes the result. Threads share output rows."""
    dt = start.dtype
    begin, end = split(product(out.shape[:3]))
    for item in range(begin, end):
        image, c, i = delinearise(item, out.shape[:3])
        top, p0, p1 = window(i, x.shape[2], kernel[0], stride[0], padding[0], dilation[0])
        for j in range(out.shape[3]):
            left, q0, q1 = window(j, x.shape[3], kernel[1], stride[1], padding[1], dilation[1])
            value = start
            for p in range(p0, p1):
                for q in range(q0, q1):
                    tap = x[image, c, top + p * dilation[0], left + q * dilation[1]]
                    value = combine(value, tap.cast(dt))
            out[image, c, i, j] = finish(value, (p1 - p0) * (q1 - q0)).cast(out.dtype)
