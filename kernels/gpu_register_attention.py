"""Attention on NVIDIA GPUs without tensor cores, with a running softmax: of f32, and of heads that those do not take.

A block has 64 queries of a head and goes through the keys 64 at a time; a thread has 4 queries, with 4 keys when it
scores and with the columns of 4 lanes, once or more, when it sums. Keys and values come into the same place in shared
memory, one after the other; while one is worked on, the other is on its way in registers.

What is read four queries or keys at a time but comes along the other axis is rotated by 4 for every 4 rows, so that no
two threads of a warp store to the same bank.
"""

from kernels.attention_heads import source_head
from kernels.exponential import exp
from kernels.gemm import multiply_add
from kernels.gpu_blocks import exchange
from kernels.indexing import delinearise, fix_leading, product
from kernels.language import *

TILE = 64
LANES = 4
# Threads that have the same queries; lanes of half a warp.
SHARERS = TILE // LANES
THREADS = SHARERS * SHARERS
# Rows of keys and chunks of four of their elements that a warp loads together: whole lines of the cache.
CHUNKS = 8
WIDEST = 128
# Cards before sm_80 have no shared memory for wider heads.
WIDEST_BEFORE = 64
# Fewer queries leave most of a tile empty.
FEWEST = 8


@inline
def fits_register_attention(q, k, v):
    """Whether these operands can be multiplied in this way, and are worth it."""
    size, wide, length = q.shape[-1], v.shape[-1], q.shape[-2]
    if not target.is_nvidia or q.dtype.acc != f32 or not is_static(size) or not is_static(wide):
        return False
    most = WIDEST if target.arch >= 80 else WIDEST_BEFORE
    if min(size, wide) < LANES or max(size, wide) > most or size % LANES != 0 or wide % LANES != 0:
        return False
    return not is_static(length) or length >= FEWEST


@inline
def rotated(column, row):
    """Where a column of a row of 64 is, both multiples of four."""
    return (column + row) % TILE


@inline
def fetch_turned(rows, first, count, *, size):
    """This thread's part of 64 rows, which are to be turned; those that there are not are read as the last one."""
    parts = []
    for step in unroll(2 * ceildiv(size, CHUNKS * LANES)):
        row, x = turned_place(step)
        where = (min(first + row, index(count) - 1), min(x, size - LANES))
        parts = [*parts, rows[position(where, width=LANES, axis=1)].cast(f32)]
    return parts


@inline
def turned_place(step):
    """The row that this thread loads in a step, and its first element of four."""
    e = thread_index() + step * THREADS
    return e // CHUNKS % TILE, (e // (CHUNKS * TILE) * CHUNKS + e % CHUNKS) * LANES


@inline
def put_turned(tile, parts, *, size):
    """What was fetched into a tile that has 64 columns for each element of a row."""
    for step in unroll(len(parts)):
        row, x = turned_place(step)
        if size % (CHUNKS * LANES) == 0:
            put_column(tile, parts[step], row, x)
        elif x < size:
            put_column(tile, parts[step], row, x)


@inline
def put_column(tile, part, row, x):
    for e in unroll(LANES):
        tile[(x + e) * TILE + rotated(row, x)] = part[e]


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
    e = thread_index() + step * THREADS
    return e // (pitch // LANES), e % (pitch // LANES) * LANES


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
def register_attend(out, q, k, v, mask, *, masked, is_causal, scale, enable_gqa):
    """As attend, for operands that fit."""
    heads, length, keys = out.shape[:-2], q.shape[-2], k.shape[-2]
    size, wide = q.shape[-1], v.shape[-1]
    factor = f32(float(size) ** -0.5 if scale is None else float(scale))
    across = ceildiv(wide, TILE)
    pitch = across * TILE
    blocks = ceildiv(length, TILE)
    launch(blocks=product(heads) * blocks, threads=THREADS, per_processor=2)
    query_tile = shared(f32, size * TILE, of_launch=True)
    tile = shared(f32, max(size, pitch) * TILE, of_launch=True)
    weights = shared(f32, TILE * TILE, of_launch=True)
    head = block_index() // blocks
    # The last queries of a causal head see the most keys: they begin first.
    i0 = (blocks - 1 - (block_index() - head * blocks)) * TILE
    lead = delinearise(head, heads)
    source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
    queries, key_rows, value_rows = fix_leading(q, lead), fix_leading(k, source_lead), fix_leading(v, source_lead)
    row, column = thread_index() // SHARERS * LANES, thread_index() % SHARERS * LANES
    last = index(keys)
    if is_causal:
        last = min(last, i0 + TILE)
    rounds = ceildiv(last, TILE)

    put_turned(query_tile, [part * factor for part in fetch_turned(queries, i0, length, size=size)], size=size)
    best = [f32(-f32.inf) for _ in range(LANES)]
    total = [f32(0) for _ in range(LANES)]
    acc = [zeros(f32, LANES) for _ in range(LANES * across)]
    fetched = [zeros(f32, LANES) for _ in range(2 * ceildiv(size, CHUNKS * LANES))]
    if rounds > 0:
        fetched = fetch_turned(key_rows, index(0), keys, size=size)
    for round in range(rounds):
        j0 = round * TILE
        put_turned(tile, fetched, size=size)
        values = fetch_values(value_rows, j0, keys, wide=wide, pitch=pitch)
        barrier()
        scores = [zeros(f32, LANES) for _ in range(LANES)]
        for x in range(0, size, LANES):
            for e in unroll(LANES):
                a = query_tile.load((x + e) * TILE + rotated(row, x), width=LANES)
                b = tile.load((x + e) * TILE + rotated(column, x), width=LANES)
                for r in unroll(LANES):
                    scores[r] = multiply_add(splat(a[r], LANES), b, scores[r])
        seen = []
        for r in unroll(LANES):
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
            correction = exp(best[r] - base)
            best[r] = top
            kept = [exp(score - base) for score in kept]
            total[r] = total[r] * correction + ((kept[0] + kept[1]) + (kept[2] + kept[3]))
            for h in unroll(across):
                acc[r * across + h] = acc[r * across + h] * splat(correction, LANES)
            seen = [*seen, kept]
        for c in unroll(LANES):
            turned = vector(*[seen[r][c] for r in range(LANES)])
            weights.store(turned, (column + c) * TILE + rotated(row, column))
        barrier()
        put_values(tile, values, pitch=pitch)
        fetched = fetch_turned(key_rows, min(round + 1, rounds - 1) * TILE, keys, size=size)
        barrier()
        for j in range(0, TILE, LANES):
            for e in unroll(LANES):
                a = weights.load((j + e) * TILE + rotated(row, j), width=LANES)
                for h in unroll(across):
                    b = tile.load((j + e) * pitch + column + h * TILE, width=LANES)
                    for r in unroll(LANES):
                        acc[r * across + h] = multiply_add(splat(a[r], LANES), b, acc[r * across + h])
        barrier()
    for r in unroll(LANES):
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
