"""Elementwise groups on a GPU: a thread takes 16 bytes of the result, neighbouring threads take neighbouring bytes."""

from kernels.gpu_blocks import grid_thread
from kernels.indexing import along, delinearise, product
from kernels.language import *

THREADS = 256


@inline
def gpu_elementwise(out, x):
    """Store x at every position of out."""
    if out.rank == 0:
        launch(blocks=1, threads=32)
        if thread_index() == 0:
            out[position(())] = x[position(())]
    else:
        gpu_elementwise_rows(out, x)


@inline
def gpu_width(n, widest):
    """Lanes that one thread stores: as many as fill `widest`, fewer where rows are not multiples of that."""
    rest = n % widest
    if widest == 1 or (is_static(rest) and rest == 0):
        return widest
    return gpu_width(n, widest // 2)


@inline
def gpu_elementwise_rows(out, x):
    """Rows whose length is a multiple of the lanes are cut into vectors; one long row has a tail of single elements."""
    n = out.shape[-1]
    widest = max(16 // out.dtype.bytes, 1)
    rows = product(out.shape[:-1])
    single_row = is_static(rows) and rows == 1
    if single_row:
        width = min(widest, 8)
        launch(blocks=ceildiv(ceildiv(n, width), THREADS), threads=THREADS)
        worker, workers = grid_thread()
        lead = delinearise(index(0), out.shape[:-1])
        i = worker * width
        if i + width <= n:
            out[along(lead, i, width)] = x[along(lead, i, width)]
        else:
            for k in range(i, n):
                out[along(lead, k, 1)] = x[along(lead, k, 1)]
    else:
        width = gpu_width(n, min(widest, 8))
        pieces = n // width
        launch(blocks=ceildiv(rows * pieces, THREADS), threads=THREADS)
        worker, workers = grid_thread()
        if worker < rows * pieces:
            row = worker // pieces
            lead = delinearise(row, out.shape[:-1])
            i = (worker - row * pieces) * width
            out[along(lead, i, width)] = x[along(lead, i, width)]
