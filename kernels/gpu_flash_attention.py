"""Attention of 16-bit floats on tensor cores: scores exist only as fragments, with a running softmax over the keys.

A block of threads takes 128 queries of one head, a warp 16 of them; keys and values come into shared memory one block
ahead of their use. A lane holds parts of two rows of scores, g and g + 8; the other parts are in its three neighbours.
"""

from kernels.attention_heads import source_head
from kernels.gpu_async import end_group, wait_for_groups
from kernels.gpu_blocks import exchange
from kernels.gpu_fragments import (
    chunk_place,
    chunked_matrix_at,
    fill_chunk,
    load_right,
    load_right_turned,
    multiply_words,
    pair,
)
from kernels.gpu_tensor_cores import has_tensor_cores
from kernels.indexing import delinearise, matrix_at, product
from kernels.language import *

from .exponential import LOG2_E

QUERIES = 128
WORKERS = 256
CHUNK = 8
# Elements of a block of keys: two blocks of keys and two of values fill 32 KiB of shared memory.
BLOCK = 4096


@inline
def fits_flash_attention(q, k, v):
    """Whether these operands can be multiplied on tensor cores in this way."""
    size = q.shape[-1]
    if not has_tensor_cores(q, k) or k.dtype != v.dtype or not is_static(size) or not is_static(v.shape[-1]):
        return False
    return v.shape[-1] == size and (size == 32 or size == 64 or size == 128)


@inline
def fast_exp2(x):
    """2 to the x, within two units in the last place; minus infinity gives zero."""
    return intrinsic("llvm.nvvm.ex2.approx.ftz.f", f32, 1, x)


@inline
def over_neighbours(v, combine):
    """`v` of the four lanes that hold a row combined."""
    v = combine(v, exchange(v, 1))
    return combine(v, exchange(v, 2))


@inline
def masked_scores(scores, mask, lead, row, j0, t, factor, length, keys):
    """Scores as the mask makes them, in powers of two; -inf where there is no such query or key."""
    made = []
    for e in unroll(len(scores)):
        i, j = row + 8 * (e % 4 // 2), j0 + e // 4 * 8 + t * 2 + e % 2
        score = f32(-f32.inf)
        if (i < length) & (j < keys):
            score = mask(lead, i, j, 1, scores[e] * factor) * LOG2_E
        made = [*made, score]
    return made


@inline
def seen_scores(scores, row, j0, t, keys, *, is_causal):
    """Scores of keys that a query sees, -inf for the others."""
    made = []
    for e in unroll(len(scores)):
        j = j0 + e // 4 * 8 + t * 2 + e % 2
        seen = j < keys
        if is_causal:
            seen = seen & (j <= row + 8 * (e % 4 // 2))
        made = [*made, select(seen, scores[e], f32(-f32.inf))]
    return made


@inline
def mask_block(scores, mask, lead, i0, row, j0, t, factor, length, keys, *, masked, is_causal):
    """A block of scores, of queries from i0 on and keys from j0 on, as weigh_scores takes them, and its `unit`."""
    unit = factor * LOG2_E
    if masked:
        scores, unit = masked_scores(scores, mask, lead, row, j0, t, factor, length, keys), 1.0
    elif factor <= 0:
        scores, unit = [score * unit for score in scores], 1.0
    # Only the last blocks have keys that some query of this block does not see.
    behind = j0 + len(scores) * 2
    bound = behind > keys
    if is_causal:
        bound = bound | (behind > i0 + 1)
    if bound:
        scores = seen_scores(scores, row, j0, t, keys, is_causal=is_causal)
    return scores, unit


@inline
def weigh_scores(scores, best, total, acc, *, unit):
    """A block of scores becomes weights, 2 to the score times `unit`; what was summed so far is put on their footing.

    `unit` is positive, so that the best score is the best one before it is multiplied.
    """
    for half in unroll(2):
        top = best[half]
        for c in unroll(len(scores) // 4):
            top = fmax(top, fmax(scores[c * 4 + half * 2], scores[c * 4 + half * 2 + 1]))
        top = over_neighbours(top, lambda x, y: fmax(x, y))
        base_score = select(top > f32(-f32.inf), top, f32(0)) * unit
        correction = fast_exp2(fma(best[half], unit, -base_score))
        best[half] = top
        part = f32(0)
        for c in unroll(len(scores) // 4):
            for s in unroll(2):
                e = c * 4 + half * 2 + s
                scores[e] = fast_exp2(fma(scores[e], unit, -base_score))
                part = part + scores[e]
        total[half] = total[half] * correction + part
        for c in unroll(len(acc) // 4):
            for s in unroll(2):
                acc[c * 4 + half * 2 + s] = acc[c * 4 + half * 2 + s] * correction
    return scores, best, total, acc


@inline
def scaled_sums(acc, total):
    """The results of a thread: its sums over the whole weight of their rows."""
    scale = []
    for half in unroll(2):
        whole = over_neighbours(total[half], lambda x, y: x + y)
        scale = [*scale, f32(1) / select(whole != f32(0), whole, f32(1))]  # a row that sees nothing gives zeros
    return [acc[e] * scale[e % 4 // 2] for e in range(len(acc))]


@inline
def flash_attend(out, q, k, v, mask, *, masked, is_causal, scale, enable_gqa):
    """As attend, for operands that fit."""
    dt = q.dtype
    heads, length, keys, size = out.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1]
    chunks = size // CHUNK
    span = BLOCK // size
    factor = float(size) ** -0.5 if scale is None else float(scale)
    blocks = ceildiv(length, QUERIES)
    launch(blocks=product(heads) * blocks, threads=WORKERS)
    key_tiles = shared(dt, (2, span, size))
    value_tiles = shared(dt, (2, span, size))
    head = block_index() // blocks
    # The last queries of a causal head see the most keys: they begin first.
    i0 = (blocks - 1 - (block_index() - head * blocks)) * QUERIES
    lead = delinearise(head, heads)
    source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
    queries = matrix_at(q, lead)
    key_rows, value_rows = chunked_matrix_at(k, source_lead), chunked_matrix_at(v, source_lead)
    thread = thread_index()
    warp, lane = thread // 32, thread % 32
    g, t = lane // 4, lane % 4
    row = i0 + warp * 16 + g
    last = index(keys)
    if is_causal:
        last = min(last, i0 + QUERIES)
    rounds = ceildiv(last, span)

    def fill(round):
        base, j0 = round % 2 * BLOCK, round * span
        for step in unroll(span * chunks // WORKERS):
            e = thread + step * WORKERS
            j, c = e // chunks, e % chunks
            inside = j0 + j < keys
            place = base + chunk_place(j, c, chunks=chunks)
            fill_chunk(key_tiles, place, key_rows, j0 + j, c, inside=inside)
            fill_chunk(value_tiles, place, value_rows, j0 + j, c, inside=inside)

    # Words of the queries, which stay in registers. Rows that there are not are read as the last one, and not stored.
    words = []
    for x in unroll(0, size, 16):
        for p in unroll(4):
            i = min(row + 8 * (p % 2), index(length) - 1)
            words = words + [word(queries.load(i, x + t * 2 + 8 * (p // 2), width=2), i32)]

    best = [f32(-f32.inf) for _ in range(2)]
    total = [f32(0) for _ in range(2)]
    acc = [f32(0) for _ in range(size // 2)]
    if rounds > 0:
        fill(index(0))
    end_group()
    for round in range(rounds):
        if round + 1 < rounds:
            fill(round + 1)
        end_group()
        wait_for_groups(pending=1)
        barrier()
        base, j0 = round % 2 * BLOCK, round * span
        scores = [f32(0) for _ in range(span // 2)]
        for x in unroll(0, size, 16):
            for j in unroll(0, span, 16):
                four = load_right_turned(key_tiles, base, x, j, chunks=chunks)
                for half in unroll(2):
                    at = (j // 8 + half) * 4
                    left = words[x // 4 : x // 4 + 4]
                    sums = multiply_words(dt, left, four[2 * half : 2 * half + 2], scores[at : at + 4])
                    for s in unroll(4):
                        scores[at + s] = sums[s]
        scores, unit = mask_block(
            scores, mask, lead, i0, row, j0, t, factor, length, keys, masked=masked, is_causal=is_causal
        )
        scores, best, total, acc = weigh_scores(scores, best, total, acc, unit=unit)
        for j in unroll(0, span, 16):
            at = j // 2
            left = [pair(dt, scores[at + 2 * p], scores[at + 2 * p + 1]) for p in range(4)]
            for x in unroll(0, size, 16):
                four = load_right(value_tiles, base, j, x, chunks=chunks)
                for half in unroll(2):
                    to = (x // 8 + half) * 4
                    sums = multiply_words(dt, left, four[2 * half : 2 * half + 2], acc[to : to + 4])
                    for s in unroll(4):
                        acc[to + s] = sums[s]
        barrier()
    acc = scaled_sums(acc, total)
    for half in unroll(2):
        i = row + 8 * half
        if i < length:
            for c in unroll(size // 8):
                both = vector(acc[c * 4 + half * 2], acc[c * 4 + half * 2 + 1]).cast(out.dtype)
                out[position(lead + (i, c * 8 + t * 2), width=2, axis=out.rank - 1)] = both
