"""scaled_dot_product_attention with a running softmax: scores exist only as one tile of queries by keys at a time."""

from kernels.attention_heads import source_head
from kernels.exponential import exp
from kernels.gemm import (
    load_column,
    load_tile,
    loads_lanes,
    multiply_add,
    pack_panel,
    round_up,
    store_tile,
    tile_product,
)
from kernels.gpu_attention import gpu_attend
from kernels.gpu_flash_attention import fits_flash_attention, flash_attend
from kernels.gpu_register_attention import fits_register_attention, register_attend
from kernels.gpu_warpgroup_attention import fits_warpgroup_attention, lays_out_one, warpgroup_attend
from kernels.indexing import along, delinearise, fix_leading, product
from kernels.language import *
from kernels.parallel import split
from kernels.rows import fold, larger_of, vectors, widths_for

# Queries and keys of one tile of scores.
QUERIES = 64
KEYS = 64
# Of so many bytes are queries, keys, values and results on the stack; wide heads have fewer at a time.
STACK_BYTES = 3145728


@kernel("mo.scaled_dot_product_attention")
def attention(out: FusedOutput, q: FusedInput, k: FusedInput, v: FusedInput, *, is_causal, scale, enable_gqa):
    """softmax(q k^T * scale) v; with `is_causal`, query i sees keys 0..i."""

    def unmasked(lead, i, j, w, score):
        return score

    attend(out, q, k, v, unmasked, masked=False, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


@kernel("mo.scaled_dot_product_attention")
def masked_attention(
    out: FusedOutput, q: FusedInput, k: FusedInput, v: FusedInput, mask: FusedInput, *, is_causal, scale, enable_gqa
):
    """As attention, with a mask: a bool one says which keys a query sees, any other is added to the scores."""
    wide = mask.broadcast(out.shape[:-1] + (k.shape[-2],))

    def apply(lead, i, j, w, score):
        m = wide[along(lead + (i,), j, w)]
        if mask.dtype.name == "bool":
            return select(m, score, splat(score.dtype(-score.dtype.inf), w))
        return score + m.cast(score.dtype)

    attend(out, q, k, v, apply, masked=True, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)


@stored("mo.scaled_dot_product_attention")
def operands_of_attention(q, k, v, *, computed):
    """Keys and values are read for every block of queries."""
    return stored_for_attention(q, k, v, computed)


@stored("mo.scaled_dot_product_attention")
def operands_of_masked_attention(q, k, v, mask, *, computed):
    """As of attention; a mask is read once."""
    return (*stored_for_attention(q, k, v, computed[:3]), False)


@inline
def stored_for_attention(q, k, v, computed):
    """Of queries, keys and values, whether what is computed on them is stored."""
    length = q.shape[-2]
    again = is_static(length) and length > QUERIES
    if not target.is_gpu:
        return False, again, again
    if fits_warpgroup_attention(q, k, v):
        return (not lays_out_one(q, computed),) * 3
    alone = fits_flash_attention(q, k, v) and again and sum([1 for one in computed if one]) == 1
    return False, alone, alone


@inline
def attend(out, q, k, v, mask, *, masked, is_causal, scale, enable_gqa):
    """For each block of queries, go through the keys a block at a time and keep the best score, sum and result so far.

    mask(lead, i, j, width, score) gives the scores of query i and keys j..j+width as the softmax is to see them.
    """
    if target.is_gpu and fits_warpgroup_attention(q, k, v):
        warpgroup_attend(out, q, k, v, mask, masked=masked, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
        return None
    if target.is_gpu and fits_flash_attention(q, k, v):
        flash_attend(out, q, k, v, mask, masked=masked, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
        return None
    if target.is_gpu and fits_register_attention(q, k, v):
        register_attend(out, q, k, v, mask, masked=masked, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
        return None
    if target.is_gpu:
        gpu_attend(out, q, k, v, mask, is_causal=is_causal, scale=scale, enable_gqa=enable_gqa)
        return None
    assert is_static(q.shape[-1]) and is_static(v.shape[-1]), "attention needs head sizes that are known when compiling"
    dt = out.dtype.acc
    lanes = target.simd(dt)
    most_rows = min(4, max(q.shape[-2], 1)) if is_static(q.shape[-2]) else 4
    rows, across = choice("register tile", (most_rows, 4 if target.registers >= 32 else 2), tiles_for(q.shape[-2]))
    heads, length, keys = out.shape[:-2], q.shape[-2], k.shape[-2]
    size, result_size = q.shape[-1], v.shape[-1]
    most = STACK_BYTES // (2 * dt.bytes * max(size + result_size, 1))
    across = max(min(across, most // lanes), 1)
    width = across * lanes
    queries_together = min(round_up(choice("queries", QUERIES, (16, 32, 128)), rows), max(most // rows, 1) * rows)
    block = min(queries_together, max(round_up(length, rows), rows)) if is_static(length) else queries_together
    span = min(round_up(choice("keys", KEYS, (32, 128, 256)), width), max(most // width, 1) * width)
    # Narrow heads fill fewer vectors than a tile has.
    value_across = min(across, max(ceildiv(result_size, lanes), 1))
    value_width = value_across * lanes
    broad = max(round_up(result_size, value_width), value_width)
    # One query reads each key and value once: they stay where they are.
    single = is_static(length) and length == 1
    in_place = single and result_size == broad
    factor = dt(float(size) ** -0.5 if scale is None else float(scale))

    queries = stack(dt, block * max(size, 1))
    weights = stack(dt, block * span)
    key_panel = stack(dt, max(size, 1) * span)
    values = stack(dt, span * broad)
    scores = stack(dt, block * span)
    result = stack(dt, block * broad)
    best = stack(dt, block)
    total = stack(dt, block)

    blocks = ceildiv(length, block)
    begin, end = split(product(heads) * blocks)
    for item in range(begin, end):
        head = item // blocks
        i0 = (item - head * blocks) * block
        used = min(length - i0, block)
        lead = delinearise(head, heads)
        source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
        pack_queries(queries, fix_leading(q, lead), i0, used, size, factor, rows)
        for i in range(block):
            best[i] = dt(-dt.inf)
            total[i] = dt(0)
        for x in range(0, block * broad, lanes):
            result.store(zeros(dt, lanes), x)

        last = index(keys)
        if is_causal:
            last = min(last, i0 + used)
        for j in range(0, last, span):
            seen = min(last - j, span)
            if single:
                single_scores(scores, queries, fix_leading(k, source_lead), j, seen, size, lanes)
            else:
                pack_panel(key_panel, 0, fix_leading(k, source_lead).permute((1, 0)), 0, size, j, span, along=0)
                multiply_scores(scores, queries, key_panel, used, size, span, width, lanes, rows=rows, across=across)
            if not in_place:
                pack_panel(values, 0, fix_leading(v, source_lead), j, seen, 0, broad, along=1)
            for i in range(used):
                limit = seen
                if is_causal:
                    limit = max(min(seen, i0 + i + 1 - j), 0)
                if masked:

                    def masks(x, w):
                        here = i * span + x
                        scores.store(mask(lead, i0 + i, j + x, w, scores.load(here, width=w)), here)

                    vectors(0, limit, (lanes, 1), masks)
                rescale_row(scores, weights, result, best, total, i, limit, span, broad, lanes, rows)
            if in_place:
                matrix = fix_leading(v, source_lead)
                add_single(result, weights, matrix, j, seen, broad, value_width, lanes, across=value_across)
            else:
                add_values(
                    result, weights, values, used, seen, span, broad, value_width, lanes, rows=rows, across=value_across
                )

        for i in range(used):
            # No key at all gives zeros, and so do keys that are all masked, as in torch.
            whole = select(total[i] != dt(0), total[i], dt(1))

            def finish(x, w):
                value = result.load(i * broad + x, width=w) / whole
                out[along(lead + (i0 + i,), x, w)] = value.cast(out.dtype)

            vectors(0, result_size, widths_for(result_size, lanes * 2), finish)


@inline
def tiles_for(length):
    """Register tiles (queries, vectors of keys) that may be chosen, where their sums and operands have room."""
    tiles = ((4, 2), (4, 3), (4, 4), (8, 2), (8, 3))
    return [(r, c) for r, c in tiles if (not is_static(length) or r <= length) and (r + 1) * c < target.registers]


@inline
def pack_queries(queries, q, i0, used, size, factor, rows):
    """A block of queries, scaled, `rows` side by side for each element; zeros past the last one."""
    for i in range(0, used, rows):
        pack_panel(queries, i * size, q.permute((1, 0)), 0, size, i0 + i, rows, along=0)
    for x in range(0, round_up(used, rows) * size):
        queries[x] = queries[x] * factor


@inline
def multiply_scores(scores, queries, key_panel, used, size, span, width, lanes, *, rows, across):
    """scores[i, j] = queries[i] . keys[j]."""
    for i in range(0, used, rows):
        for j in range(0, span, width):

            def left(x):
                return load_column(queries, i * size + x * rows, rows=rows)

            def right(x):
                return [key_panel.load(x * span + j + c * lanes, width=lanes) for c in range(across)]

            acc = [zeros(scores.dtype, lanes) for _ in range(rows * across)]
            acc = tile_product(acc, size, left, right, rows=rows, columns=across)
            store_tile(scores, acc, i * span + j, span, lanes, rows=rows, columns=across)


@inline
def single_scores(scores, query, keys, j, seen, size, lanes):
    """scores[x] = query . keys[j + x]."""
    dt = scores.dtype
    step = lanes * 2
    whole = size - size % step
    for x in range(seen):
        part = zeros(dt, step)
        single = dt(0)
        for e in range(0, whole, step):
            part = multiply_add(query.load(e, width=step), keys[along((j + x,), e, step)].cast(dt), part)
        for e in range(whole, size):
            single = multiply_add(query[e], keys[j + x, e].cast(dt), single)
        scores[x] = fold(part, lambda a, b: a + b) + single


@inline
def add_single(result, weights, values, j, seen, broad, width, lanes, *, across):
    """result += weights[x] * values[j + x], for values whose rows are whole tiles."""
    dt = result.dtype
    for x in range(0, broad, width):

        def left(y):
            return load_column(weights, y, rows=1)

        def right(y):
            return [values[along((j + y,), x + c * lanes, lanes)].cast(dt) for c in range(across)]

        acc = load_tile(result, x, broad, lanes, rows=1, columns=across)
        acc = tile_product(acc, seen, left, right, rows=1, columns=across)
        store_tile(result, acc, x, broad, lanes, rows=1, columns=across)


@inline
def rescale_row(scores, weights, result, best, total, i, limit, span, broad, lanes, rows):
    """Turn one row of scores into weights against the best score so far, and fit the row's sum and result to it."""
    dt = scores.dtype
    step = lanes * 2
    for x in range(limit, span):
        scores[i * span + x] = dt(-dt.inf)
    top = splat(best[i], step)
    for x in range(0, span, step):
        top = larger_of(top, scores.load(i * span + x, width=step))  # a NaN is one in the sum below
    top = fold(top, larger_of)
    # While every key is masked the weights are 0, not exp(-inf + inf).
    base = select(top > dt(-dt.inf), top, dt(0))
    correction = exp(best[i] - base)
    part = zeros(dt, step)
    # In the order in which the product with the values reads them: `rows` queries side by side for each key, or, where
    # single values are loaded anyway, as they come.
    first = i // rows * rows * span + i % rows
    for x in range(0, span, step):
        weight = exp(scores.load(i * span + x, width=step) - base)
        part = part + weight
        if loads_lanes():
            for lane in unroll(step):
                weights[first + (x + lane) * rows] = weight[lane]
        else:
            weights.store(weight, i * span + x)
    total[i] = total[i] * correction + fold(part, lambda a, b: a + b)
    best[i] = top
    for x in range(0, broad, lanes):
        result.store(result.load(i * broad + x, width=lanes) * correction, i * broad + x)


@inline
def add_values(result, weights, values, used, seen, span, broad, width, lanes, *, rows, across):
    """result[i] += weights[i, j] * values[j]."""
    for i in range(0, used, rows):
        for x in range(0, broad, width):

            def left(j):
                if loads_lanes():
                    return load_column(weights, i * span + j * rows, rows=rows)
                return [weights[(i + r) * span + j] for r in range(rows)]

            def right(j):
                return [values.load(j * broad + x + c * lanes, width=lanes) for c in range(across)]

            acc = load_tile(result, i * broad + x, broad, lanes, rows=rows, columns=across)
            acc = tile_product(acc, seen, left, right, rows=rows, columns=across)
            store_tile(result, acc, i * broad + x, broad, lanes, rows=rows, columns=across)
