"""Attention on a GPU: a block takes a query and goes through the keys a part at a time with a running softmax."""

from kernels.attention_heads import source_head
from kernels.exponential import exp
from kernels.gpu_blocks import combine_block, combine_warp, fitting_power, lane_of
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *

THREADS_A_QUERY = 128
# One query a head, as where a model makes one token after the other: there are few blocks, so they are large.
THREADS_ONE_QUERY = 512
# Keys that a warp scores at a time, and values that a thread reads at a time.
TOGETHER = 4


@inline
def gpu_attend(out, q, k, v, mask, *, is_causal, scale, enable_gqa):
    """As attend; a warp scores some keys of a part, then each thread sums an element of some of the values."""
    dt = out.dtype.acc
    heads, length, keys = out.shape[:-2], q.shape[-2], k.shape[-2]
    threads = THREADS_ONE_QUERY if is_static(length) and length == 1 else THREADS_A_QUERY
    size, result_size = q.shape[-1], v.shape[-1]
    factor = dt(float(size) ** -0.5 if scale is None else float(scale))
    launch(blocks=product(heads) * length, threads=threads)
    head = block_index() // length
    i = block_index() - head * length
    lead = delinearise(head, heads)
    source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
    queries, key_rows, value_rows = fix_leading(q, lead), fix_leading(k, source_lead), fix_leading(v, source_lead)
    query = shared(dt, max(size, 1))
    weights = shared(dt, threads)
    thread = thread_index()
    for x in range(thread, size, threads):
        query[x] = queries[i, x].cast(dt) * factor
    barrier()

    # A thread has a column of the values, or several; the threads of a column share its rows.
    columns = fitting_power(result_size, target.warp, threads)
    sharers = threads // columns
    column, first = thread % columns, thread // columns
    each = ceildiv(max(result_size, 1), columns)
    filled = is_static(result_size) and result_size == each * columns  # by columns that are all there
    sums = [dt(0) for _ in range(each)]
    best = dt(-dt.inf)
    total = dt(0)
    last = index(keys)
    if is_causal:
        last = min(last, i + 1)
    for j0 in range(0, last, threads):
        used = min(last - j0, threads)
        score_keys(weights, query, key_rows, j0, used, threads=threads, size=size)
        barrier()
        score = dt(-dt.inf)
        if thread < used:
            score = mask(lead, i, j0 + thread, 1, weights[thread])
        top = max(best, combine_block(score, lambda x, y: max(x, y), threads=threads))
        base = select(top > dt(-dt.inf), top, dt(0))
        weight = exp(score - base)
        weights[thread] = weight
        barrier()
        correction = exp(best - base)
        total = total * correction + weight
        for c in unroll(each):
            sums[c] = sums[c] * correction
        for t in range(first, used, sharers * TOGETHER):
            for u in unroll(TOGETHER):
                there, at = t + u * sharers < used, min(t + u * sharers, used - 1)
                for c in unroll(each):
                    x = column + c * columns
                    if filled or x < result_size:
                        added = muladd(weights[at], value_rows[j0 + at, x].cast(dt), sums[c])
                        sums[c] = select(there, added, sums[c])
        best = top
        barrier()
    total = combine_block(total, lambda x, y: x + y, threads=threads)
    whole = select(total != dt(0), total, dt(1))  # a row that sees nothing gives zeros
    parts = shared(dt, threads * each)
    if sharers > 1:
        for c in unroll(each):
            parts[thread * each + c] = sums[c]
        barrier()
    if first == 0:
        for c in unroll(each):
            x = column + c * columns
            for s in unroll(1, sharers):
                sums[c] = sums[c] + parts[(s * columns + column) * each + c]
            if filled or x < result_size:
                out[position(lead + (i, x))] = (sums[c] / whole).cast(out.dtype)


@inline
def score_keys(scores, query, key_rows, j0, used, *, threads, size):
    """scores[t] is the query times key j0 + t, for t < used: the lanes of a warp read a key side by side; or, where
    keys lie side by side in memory, each thread its own key."""
    dt = query.dtype
    if key_rows.is_contiguous(0) and not key_rows.is_contiguous(1):
        t = min(thread_index(), used - 1)
        sums = [dt(0) for _ in range(TOGETHER)]
        whole = size - size % TOGETHER
        for x in range(0, whole, TOGETHER):
            for u in unroll(TOGETHER):
                sums[u] = muladd(query[x + u], key_rows[j0 + t, x + u].cast(dt), sums[u])
        for x in range(whole, size):
            sums[0] = muladd(query[x], key_rows[j0 + t, x].cast(dt), sums[0])
        scores[thread_index()] = (sums[0] + sums[1]) + (sums[2] + sums[3])
        return
    warps = threads // target.warp
    lane = lane_of()
    for t in range(thread_index() // target.warp, used, warps * TOGETHER):
        rows = [min(t + u * warps, used - 1) for u in range(TOGETHER)]
        sums = [dt(0) for _ in range(TOGETHER)]
        for x in range(lane, size, target.warp):
            element = query[x]
            for u in unroll(TOGETHER):
                sums[u] = muladd(element, key_rows[j0 + rows[u], x].cast(dt), sums[u])
        sums = [combine_warp(s, lambda x, y: x + y, target.warp // 2) for s in sums]
        if lane == 0:
            for u in unroll(TOGETHER):
                scores[rows[u]] = sums[u]
