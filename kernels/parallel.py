"""How the threads that run a kernel share its work. CPU threads enter a kernel together; each takes its own part."""

from kernels.gpu_blocks import grid_thread
from kernels.language import *

# Work of fewer bytes is not worth handing out in parts.
LITTLE_BYTES = 262144
# What an item comes to where that is always much.
HEAVY_BYTES = 1048576
# Parts a thread that are enough for others to help one that is late.
PARTS = 8


@inline
def strip_length(n, rows, longest, grain):
    """How long the strips are that rows of `n` are cut into: long, but so that every thread gets one if it can.

    Strips are multiples of `grain`, and at most `longest` (a multiple of it too).
    """
    wanted = ceildiv(thread_count(), max(index(rows), 1))
    return min(max(ceildiv(ceildiv(index(n), wanted), grain), 1) * grain, longest)


@inline
def split(n, *, grain=1):
    """The part [begin, end) of `n` items that this thread does; parts meet at multiples of `grain`."""
    pieces = index(ceildiv(n, grain))
    worker, workers = thread_index(), thread_count()
    if target.is_gpu:  # a kernel without a way of its own there: every thread of the grid is a worker
        worker, workers = grid_thread()
    begin = worker * pieces // workers * grain
    end = (worker + 1) * pieces // workers * grain
    if grain == 1:
        return begin, end
    return min(begin, index(n)), min(end, index(n))


@inline
def parts_wanted():
    """How many parts much work is cut into, where that can be."""
    return thread_count() * PARTS


@inline
def share(n, item_bytes, body):
    """Call body(begin, end) for parts of `n` items, until the threads together have done all of them.

    Threads are not equally fast, and some are held up: where there is much to do (`item_bytes` is what an item comes
    to, None where that is always much) it is cut into several parts a thread, and who is done with its own takes those
    of others.
    """
    heavy = item_bytes is None
    little = not heavy and is_static(n) and is_static(item_bytes) and n * item_bytes <= LITTLE_BYTES
    if little or not takes_parts():
        begin, end = split(n)
        body(begin, end)
    else:
        each = HEAVY_BYTES if heavy else item_bytes
        begin, end = index(-1), index(0)
        while begin < end:
            begin, end = take_part(n, each, begin)  # in the end nothing, which is then done
            body(begin, end)


@outlined
def pieces_of(row_tiles, column_tiles, groups, workers, rows, width, columns):
    """How many pieces the rows and how many the columns of a product are cut into, counted in register tiles of `rows`
    by `width` elements: a piece for every worker, about as tall as wide, as then the least is packed; and no piece of
    more than so many `columns`, in pieces of one size, as a narrow rest would be packed for little work.

    A function that all products share, as this and `piece_at` are most of what they do besides.
    """
    # Whole groups where they come out even or are many; else every worker has a part of each.
    some = max(groups, 1)  # x86 processors trap at a division by zero
    even = select(workers % some == 0, workers // some, workers)
    crew = select((groups % workers == 0) | (groups >= 4 * workers), index(1), even)
    square = (crew * column_tiles * width // (row_tiles * rows)).cast(i64)  # of so many parts the columns should be
    across = index(1) << ((63 - ctlz(max(square, i64(1)))) // 2).cast(index)
    across = max(min(min(across, crew & (0 - crew)), column_tiles), 1)  # a power of two that the workers divide into
    down = min(crew // across, row_tiles)
    return down, across * ceildiv(ceildiv(column_tiles, across) * width, columns)


@outlined
def piece_at(item, row_pieces, column_pieces, row_tiles, column_tiles, rows, width, m, n):
    """The product that a piece belongs to, its rows from where to where, its first column and how many it has.

    LLVM does not look into it: it steps pointers along only where it could compute their beginnings anew, which takes
    it long where they come from divisions.
    """
    rest = item // row_pieces
    group = rest // column_pieces
    row, column = item % row_pieces, rest % column_pieces
    i0 = row * row_tiles // row_pieces * rows
    i1 = min((row + 1) * row_tiles // row_pieces * rows, m)
    j = column * column_tiles // column_pieces * width
    return group, i0, i1, j, min((column + 1) * column_tiles // column_pieces * width, n) - j
