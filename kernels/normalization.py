"""layer_norm and rms_norm over the last axis. Means come first and deviations second, which keeps them accurate."""

from kernels.gpu_rows import gpu_normalise_rows
from kernels.indexing import along, delinearise, product
from kernels.language import *
from kernels.parallel import share
from kernels.rows import fit_width, fits_stack, reduce_row, registers, vectors, widths_for


@kernel("mo.layer_norm")
def layer_norm(out: FusedOutput, x: FusedInput, weight: FusedInput, bias: FusedInput, *, eps):
    """(x - mean) / sqrt(variance + eps) * weight + bias."""
    dt = out.dtype.acc

    def scale(i, w, v):
        return v * weight[along((), i, w)].cast(dt) + bias[along((), i, w)].cast(dt)

    normalise(out, x, eps, scale, centred=True)


@kernel("mo.rms_norm")
def rms_norm(out: FusedOutput, x: FusedInput, weight: FusedInput, *, eps):
    """x / sqrt(mean of x squared + eps) * weight."""
    dt = out.dtype.acc

    def scale(i, w, v):
        return v * weight[along((), i, w)].cast(dt)

    normalise(out, x, eps, scale, centred=False)


@inline
def normalise(out, x, eps, scale, *, centred):
    """Choose by the target."""
    if target.is_gpu:
        gpu_normalise_rows(out, x, eps, scale, centred=centred)
    else:
        normalise_rows(out, x, eps, scale, centred=centred)


@inline
def normalise_rows(out, x, eps, scale, *, centred):
    """Each row less its mean (if `centred`), over the root of its mean square, through `scale(i, width, value)`."""
    dt = out.dtype.acc
    n = x.shape[-1]
    width = fit_width(n, registers(dt, count=4))
    kept = fits_stack(n, dt)
    row = stack(dt, n if kept else 1)
    count = index(n).cast(dt)

    def do(begin, end):
        for item in range(begin, end):
            lead = delinearise(item, x.shape[:-1])

            def load(i, w):
                if kept:
                    return row.load(i, width=w)
                return x[along(lead, i, w)].cast(dt)

            def keep(i, w):
                v = x[along(lead, i, w)].cast(dt)
                if kept:
                    row.store(v, i)
                return v

            mean = dt(0)
            if centred:
                mean = reduce_row(n, width, dt(0), keep, lambda a, b: a + b) / count

            def deviation(i, w):
                return load(i, w) - mean if centred else load(i, w)

            def square(i, w):
                d = deviation(i, w) if centred else keep(i, w)
                return d * d

            variance = reduce_row(n, width, dt(0), square, lambda a, b: a + b) / count
            factor = dt(1) / sqrt(variance + eps)

            def finish(i, w):
                out[along(lead, i, w)] = scale(i, w, deviation(i, w) * factor).cast(out.dtype)

            vectors(0, n, widths_for(n, width), finish)

    share(product(x.shape[:-1]), n * dt.bytes, do)
