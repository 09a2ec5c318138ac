"""How the threads that run a kernel share its work. CPU threads enter a kernel together; each takes its own part."""

from kernels.gpu_blocks import grid_thread
from kernels.language import *


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
