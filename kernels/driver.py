"""The kernel that a group of elementwise ops, views and index ops becomes: one value computed and stored per element."""

from kernels.indexing import along, delinearise, product
from kernels.language import *
from kernels.parallel import split
from kernels.rows import vectors, widths_for

# Rows are cut into pieces of this many elements, so that threads can share a long row.
PIECE = 4096


@inline
def element_width(dt):
    """Lanes an elementwise loop works on: two registers, or four of f32 where the type is narrow."""
    return min(target.simd(dt.acc) * 2, target.simd(f32) * 4)


@kernel("kg.elementwise")
def elementwise(out: FusedOutput, x: FusedInput):
    """Store x at every position of out."""
    if out.rank == 0:
        if thread_index() == 0:
            out[position(())] = x[position(())]
    else:
        elementwise_rows(out, x)


@inline
def elementwise_rows(out, x):
    """Threads share pieces of rows; in a piece, vectors run along the last axis."""
    n = out.shape[-1]
    width = element_width(out.dtype)
    pieces = 1
    if not is_static(n) or n > PIECE:
        pieces = ceildiv(n, PIECE)
    begin, end = split(product(out.shape[:-1]) * pieces)
    for item in range(begin, end):
        lead, piece = item, 0
        if not is_static(pieces) or pieces > 1:
            lead = item // pieces
            piece = (item - lead * pieces) * PIECE
        lead = delinearise(lead, out.shape[:-1])

        def copy(i, w):
            out[along(lead, i, w)] = x[along(lead, i, w)]

        if is_static(pieces) and pieces == 1:
            vectors(0, n, widths_for(n, width), copy)
        else:
            vectors(piece, min(piece + PIECE, n), widths_for(n, width), copy)
