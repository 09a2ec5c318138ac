"""Attention of 16-bit floats by warpgroups (sm_90a), with a running softmax over the keys.

A block has three warpgroups and takes 128 queries of a head: one warpgroup has the copy engine bring queries, keys and
values; two score, weigh and sum, each for 64 queries. While one computes weights, the other multiplies.
"""

from kernels.attention_heads import source_head
from kernels.gpu_flash_attention import mask_block, scaled_sums, weigh_scores
from kernels.gpu_fragments import pair
from kernels.gpu_layout import laid_out, meet_all
from kernels.gpu_warpgroup_matmul import store_sums
from kernels.gpu_warpgroups import (
    arrive,
    arrive_expecting,
    barriers_are_made,
    describe_tile,
    fewer_registers,
    has_warpgroups,
    make_barrier,
    more_registers,
    multiply_tiles,
    multiply_words_tiles,
    next_stage,
    shared_address,
    start_tile_copy,
    wait_for,
)
from kernels.indexing import delinearise, product
from kernels.language import *

from .gpu_blocks import PROCESSORS

QUERIES = 128
SPAN = 128
STAGES = 2
WARPGROUP = 128
ROW_BYTES = 128
ROW = 64
# Head sizes. The copy engine fills the last row of 64 with zeros behind a head of another size.
NARROWEST, WIDEST = 40, 128
# Elements of the queries from which on the blocks that lay one operand out wait for each other no longer than a kernel
# that does it takes.
WORTH_LAYING_OUT = 1 << 23


@inline
def fits_warpgroup_attention(q, k, v):
    """Whether these operands can be multiplied in this way; few queries are not worth it."""
    size, length = q.shape[-1], q.shape[-2]
    if not has_warpgroups(q.dtype) or k.dtype != q.dtype or v.dtype != q.dtype:
        return False
    if not is_static(size) or not is_static(v.shape[-1]) or (is_static(length) and length < 64):
        return False
    return v.shape[-1] == size and NARROWEST <= size and size <= WIDEST and size % 8 == 0


@inline
def lays_out_one(q, computed):
    """Whether one operand is sooner laid out, with what is computed on it, than stored by a kernel of its own; several
    are in any case."""
    return sum([1 for one in computed if one]) > 1 or not is_static(q.size) or q.size >= WORTH_LAYING_OUT


@inline
def row_room(size):
    """Elements that a row of a head takes in shared memory."""
    return ceildiv(size, ROW) * ROW


@inline
def rows_map(x, *, rows):
    """The map of an operand that is copied by `rows` rows of 64 elements."""
    return tensor_map(x, (1,) * (len(map_axes(x)) - 2) + (rows, ROW))


@inline
def copy_rows(to, source, x, lead, first, barrier_at, *, rows):
    """Start the copies of `rows` rows of a head, 64 elements of each at a time."""
    outer = tuple([lead[axis].cast(i32) for axis in map_axes(x)[:-2]])
    outer = tuple([outer[len(outer) - 1 - e] for e in range(len(outer))])
    for x0 in unroll(0, row_room(x.shape[-1]), ROW):
        start_tile_copy(to + x0 // ROW * (rows * ROW_BYTES), source, (i32(x0), first) + outer, barrier_at)


@inline
def warpgroup_attend(out, q, k, v, mask, *, masked, is_causal, scale, enable_gqa):
    """As attend, for operands that fit."""
    dt = q.dtype
    heads, length, keys, size = out.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1]
    factor = float(size) ** -0.5 if scale is None else float(scale)
    blocks = ceildiv(length, QUERIES)
    tiles = product(heads) * blocks
    at_hand = can_map(q) and can_map(k) and can_map(v)
    launch(
        blocks=tiles if at_hand else max(tiles, PROCESSORS), threads=3 * WARPGROUP, resident=not at_hand,
        together=not at_hand,
    )  # fmt: skip
    queries = q if can_map(q) else laid_out(q)
    key_rows = k if can_map(k) else laid_out(k)
    value_rows = v if can_map(v) else laid_out(v)
    if not at_hand:
        meet_all()
    query_map, key_map = rows_map(queries, rows=QUERIES), rows_map(key_rows, rows=SPAN)
    value_map = rows_map(value_rows, rows=SPAN)
    tile_bytes = SPAN * row_room(size) * 2
    memory = shared_address(shared(dt, (2 * STAGES + 1) * SPAN * row_room(size), of_launch=True))
    barriers = shared_address(shared(i64, 4 * STAGES + 2))
    thread = thread_index()

    def keys_at(stage):
        return memory + tile_bytes + stage * (2 * tile_bytes)

    def values_at(stage):
        return memory + 2 * tile_bytes + stage * (2 * tile_bytes)

    # Of each stage: keys there, keys done with, values there, values done with; then the same of the queries.
    def barrier_of(stage, which):
        return barriers + stage * 32 + which * 8

    queries_there, queries_done = barriers + STAGES * 32, barriers + STAGES * 32 + 8

    def place(tile):
        """The head of a tile, its first query, and how many blocks of keys it sees; those that see most come first."""
        if at_hand:
            head = tile // blocks
            i0 = (blocks - 1 - (tile - head * blocks)) * QUERIES
        else:
            head = tile % product(heads)
            i0 = (blocks - 1 - tile // product(heads)) * QUERIES
        last = index(keys)
        if is_causal:
            last = min(last, i0 + QUERIES)
        return delinearise(head, heads), i0, ceildiv(last, SPAN)

    def produce():
        stage, parity, query_parity = i32(0), i32(1), i32(1)
        for tile in range(block_index(), tiles, block_count()):
            lead, i0, rounds = place(tile)
            source_lead = source_head(lead, heads, k, enable_gqa=enable_gqa)
            wait_for(queries_done, query_parity)
            query_parity = query_parity ^ 1
            arrive_expecting(queries_there, size=tile_bytes)
            copy_rows(memory, query_map, queries, lead, i0.cast(i32), queries_there, rows=QUERIES)
            for round in range(rounds):
                j0 = (round * SPAN).cast(i32)
                wait_for(barrier_of(stage, 1), parity)
                arrive_expecting(barrier_of(stage, 0), size=tile_bytes)
                copy_rows(keys_at(stage), key_map, key_rows, source_lead, j0, barrier_of(stage, 0), rows=SPAN)
                wait_for(barrier_of(stage, 3), parity)
                arrive_expecting(barrier_of(stage, 2), size=tile_bytes)
                copy_rows(values_at(stage), value_map, value_rows, source_lead, j0, barrier_of(stage, 2), rows=SPAN)
                stage, parity = next_stage(stage, parity, stages=STAGES)

    def consume(part):
        stage, parity, query_parity = i32(0), i32(0), i32(0)
        within = thread % WARPGROUP
        g, t = within % 32 // 4, within % 4
        for tile in range(block_index(), tiles, block_count()):
            lead, i0, rounds = place(tile)
            row = i0 + part * 64 + within // 32 * 16 + g
            best = [f32(-f32.inf) for _ in range(2)]
            total = [f32(0) for _ in range(2)]
            acc = [f32(0) for _ in range(size // 2)]
            wait_for(queries_there, query_parity)
            query_parity = query_parity ^ 1
            first = describe_tile(memory + part.cast(i32) * (64 * ROW_BYTES), between=ROW_BYTES)
            lefts = [first + (x // ROW * (QUERIES * ROW_BYTES) + x % ROW * 2) // 16 for x in range(0, size, 16)]
            for round in range(rounds):
                j0 = round * SPAN
                wait_for(barrier_of(stage, 0), parity)
                second = describe_tile(keys_at(stage), between=ROW_BYTES)
                rights = [second + (x // ROW * (SPAN * ROW_BYTES) + x % ROW * 2) // 16 for x in range(0, size, 16)]
                scores = [f32(0) for _ in range(SPAN // 2)]
                scores = multiply_tiles(dt, scores, lefts, rights, left_turned=False, right_turned=False)
                if within % 32 == 0:
                    arrive(barrier_of(stage, 1))
                scores, unit = mask_block(
                    scores, mask, lead, i0, row, j0, t, factor, length, keys, masked=masked, is_causal=is_causal
                )
                scores, best, total, acc = weigh_scores(scores, best, total, acc, unit=unit)
                words = [pair(dt, scores[2 * w], scores[2 * w + 1]) for w in range(SPAN // 4)]
                wait_for(barrier_of(stage, 2), parity)
                third = describe_tile(values_at(stage), between=SPAN * ROW_BYTES)
                rights = [third + j * ROW_BYTES // 16 for j in range(0, SPAN, 16)]
                acc = multiply_words_tiles(dt, acc, words, rights, right_turned=True)
                if within % 32 == 0:
                    arrive(barrier_of(stage, 3))
                stage, parity = next_stage(stage, parity, stages=STAGES)
            if within % 32 == 0:
                arrive(queries_done)
            sums = scaled_sums(acc, total)
            sums = sums + [f32(0) for _ in range(-len(sums) % 16)]  # what stores columns takes 32 at once
            store_sums(out, sums, lead, row, index(0), t)

    if thread == 0:
        for stage in unroll(STAGES):
            for which in unroll(4):
                make_barrier(barrier_of(stage, which), arrivals=1 if which % 2 == 0 else 8)
        make_barrier(queries_there, arrivals=1)
        make_barrier(queries_done, arrivals=8)
        barriers_are_made()
    barrier()
    if thread < WARPGROUP:
        fewer_registers(count=40)
        if thread == 0:
            produce()
    else:
        more_registers(count=232)
        consume(thread // WARPGROUP - 1)
