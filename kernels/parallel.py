"""How the threads that run a kernel share its work. CPU threads enter a kernel together; each takes its own part."""

from kernels.language import *


@inline
def split(n, *, grain=1):
    """The part [begin, end) of `n` items that this thread does; parts meet at multiples of `grain`."""
    pieces = index(ceildiv(n, grain))
    begin = thread_index() * pieces // thread_count() * grain
    end = (thread_index() + 1) * pieces // thread_count() * grain
    if grain == 1:
        return begin, end
    return min(begin, index(n)), min(end, index(n))
