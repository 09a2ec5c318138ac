"""max_pool2d and avg_pool2d, NCHW. Windows are clipped to the image; padding counts only where avg_pool2d says so."""

from kernels.gpu_blocks import grid_thread
from kernels.indexing import delinearise, product
from kernels.language import *
from kernels.parallel import share
from kernels.reduce import larger, lowest
from kernels.rows import vectors

THREADS = 256
# Windows of more columns are computed one by one: loads of each column would be too much code.
MOST_TAPS = 8


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


@stored("mo.max_pool2d")
def operand_of_max_pool2d(x):
    """A processor takes as long to round an element to 16 bits as to compare it, for each window that it is in."""
    return not target.is_gpu and x.dtype.bits == 16


@stored("mo.avg_pool2d")
def operand_of_avg_pool2d(x):
    """As for max_pool2d."""
    return not target.is_gpu and x.dtype.bits == 16


@inline
def pool(out, x, kernel, stride, padding, dilation, start, combine, finish):
    """Combine each window from `start` on; `finish(value, count)` makes the result."""
    dt = start.dtype

    def window_at(image, c, i, j):
        """What one window comes to."""
        top, p0, p1 = window(i, x.shape[2], kernel[0], stride[0], padding[0], dilation[0])
        left, q0, q1 = window(j, x.shape[3], kernel[1], stride[1], padding[1], dilation[1])
        value = start
        for p in range(p0, p1):
            for q in range(q0, q1):
                tap = x[image, c, top + p * dilation[0], left + q * dilation[1]]
                value = combine(value, tap.cast(dt))
        out[image, c, i, j] = finish(value, (p1 - p0) * (q1 - q0)).cast(out.dtype)

    def windows_at(image, c, i, j, width):
        """Neighbouring windows whose columns all lie in the image."""
        top, p0, p1 = window(i, x.shape[2], kernel[0], stride[0], padding[0], dilation[0])
        value = splat(start, width)
        for p in range(p0, p1):
            for q in unroll(kernel[1]):
                where = (image, c, top + p * dilation[0], j * stride[1] - padding[1] + q * dilation[1])
                value = combine(value, every_nth_of_row(x, where, stride[1], width).cast(dt))
        count = splat(index((p1 - p0) * kernel[1]), width)
        out[position((image, c, i, j), width=width, axis=3)] = finish(value, count).cast(out.dtype)

    if target.is_gpu:
        pool_by_threads(out, window_at)
    else:
        pool_rows(out, x, kernel, stride, padding, dilation, dt, window_at, windows_at)


@inline
def pool_by_threads(out, window_at):
    """A thread has one window, neighbouring threads have neighbouring ones."""
    launch(blocks=ceildiv(out.size, THREADS), threads=THREADS)
    worker, workers = grid_thread()
    if worker < out.size:
        window_at(*delinearise(worker, out.shape))


@inline
def pool_rows(out, x, kernel, stride, padding, dilation, dt, window_at, windows_at):
    """Threads share output rows; where the columns of windows lie in the image, there are several in a vector."""
    lanes = target.simd(dt)
    by_vectors = stride[1] <= 2 and kernel[1] <= MOST_TAPS
    # Of windows that skip a column what lies behind the last one is loaded, too.
    reach = (kernel[1] - 1) * dilation[1] + stride[1] - 1 - padding[1]

    def do(begin, end):
        for item in range(begin, end):
            image, c, i = delinearise(item, out.shape[:3])

            def one(j, width):
                window_at(image, c, i, j)

            def several(j, width):
                if width > 1:
                    windows_at(image, c, i, j, width)
                else:
                    window_at(image, c, i, j)

            n = out.shape[3]
            if by_vectors:
                first = min(ceildiv(padding[1], stride[1]), n)
                last = max(min(ceildiv(max(x.shape[3] - reach, 0), stride[1]), n), first)
                vectors(0, first, (1,), one)
                vectors(first, last, (lanes, lanes // 4, 1) if lanes > 4 else (lanes, 1), several)
                vectors(last, n, (1,), one)
            else:
                vectors(0, n, (1,), one)

    share(product(out.shape[:3]), out.shape[3] * kernel[0] * kernel[1] * dt.bytes, do)


@inline
def every_nth_of_row(x, where, step, width):
    """So many elements of a row that are `step` (1 or 2) apart; what lies between them is loaded, too."""
    both = x[position(where, width=width * step, axis=x.rank - 1)]
    return both if step == 1 else shuffle(both, both, tuple([step * k for k in range(width)]))
