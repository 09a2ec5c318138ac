"""Attention on a GPU: a block takes a query and goes through the keys a block at a time with a running softmax."""

from kernels.exponential import exp
from kernels.gpu_blocks import combine_block
from kernels.indexing import along, delinearise, fix_leading, product, replace
from kernels.language import *

THREADS_A_QUERY = 128


@inline
def gpu_attend(out, q, k, v, mask, *, is_causal, scale, enable_gqa):
    """As attend; each thread scores one key of a block, then sums its elements of the values."""
    dt = out.dtype.acc
    threads = THREADS_A_QUERY
    heads, length, keys = out.shape[:-2], q.shape[-2], k.shape[-2]
    size, result_size = q.shape[-1], v.shape[-1]
    factor = dt(float(size) ** -0.5 if scale is None else float(scale))
    launch(blocks=product(heads) * length, threads=threads)
    head = block_index() // length
    i = block_index() - head * length
    lead = delinearise(head, heads)
    source_lead = lead
    if enable_gqa:
        h = len(lead) - 1
        source_lead = replace(lead, h, lead[h] // (heads[h] // k.shape[-3]))
    queries, key_rows, value_rows = fix_leading(q, lead), fix_leading(k, source_lead), fix_leading(v, source_lead)
    query = shared(dt, max(size, 1))
    weights = shared(dt, threads)
    tops = shared(dt, threads)
    thread = thread_index()
    for x in range(thread, size, threads):
        query[x] = queries[i, x].cast(dt) * factor
    barrier()

    each = ceildiv(max(result_size, 1), threads)
    sums = [dt(0) for _ in range(each)]
    best = dt(-dt.inf)
    total = dt(0)
    last = index(keys)
    if is_causal:
        last = min(last, i + 1)
    for j0 in range(0, last, threads):
        j = j0 + thread
        score = dt(-dt.inf)
        if j < last:
            s = dt(0)
            for x in range(size):
                s = muladd(query[x], key_rows[j, x].cast(dt), s)
            score = mask(lead, i, j, 1, s)
        # Everyone reads all scores of the block: a running softmax needs their largest before their weights.
        tops[thread] = score
        barrier()
        top = best
        for t in range(threads):
            top = max(top, tops[t])
        base = select(top > dt(-dt.inf), top, dt(0))
        weights[thread] = exp(score - base)
        barrier()
        correction = exp(best - base)
        total = total * correction
        for c in unroll(each):
            sums[c] = sums[c] * correction
        for t in range(min(last - j0, threads)):
            weight = weights[t]
            total = total + weight
            for c in unroll(each):
                x = thread + c * threads
                if x < result_size:
                    sums[c] = muladd(weight, value_rows[j0 + t, x].cast(dt), sums[c])
        best = top
        barrier()
    whole = select(total != dt(0), total, dt(1))  # a row that sees nothing gives zeros
    for c in unroll(each):
        x = thread + c * threads
        if x < result_size:
            out[position(lead + (i, x))] = (sums[c] / whole).cast(out.dtype)
