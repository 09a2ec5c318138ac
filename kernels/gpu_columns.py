"""Blocks that have some columns side by side, along an axis that is not the last, each shared by several threads."""

from kernels.gpu_blocks import fitting_power
from kernels.indexing import delinearise, product, without
from kernels.language import *


@inline
def columns_of_block(x, axis, *, columns, ahead, most):
    """Launches them. How many threads share a column, which of these this one is, its column within the block and in x,
    and the position of the k-th element of that column; past the last column, of that one. `most` share one, each with
    `ahead` elements at least."""
    n, high = x.shape[-1], x.shape[axis]
    shares = fitting_power(ceildiv(high, ahead), 1, most) if is_static(high) else most
    blocks = ceildiv(n, columns)
    outer = without(x.shape, (axis, x.rank - 1))
    launch(blocks=product(outer) * blocks, threads=columns * shares)
    row = block_index() // blocks
    lead = delinearise(row, outer)
    column, share = thread_index() % columns, thread_index() // columns
    j = (block_index() - row * blocks) * columns + column
    inside = min(j, index(n) - 1)

    def place(k):
        return position(lead[:axis] + (k,) + lead[axis:] + (inside,))

    return shares, share, column, j, lead, place
