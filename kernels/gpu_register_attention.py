"""Attention on NVIDIA GPUs without tensor cores, with a running softmax: of f32, and of heads that those do not take.

A block has 64 or 128 queries of a head and goes through the keys 64 at a time; a thread has 4 or 8 queries, with 4 keys
when it scores and with the columns of 4 lanes, once or more, when it sums. Keys and values come into the same place in
shared memory, one after the other; while one is worked on, the other is on its way in registers. Scores are in powers
of two, whose approximation errs by two units in the last place: less than the sums of so many products.

What is read four queries or keys at a time but comes along the other axis is rotated by 4 for every 4 rows, so that no
two threads of a warp store to the same bank.
"""

from kernels.attention_heads import source_head
from kernels.gemm import multiply_add, round_up
from kernels.gpu_blocks import exchange
from kernels.gpu_flash_attention import fast_exp2
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *

from .exponential import LOG2_E
from .gpu_blocks import PROCESSORS

TILE = 64
LANES = 4
# Threads that have the same queries; lanes of half a warp.
SHARERS = TILE // LANES
THREADS = SHARERS * SHARERS
# Rows of keys and chunks of four of their elements that a warp loads together: whole lines of the cache.
CHUNKS = 8
WIDEST = 128
# Fewer queries leave most of a tile empty.
FEWEST = 8


@inline
def fits_register_attention(q, k, v):
    """Whether these operands can be multiplied in this way, and are worth it."""
    size, wide, length = q.shape[-1], v.shape[-1], q.shape[-2]
    if not target.is_nvidia or q.dtype.acc != f32 or not is_static(size) or not is_static(wide):
        return False
    if min(size, wide) < LANES or max(size, wide) > WIDEST or size % LANES != 0 or wide % LANES != 0:
        return False
    if shared_elements(size, wide, TILE) * 4 > target.shared_bytes:
        return False
    return not is_static(length) or length >= FEWEST


@inline
def shared_elements(size, wide, taken):
    """Of a block of so many queries: these, keys or values, and the weights of both."""
    return size * taken + max(size, round_up(wide, TILE)) * TILE + TILE * taken


@inline
def queries_of_thread(heads, length, size, wide, *, is_causal):
    """How many: with eight, half as much comes from shared memory for each. That pays where there are then still blocks
    for half of the card, and for narrow heads only where no block has less to do than others."""
    many = 2 * LANES
    taken = many * SHARERS
    if shared_elements(size, wide, taken) * 4 > target.shared_bytes:
        return LANES
    best = LANES
    if is_static(length) and is_static(product(heads)):
        if 2 * product(heads) * ceildiv(length, taken) > PROCESSORS and (wide > TILE or not is_causal):
            best = many
    return choice("queries", best, (LANES, many))


@inline
def rotated(column, row, *, columns):
    """Where a column of a row of so many is, both multiples of four."""
    return (column + row) % columns


@inline
def fetch_turned(rows, first, count, *, size, taken):
    """This thread's part of so many rows, which are to be turned; those that there are not are read as the last one."""
    parts = []
    for step in unroll(ceildiv(size, CHUNKS * LANES) * taken * CHUNKS // THREADS):
        row, x = turned_place(step, taken=taken)
        where = (min(first + row, index(count) - 1), min(x, size - LANES))
        parts = [*parts, rows[position(where, width=LANES, axis=1)].cast(f32)]
    return parts


@inline
def turned_place(step, *, taken):
    """The row that this thread loads in a step, and its first element of four."""
    rows = THREADS // CHUNKS
    across = step // (taken // rows) * CHUNKS
    return thread_index() // CHUNKS + step % (taken // rows) * rows, (thread_index() % CHUNKS + across) * LANES


@inline
def put_turned(tile, parts, *, size, taken):
    """What was fetched into a tile that has a column for each row, and a row for each of their elements."""
    for step in unroll(len(parts)):
        row, x = turned_place(step, taken=taken)
        if size % (CHUNKS * LANES) == 0:
            put_column(tile, parts[step], row, x, columns=taken)
        elif x < size:
            put_column(tile, parts[step], row, x, columns=taken)


@inline
def put_column(tile, part, row, x, *, columns):
    for e in unroll(LANES):
        tile[x * columns + rotated(row, x, columns=columns) + e * columns] = part[e]


@inline
def fetch_values(rows, first, count, *, wide, pitch):
    """This thread's part of 64 rows of values; zeros where there are none, and behind the end of a row."""
    parts = []
    for step in unroll(TILE * pitch // (THREADS * LANES)):
        row, x = value_place(step, pitch=pitch)
        where = (min(first + row, index(count) - 1), min(x, wide - LANES))
        v = rows[position(where, width=LANES, axis=1)].cast(f32)
        inside = first + row < count
        if pitch != wide:
            inside = inside & (x < wide)
        parts = [*parts, select(inside, v, zeros(f32, LANES))]
    return parts


@inline
def value_place(step, *, pitch):
    """The row of values that this thread loads in a step, and its first element of four."""
    sharers = pitch // LANES
    return thread_index() // sharers + step * (THREADS // sharers), thread_index() % sharers * LANES


@inline
def put_values(tile, parts, *, pitch):
    """What was fetched into a tile that has the rows as they are."""
    for step in unroll(len(parts)):
        row, x = value_place(step, pitch=pitch)
        tile.store(parts[step], row * pitch + x)


@inline
def over_sharers(v, combine):
    """`v` of the threads that have the same queries combined."""
    for step in unroll(4):
        v = combine(v, exchange(v, 8 >> step))
    return v


@inline
def of_queries(tile, x, e, row, *, each, taken):
    """What row x + e of a turned tile, of which x is a multiple of four, has for this thread's queries."""
    found = []
    for part in unroll(each // LANES):
        at = x * taken + rotated(row + part * LANES, x, columns=taken) + e * taken
        four = tile.load(at, width=LANES)
        found = [*found, *[four[r] for r in range(LANES)]]
    return found


@inline
def register_attend(out, q, k, v, mask, *, masked, is_causal, scale, enable_gqa):
    """As attend, for operands that fit."""
    heads, length, keys = out.shape[:-2], q.shape[-2], k.shape[-2]
    size, wide = q.shape[-1], v.shape[-1]
    # Scores are in powers of two, but for those that a mask is to see.
    unit = float(LOG2_E) if masked else 1.0
    factor = (float(size) ** -0.5 if scale is None else float(scale)) * LOG2_E / unit
    across = ceildiv(wide, TILE)
    pitch = across * TILE
    each = queries_of_thread(heads, length, size, wide, is_causal=is_causal)
    taken = SHARERS * each
    blocks = ceildiv(length, taken)
    launch(blocks=product(heads) * blocks, threads=THREADS, per_processor=2 * LANES // each)
    query_tile = shared(f32, size * taken, of_launch=True)
    tile = shared(f32, max(size, pitch) * TILE, of_launch=True)
    weights = shared(f32, TILE * taken, of_launch=True)
    head = block_index() // blocks
    # The last queries of a causal head see the most keys: they begin first.
    i0 = (blocks - 1 - (block_index() - head * blocks)) * taken
    lead = delinearise(head, heads)
    source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
    queries, key_rows, value_rows = fix_leading(q, lead), fix_leading(k, source_lead), fix_leading(v, source_lead)
    row, column = thread_index() // SHARERS * each, thread_index() % SHARERS * LANES
    last = index(keys)
    if is_causal:
        last = min(last, i0 + taken)
    rounds = ceildiv(last, TILE)

    fetched_queries = fetch_turned(queries, i0, length, size=size, taken=taken)
    put_turned(query_tile, [part * f32(factor) for part in fetched_queries], size=size, taken=taken)
    best = [f32(-f32.inf) for _ in range(each)]
    total = [f32(0) for _ in range(each)]
    acc = [zeros(f32, LANES) for _ in range(each * across)]
    fetched = [zeros(f32, LANES) for _ in range(2 * ceildiv(size, CHUNKS * LANES))]
    if rounds > 0:
        fetched = fetch_turned(key_rows, index(0), keys, size=size, taken=TILE)
    for round in range(rounds):
        j0 = round * TILE
        put_turned(tile, fetched, size=size, taken=TILE)
        values = fetch_values(value_rows, j0, keys, wide=wide, pitch=pitch)
        barrier()
        scores = [zeros(f32, LANES) for _ in range(each)]
        for x in range(0, size, LANES):
            for e in unroll(LANES):
                a = of_queries(query_tile, x, e, row, each=each, taken=taken)
                b = tile.load(x * TILE + rotated(column, x, columns=TILE) + e * TILE, width=LANES)
                for r in unroll(each):
                    scores[r] = multiply_add(splat(a[r], LANES), b, scores[r])
        for r in unroll(each):
            i = i0 + row + r
            kept = []
            for c in unroll(LANES):
                j = j0 + column + c
                score = scores[r][c]
                if masked:
                    score = mask(lead, min(i, index(length) - 1), min(j, index(keys) - 1), 1, score)
                there = j < keys
                if is_causal:
                    there = there & (j <= i)
                kept = [*kept, select(there, score, f32(-f32.inf))]
            top = over_sharers(max(max(kept[0], kept[1]), max(kept[2], kept[3])), lambda x, y: max(x, y))
            top = max(best[r], top)
            base = select(top > f32(-f32.inf), top, f32(0))
            correction = fast_exp2((best[r] - base) * unit)
            best[r] = top
            kept = [fast_exp2((score - base) * unit) for score in kept]
            total[r] = total[r] * correction + ((kept[0] + kept[1]) + (kept[2] + kept[3]))
            for h in unroll(across):
                acc[r * across + h] = acc[r * across + h] * splat(correction, LANES)
            scores[r] = vector(*kept)
        for part in unroll(each // LANES):
            at = column * taken + rotated(row + part * LANES, column, columns=taken)
            for c in unroll(LANES):
                turned = vector(*[scores[part * LANES + r][c] for r in range(LANES)])
                weights.store(turned, at + c * taken)
        barrier()
        put_values(tile, values, pitch=pitch)
        fetched = fetch_turned(key_rows, min(round + 1, rounds - 1) * TILE, keys, size=size, taken=TILE)
        barrier()
        for j in range(0, TILE, LANES):
            for e in unroll(LANES):
                a = of_queries(weights, j, e, row, each=each, taken=taken)
                for h in unroll(across):
                    b = tile.load(j * pitch + column + (e * pitch + h * TILE), width=LANES)
                    for r in unroll(each):
                        acc[r * across + h] = multiply_add(splat(a[r], LANES), b, acc[r * across + h])
        barrier()
    for r in unroll(each):
        whole = over_sharers(total[r], lambda x, y: x + y)
        share = f32(1) / select(whole != f32(0), whole, f32(1))  # a row that sees nothing gives zeros
        i = i0 + row + r
        if i < length:
            for h in unroll(across):
                x = column + h * TILE
                result = (acc[r * across + h] * splat(share, LANES)).cast(out.dtype)
                if (h + 1) * TILE <= wide:
                    out[position(lead + (i, x), width=LANES, axis=out.rank - 1)] = result
                elif x < wide:
                    out[position(lead + (i, x), width=LANES, axis=out.rank - 1)] = result
