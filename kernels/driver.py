"""The kernel that a group of elementwise ops, views and index ops becomes: one value stored per element."""

from kernels.gpu_driver import gpu_elementwise, gpu_elementwise_tiles, read_across
from kernels.indexing import along, delinearise, product, replace
from kernels.language import *
from kernels.parallel import share
from kernels.rows import transposed, vectors, widths_for

# Rows are cut into pieces of this many elements, so that threads can share a long row.
PIECE = 4096
# Where memory runs along another axis than the last, tiles are as long along that one and the last as a cache line.
LINE_BYTES = 64
# So many of them next to each other are done together: memory is faster in longer pieces.
LINES = 4


@inline
def element_width(dt):
    """Lanes an elementwise loop works on: four registers, so that a long expression has several to go on with while
    it waits for one."""
    return min(target.simd(dt.acc) * 4, target.simd(f32) * 4)


@kernel("kg.elementwise")
def elementwise(out: FusedOutput, x: FusedInput):
    """Store x at every position of out."""
    if target.is_nvidia and out.rank > 1 and read_across(x) >= 0:
        gpu_elementwise_tiles(out, x, read_across(x))
    elif target.is_gpu:
        gpu_elementwise(out, x)
    elif out.rank == 0:
        if thread_index() == 0:
            out[position(())] = x[position(())]
    elif crossing_axis(x) >= 0:
        elementwise_tiles(out, x, crossing_axis(x))
    else:
        elementwise_rows(out, x)


@inline
def crossing_axis(x):
    """The axis along which x lies in memory, forwards or backwards, where that is known and not the last; else -1."""
    found = -1
    for k in unroll(x.rank - 1):
        if x.runs_along(k) and not x.runs_along(x.rank - 1):
            found = k
    return found


@inline
def elementwise_rows(out, x):
    """Threads share pieces of rows; in a piece, vectors run along the last axis."""
    n = out.shape[-1]
    usual = element_width(out.dtype)
    if x.iterates:
        # Lanes wait for the last of them, and LLVM takes long for each copy of such a loop: fewer lanes need fewer.
        usual = max(usual // 2, 1)
    width = choice("lanes", usual, [w for w in (usual // 4, usual // 2, usual * 2) if w > 0])
    longest = choice("piece", PIECE, (1024, 16384)) if not is_static(n) or n > PIECE else PIECE
    pieces = 1
    if not is_static(n) or n > longest:
        pieces = ceildiv(n, longest)

    def do(begin, end):
        for item in range(begin, end):
            lead, piece = item, 0
            if not is_static(pieces) or pieces > 1:
                lead = item // pieces
                piece = (item - lead * pieces) * longest
            lead = delinearise(lead, out.shape[:-1])

            def copy(i, w):
                out[along(lead, i, w)] = x[along(lead, i, w)]

            if is_static(pieces) and pieces == 1:
                vectors(0, n, widths_for(n, width), copy)
            else:
                vectors(piece, min(piece + longest, n), widths_for(n, width), copy)

    length = n if is_static(pieces) and pieces == 1 else longest
    share(product(out.shape[:-1]) * pieces, length * out.dtype.bytes, do)


@inline
def elementwise_tiles(out, x, axis):
    """Threads share tiles in which what is loaded along `axis` is still in the cache when its neighbours are needed."""
    last = out.rank - 1
    n, m = out.shape[last], out.shape[axis]
    line = LINE_BYTES // out.dtype.bytes
    lanes = min(target.simd(out.dtype), line)
    block = line * choice("lines", LINES, (1, 2, 8))
    blocks = replace(replace(out.shape, axis, ceildiv(m, block)), last, ceildiv(n, block))
    square = stack(out.dtype, line * line)

    def do(begin, end):
        for item in range(begin, end):
            at = delinearise(item, blocks)
            low, left = at[axis] * block, at[last] * block
            for first in range(left, min(left + block, n), line):
                for row in range(low, min(low + block, m), line):
                    if row + line <= m and first + line <= n and lanes > 1 and out.dtype.name != "bool":
                        turn_tile(square, x, at, axis, row, first, lanes=lanes, line=line)
                        for r in range(line):
                            lead = replace(at, axis, row + r)[:-1]
                            out[along(lead, first, line)] = square.load(r * line, width=line)
                    else:
                        for r in range(row, min(row + line, m)):
                            lead = replace(at, axis, r)[:-1]

                            def copy(i, w):
                                out[along(lead, i, w)] = x[along(lead, i, w)]

                            vectors(first, min(first + line, n), widths_for(n, lanes), copy)

    share(product(blocks), block * block * out.dtype.bytes, do)


@inline
def turn_tile(square, x, tile, axis, row, first, *, lanes, line):
    """A tile of x, read along `axis`, as rows along the last axis: a cache line of it is read as a whole."""
    last = x.rank - 1
    for j in range(0, line, lanes):
        for i in range(0, line, lanes):
            found = []
            for k in unroll(lanes):
                at = replace(replace(tile, axis, row + i), last, first + j + k)
                found = found + [x[position(at, width=lanes, axis=axis)]]
            turned = transposed(found, step=1)
            for k in unroll(lanes):
                square.store(turned[k], (i + k) * line + j)
