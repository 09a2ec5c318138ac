"""Reductions on NVIDIA GPUs: vectors of 16 bytes, several on their way at once, and many blocks for few results.

Where a result is made by several blocks, each leaves its part in a workspace, and the block that comes last combines
them in their order: results do not depend on which block that is.
"""

from kernels.gpu_blocks import combine_block, combine_warp, fitting_power
from kernels.gpu_driver import gpu_width
from kernels.indexing import along, delinearise, interleave, length_of, product, replace, without
from kernels.language import *
from kernels.rows import fold

# Blocks that a reduction is spread over, where it has the elements for it.
BLOCKS = 528
# Vectors that a thread loads before it combines them.
AHEAD = 4
THREADS = 256


@inline
def arrives_last(counters, i, parts):
    """Whether this block is the last of `parts` that come here with the same `i`; sees what the others stored before.

    The counter is 0 again afterwards.
    """

    def meet():
        barrier()

    return is_last(counters, i, parts, shared(i32, 1), thread_index() == 0, meet)


@inline
def is_last(counters, i, parts, flag, counts, meet):
    """The same for some threads of each block: those of them that `meet`, and of these one that `counts`; they share a
    flag."""
    memory_fence()
    meet()
    if counts:
        before = counters.atomic_add(i, i32(1))
        last = before == parts - 1
        if last:
            counters[i] = i32(0)
        flag[0] = select(last, i32(1), i32(0))
    meet()
    memory_fence()
    return flag[0] == 1


@inline
def sums_of_parts(load, parts, count, *, ahead):
    """load(part, v) added up over all parts, in their order, for each v below `count`: so many parts are on their way
    before they are added."""
    rest = (parts - 1) % ahead
    total = [load(0, v) for v in range(count)]

    def added(total, first, some):
        loaded = [[load(first + u, v) for v in range(count)] for u in range(some)]
        for u in unroll(some):
            for v in unroll(count):
                total[v] = total[v] + loaded[u][v]
        return total

    for first in range(1, parts - rest, ahead):
        total = added(total, first, ahead)
    return added(total, parts - rest, rest)


@inline
def memory_fence():
    """What this thread stored before is seen by whoever sees what it does afterwards."""
    asm("fence.acq_rel.gpu;", "~{memory}", None, 1)


@inline
def combine_strided(first, last, step, start, load, combine, *, width, ahead, parts=1, part=0):
    """load(i) of first, first + step, ... below last, combined lane by lane; `ahead` are loaded before they are used.

    `first` is below `step`, so that all threads have as many whole rounds of `ahead`. Of `parts` that share the work
    this is the one called `part`: rounds go around among them, so that all together read memory in order.
    """
    lanes = [splat(start, width) for _ in range(2)]
    stretch = step * ahead
    whole = last // stretch
    for round in range(part, whole, parts):
        base = first + round * stretch
        loaded = [load(base + u * step) for u in range(ahead)]
        for u in unroll(ahead):
            lanes[u % 2] = combine(lanes[u % 2], loaded[u])
    if is_static(last) and last % stretch == 0:
        return combine(lanes[0], lanes[1])
    if parts == 1 or whole % parts == part:
        for i in range(first + whole * stretch, last, step):
            lanes[0] = combine(lanes[0], load(i))
    return combine(lanes[0], lanes[1])


@inline
def nvidia_reduce(x, axes, start, combine, store):
    """Combine over `axes`, by whether the last axis goes or stays."""
    if len(axes) == x.rank and x.rank > 1 and x.is_strided:
        reduce_to_rows(x.reshape((x.size,)), (0,), start, combine, store)  # no index has to be taken apart
    elif x.rank - 1 in axes:
        reduce_to_rows(x, axes, start, combine, store)
    else:
        reduce_to_columns(x, axes, start, combine, store, widest=max(16 // x.dtype.bytes, 1))


@inline
def parts_for(blocks, work, least):
    """How many blocks share one result: enough that all together are BLOCKS, each with at least `least` of `work`."""
    if not is_static(blocks):
        return 1
    most = choice("blocks", BLOCKS, (264, 1056)) // max(blocks, 1)
    if is_static(work):
        most = min(most, work // least)
    return max(most, 1)


@inline
def reduce_to_rows(x, axes, start, combine, store):
    """The last axis goes: threads lie along it, as many as a row needs."""
    kept = without(x.shape, axes)
    reduced = [x.shape[k] for k in axes]
    width = gpu_width(reduced[-1], max(16 // x.dtype.bytes, 1))
    pieces = reduced[:-1] + [reduced[-1] // width]
    count = length_of(product(pieces))
    rows = product(kept)

    def loader(lead):
        def load(v):
            if len(pieces) == 1:  # the common case, with the least to compile
                return x[along(lead, v * width, width)].cast(start.dtype)
            where = delinearise(v, pieces)
            where = interleave(axes, replace(where, len(where) - 1, where[-1] * width), lead)
            return x[position(where, width=width, axis=x.rank - 1)].cast(start.dtype)

        return load

    parts = parts_for(rows, count, THREADS * AHEAD)
    threads = THREADS
    if is_static(count):
        threads = fitting_power(ceildiv(count, AHEAD), 1, THREADS)
    if threads <= target.warp:
        # Several rows a warp; shuffles need all lanes, so that a row that there is not is one without elements.
        launch(blocks=ceildiv(rows, 128 // threads), threads=128)
        row = block_index() * (128 // threads) + thread_index() // threads
        lead = delinearise(min(row, index(rows) - 1), kept)
        end = select(row < rows, index(count), index(0))
        v = combine_strided(
            thread_index() % threads, end, threads, start, loader(lead), combine, width=width, ahead=AHEAD
        )
        v = combine_warp(fold(v, combine), combine, threads // 2)
        if (row < rows) & (thread_index() % threads == 0):
            store(position(lead), v)
    elif parts == 1:
        launch(blocks=rows, threads=threads)
        lead = delinearise(block_index(), kept)
        v = combine_strided(thread_index(), count, threads, start, loader(lead), combine, width=width, ahead=AHEAD)
        v = combine_block(fold(v, combine), combine, threads=threads)
        if thread_index() == 0:
            store(position(lead), v)
    else:
        launch(blocks=rows * parts, threads=THREADS)
        partial = workspace(start.dtype, rows * parts)
        counters = workspace(i32, rows)
        row = block_index() // parts
        part = block_index() - row * parts
        lead = delinearise(row, kept)
        v = combine_strided(
            thread_index(), count, THREADS, start, loader(lead), combine,
            width=width, ahead=AHEAD, parts=parts, part=part,
        )  # fmt: skip
        v = combine_block(fold(v, combine), combine, threads=THREADS)
        if thread_index() == 0:
            partial[block_index()] = v
        if arrives_last(counters, row, parts):
            v = start
            for p in range(thread_index(), parts, THREADS):
                v = combine(v, partial[row * parts + p])
            v = combine_block(v, combine, threads=THREADS)
            if thread_index() == 0:
                store(position(lead), v)


@inline
def reduce_to_columns(x, axes, start, combine, store, *, widest):
    """The last axis stays: neighbouring threads take neighbouring columns, and groups of them share the rows.

    `widest` is how many columns a thread takes where rows are multiples of it.
    """
    kept = without(x.shape, axes)
    reduced = [x.shape[k] for k in axes]
    n = kept[-1]
    width = gpu_width(n, widest)
    count = length_of(product(reduced))
    side = 32
    if is_static(n):
        side = fitting_power(n // width, 1, 32)
    filled = is_static(n) and n % (side * width) == 0  # with columns that are all there
    groups = THREADS // side
    strips = ceildiv(n // width, side)
    outer = product(kept[:-1])
    parts = parts_for(outer * strips, count, groups * AHEAD)
    launch(blocks=outer * strips * parts, threads=THREADS)
    tile = shared(start.dtype, (groups, side * width))
    part = block_index() % parts
    strip = block_index() // parts % strips
    row = block_index() // (parts * strips)
    lead = delinearise(row, kept[:-1])
    column, group = thread_index() % side, thread_index() // side
    j = (strip * side + column) * width
    last = count if filled else select(j < n, index(count), index(0))

    def load(r):
        where = interleave(axes, delinearise(r, reduced), lead + (j,))
        return x[position(where, width=width, axis=x.rank - 1)].cast(start.dtype)

    def over_groups(v):
        tile.store(v, group, column * width)
        barrier()
        total = v
        if group == 0:
            for other in range(1, groups):
                total = combine(total, tile.load(other, column * width, width=width))
        return total

    v = combine_strided(group, last, groups, start, load, combine, width=width, ahead=AHEAD, parts=parts, part=part)
    v = over_groups(v)
    if parts == 1:
        if (group == 0) & (j < n):
            store(position(lead + (j,), width=width, axis=len(lead)), v)
    else:
        partial = workspace(start.dtype, product(kept) * parts)
        counters = workspace(i32, outer * strips)
        if (group == 0) & (j < n):
            partial.store(v, (row * parts + part) * n + j)
        if arrives_last(counters, row * strips + strip, parts):
            v = combine_strided(
                group, parts if filled else select(j < n, index(parts), index(0)), groups, start,
                lambda p: partial.load((row * parts + p) * n + j, width=width), combine, width=width, ahead=2,
            )  # fmt: skip
            v = over_groups(v)
            if (group == 0) & (j < n):
                store(position(lead + (j,), width=width, axis=len(lead)), v)
