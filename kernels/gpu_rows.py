"""Rows on a GPU: a block takes a row, its threads share it. Rows of known length live in registers, read once."""

from kernels.exponential import exp
from kernels.gpu_blocks import combine_block, combine_warp, fitting_power, grid_thread
from kernels.gpu_driver import gpu_width
from kernels.indexing import along, delinearise, interleave, product, without
from kernels.language import *
from kernels.logarithm import log
from kernels.rows import fold

# The most elements of a row that one thread keeps in registers.
KEPT = 32


@inline
def row_plan(n, dt):
    """(threads of the block, lanes of a vector, vectors that each thread keeps: 0 when rows are read again)."""
    if not is_static(n):
        return 256, 1, 0
    width = gpu_width(n, max(16 // dt.bytes, 1)) if n > 0 else 1
    threads = fitting_power(ceildiv(n, width * 4), target.warp, 512)
    count = ceildiv(n, width * threads)
    if count * width > KEPT:
        threads = 1024
        count = ceildiv(n, width * threads)
    if count * width > KEPT:
        return 1024, 1, 0
    return threads, width, count


@inline
def row_piece(j, n, threads, width, fill, load):
    """The j-th vector of this thread, `fill` past the end of the row."""
    i = (thread_index() + j * threads) * width
    if (j + 1) * threads * width <= n:
        return load(i, width)
    v = splat(fill, width)
    if i < n:
        v = load(i, width)
    return v


@inline
def store_piece(j, n, threads, width, v, put):
    """Hand the j-th vector of this thread to put(i, width, v) if it lies in the row."""
    i = (thread_index() + j * threads) * width
    if (j + 1) * threads * width <= n:
        put(i, width, v)
    else:
        if i < n:
            put(i, width, v)


@inline
def combine_pieces(pieces, combine):
    """All lanes of all vectors of this thread, combined."""
    total = pieces[0]
    for piece in unroll(pieces[1:]):
        total = combine(total, piece)
    return fold(total, combine)


@inline
def scan_row(n, threads, start, load, combine):
    """load(i) of the whole row combined over the block, for rows that are not kept."""
    v = start
    for i in range(thread_index(), n, threads):
        v = combine(v, load(i))
    return combine_block(v, combine, threads=threads)


@inline
def gpu_softmax_rows(out, x, *, logarithm):
    """softmax or log_softmax along the last axis."""
    dt = out.dtype.acc
    n = x.shape[-1]
    threads, width, count = row_plan(n, dt)
    launch(blocks=product(x.shape[:-1]), threads=threads)
    lead = delinearise(block_index(), x.shape[:-1])

    def load(i, w):
        return x[along(lead, i, w)].cast(dt)

    def put(i, w, v):
        out[along(lead, i, w)] = v.cast(out.dtype)

    def larger_of(a, b):
        return max(a, b)

    def sum_of(a, b):
        return a + b

    if count > 0:
        pieces = [row_piece(j, n, threads, width, dt(-dt.inf), load) for j in range(count)]
        top = combine_block(combine_pieces(pieces, larger_of), larger_of, threads=threads)
        shifted = [piece - top for piece in pieces]
        powers = [exp(piece) for piece in shifted]
        total = combine_block(combine_pieces(powers, sum_of), sum_of, threads=threads)
        if logarithm:
            shift = log(total)
            for j in unroll(count):
                store_piece(j, n, threads, width, shifted[j] - shift, put)
        else:
            scale = dt(1) / total
            for j in unroll(count):
                store_piece(j, n, threads, width, powers[j] * scale, put)
    else:
        top = scan_row(n, threads, dt(-dt.inf), lambda i: load(i, 1), larger_of)
        total = scan_row(n, threads, dt(0), lambda i: exp(load(i, 1) - top), sum_of)
        shift = log(total) if logarithm else dt(1) / total
        for i in range(thread_index(), n, threads):
            v = load(i, 1) - top
            put(i, 1, v - shift if logarithm else exp(v) * shift)


@inline
def gpu_normalise_rows(out, x, eps, scale, *, centred):
    """As normalise_rows: each row less its mean (if `centred`), over the root of its mean square."""
    dt = out.dtype.acc
    n = x.shape[-1]
    threads, width, count = row_plan(n, dt)
    launch(blocks=product(x.shape[:-1]), threads=threads)
    lead = delinearise(block_index(), x.shape[:-1])
    size = index(n).cast(dt)

    def load(i, w):
        return x[along(lead, i, w)].cast(dt)

    def put(i, w, v):
        out[along(lead, i, w)] = scale(i, w, v).cast(out.dtype)

    def sum_of(a, b):
        return a + b

    if count > 0:
        pieces = [row_piece(j, n, threads, width, dt(0), load) for j in range(count)]
        if centred:
            mean = combine_block(combine_pieces(pieces, sum_of), sum_of, threads=threads) / size
            # Past the end of the row a vector of the mean deviates by nothing.
            pieces = [row_piece(j, n, threads, width, dt(0), lambda i, w: pieces[j] - mean) for j in range(count)]
        squares = [piece * piece for piece in pieces]
        variance = combine_block(combine_pieces(squares, sum_of), sum_of, threads=threads) / size
        factor = dt(1) / sqrt(variance + eps)
        for j in unroll(count):
            store_piece(j, n, threads, width, pieces[j] * factor, put)
    else:
        mean = dt(0)
        if centred:
            mean = scan_row(n, threads, dt(0), lambda i: load(i, 1), sum_of) / size

        def square(i):
            d = load(i, 1) - mean if centred else load(i, 1)
            return d * d

        variance = scan_row(n, threads, dt(0), square, sum_of) / size
        factor = dt(1) / sqrt(variance + eps)
        for i in range(thread_index(), n, threads):
            put(i, 1, (load(i, 1) - mean) * factor if centred else load(i, 1) * factor)


@inline
def gpu_reduce(out, x, axes, start, combine, store):
    """Combine over `axes`: a block for each result where the last axis goes, a thread for each where it stays."""
    kept = without(x.shape, axes)
    reduced = [x.shape[k] for k in axes]
    count = product(reduced)

    def element(r, lead):
        where = interleave(axes, delinearise(r, reduced), lead)
        return x[position(where)].cast(start.dtype)

    if x.rank - 1 in axes:
        threads = 256
        if is_static(count):
            threads = fitting_power(ceildiv(count, 8), target.warp, 1024)
        launch(blocks=product(kept), threads=threads)
        lead = delinearise(block_index(), kept)
        v = start
        for r in range(thread_index(), count, threads):
            v = combine(v, element(r, lead))
        v = combine_block(v, combine, threads=threads)
        if thread_index() == 0:
            store(position(lead), v)
    else:
        launch(blocks=ceildiv(product(kept), 128), threads=128)
        worker, workers = grid_thread()
        if worker < product(kept):
            lead = delinearise(worker, kept)
            v = start
            for r in range(count):
                v = combine(v, element(r, lead))
            store(position(lead), v)
