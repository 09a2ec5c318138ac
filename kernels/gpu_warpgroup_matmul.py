"""Matrix products of 16-bit floats by warpgroups (sm_90a), summed in f32.

A block has three warpgroups: one has the copy engine bring tiles of the operands, 64 deep, into shared memory; two
multiply them, each 64 of a tile's 128 rows. Blocks stay and take one tile of the result after the other, so that the
next one's operands are on their way while a tile is stored.
"""

from kernels.gpu_clusters import arrive_at, meet_cluster
from kernels.gpu_layout import (
    count_before,
    laid_out,
    lay_out,
    lay_out_later,
    meet_all,
    room_for,
    row_classes,
    wait_to_meet,
)
from kernels.gpu_reduce import is_last, sums_of_parts
from kernels.gpu_warpgroup_stores import store_chunks, store_ragged, store_sums, stores_chunks
from kernels.gpu_warpgroup_tiles import (
    along_rows,
    blocks_of_pair,
    class_tiles,
    comes_later,
    is_far_from_lines,
    narrow_columns,
    parts_of_k,
    reads_by_class,
    tile_columns,
)
from kernels.gpu_warpgroups import (
    arrive,
    arrive_expecting,
    barriers_are_made,
    describe_strip,
    describe_tile,
    fetch_map,
    fewer_registers,
    hide_columns,
    make_barrier,
    meet_warps,
    more_registers,
    multiply_tiles,
    next_stage,
    shared_address,
    start_tile_copy,
    wait_for,
)
from kernels.indexing import delinearise, product
from kernels.language import *

from .gpu_blocks import PROCESSORS
from .gpu_layout import AHEAD_ONCE, CLASSES
from .gpu_warpgroup_tiles import BAND, DEEP, DOWN, EARLY, LATER_BAND, ROW_BYTES, WIDTHS

WARPGROUP = 128
# Bytes of shared memory for the stages, of which there are at most eight.
STAGE_BYTES = 200 * 1024
# Vectors of sums of other parts that a thread loads before it adds them up.
SUMS_AHEAD = 16
# Warps of a block that lay out what is needed later: more would take memory from the products, one is too slow.
LATER_WARPS = 2


@inline
def operand_map(x, *, rows, by_k):
    """The map of an operand, copied by `rows` rows or columns beside k, of these at most 64 at once; `by_k`: k runs
    along its rows in memory."""
    lead = (1,) * (len(map_axes(x)) - 2)
    return tensor_map(x, lead + (rows, DEEP)) if by_k else tensor_map(x, lead + (DEEP, min(rows, 64)))


@inline
def copy_operand(to, source, x, lead, first, k, barrier_at, *, rows, by_k, pair=1, part=0):
    """Start the copies of one tile of an operand: `rows` from `first` on, DEEP from k on.

    For a pair of blocks, to both: half of them, those of this part.
    """
    groups = tuple([lead[axis].cast(i32) for axis in map_axes(x)[:-2]])
    outer = tuple([groups[len(groups) - 1 - e] for e in range(len(groups))])
    if by_k:
        skipped = part * (rows // pair)
        start_tile_copy(to + skipped * ROW_BYTES, source, (k, first + skipped) + outer, barrier_at, blocks=pair)
    else:
        for c in unroll(0, rows, 64):
            if pair == 1 or part == c // 64 % pair:
                start_tile_copy(to + c * ROW_BYTES, source, (first + c, k) + outer, barrier_at, blocks=pair)


@inline
def warpgroup_matmul(out, a, b):
    """out[..., i, j] is the sum over k of a[..., i, k] * b[..., k, j]."""
    dt = a.dtype
    m, n, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    batch = out.shape[:-2]
    right, right_turned = along_rows(b)
    left, left_turned = along_rows(a)
    unlined = can_map(right) and not right_turned and is_far_from_lines(right, m, out.size * depth)
    at_hand = can_map(left) and can_map(right) and not unlined
    parts = choice("parts", *parts_of_k(m, n, product(batch), ceildiv(depth, DEEP)))
    across = tile_columns(m, n, product(batch), ceildiv(depth, DEEP), any_width=right_turned, parts=parts)
    across = choice("columns", across, [c for c in WIDTHS if right_turned or c % 64 == 0])
    left_bytes, right_bytes = DOWN * DEEP * 2, across * DEEP * 2
    most_stages = min(STAGE_BYTES // (left_bytes + right_bytes), 8)
    stages = choice("stages", most_stages, [s for s in (3, 4, 5, 6) if s < most_stages])
    # A last column of tiles that is narrow is left for the blocks that have had fewer tiles than others.
    narrow = narrow_columns(n, across) if parts == 1 else 0
    left_by_k, right_by_k = not left_turned, right_turned
    by_class = parts == 1 and left_by_k and reads_by_class(left, right_by_k, m)
    # Rows of the result from one of a tile to the next.
    apart = CLASSES if by_class else 1
    tiles_down = class_tiles(m) if by_class else ceildiv(m, DOWN)
    tiles_across = n // across if narrow else ceildiv(n, across)
    tiles = tiles_down * tiles_across * product(batch)
    pair = blocks_of_pair(tiles_down, by_class=by_class) if parts == 1 else 1
    later = (not can_map(right) or unlined) and comes_later(right, right_by_k, tiles_down, tiles_across)
    band_rows = choice("band", LATER_BAND if later else BAND, (4, 8, 16, 32))
    # What follows counts pairs, where there are some: of blocks, and of tiles below each other.
    pairs_down, tiles, band_pairs = tiles_down // pair, tiles // pair, band_rows // pair
    narrow_count = pairs_down * product(batch) if narrow else 0
    at_hand = at_hand or (by_class and can_map(right) and not unlined)
    # Laying out is work for all; there may be fewer tiles than multiprocessors.
    blocks = (tiles * parts + narrow_count) * pair
    launch(
        blocks=blocks if at_hand else max(blocks, PROCESSORS), threads=3 * WARPGROUP, resident=True,
        together=not at_hand, cluster=pair,
    )  # fmt: skip
    taker, takers, part = block_index() // pair, block_count() // pair, (block_index() % pair).cast(i32)
    memory = shared_address(shared(dt, stages * (left_bytes + right_bytes) // 2, of_launch=True))
    classes = row_classes(left) if by_class else ()
    barriers = shared_address(shared(i64, 2 * stages))
    thread = thread_index()

    def full(stage):
        return barriers + stage * 16

    def empty(stage):
        return barriers + stage * 16 + 8

    if thread == 0:
        for stage in unroll(stages):
            make_barrier(full(stage), arrivals=1)
            make_barrier(empty(stage), arrivals=8 * pair)
        barriers_are_made()
    if not can_map(left) and not by_class:
        left = laid_out(left)
    given, counters = right, workspace(i32, ceildiv(n, across)) if later else None
    uncounted = count_before(counters, EARLY) if later else None
    if later:
        right = room_for(given)
        lay_out(given, right, columns=EARLY * across, ahead=AHEAD_ONCE)
    elif not can_map(right) or unlined:
        right = laid_out(right)
    if not at_hand:
        meet_all()
    elif pair == 1:
        barrier()
    else:
        meet_cluster()
    left_maps = [operand_map(x, rows=DOWN, by_k=left_by_k) for x, _ in (classes if by_class else ((left, 0),))]
    right_map = operand_map(right, rows=across // pair if right_by_k else across, by_k=right_by_k)
    whole = is_static(n % 8) and n % 8 == 0
    by_chunks = not whole and stores_chunks(out, apart)
    if by_chunks:
        turn = shared(i32, (8, 8, across // 2 + 4), of_launch=True)
    else:
        turn = None if whole else shared(f32, (8, 16, 33), of_launch=True)
    reach = depth + (CLASSES - 1 if by_class else 0)
    steps = ceildiv(index(reach), DEEP)
    # How deep the last step is, where it is known to be less than the others.
    rest = ceildiv(reach % DEEP, 16) * 16 if is_static(reach) else 0
    rest = rest if rest < DEEP and parts == 1 else 0
    # Where k is divided, who comes last with the sums of a part adds up those of all.
    sums = workspace(f32, parts * tiles * DOWN * across) if parts > 1 else None
    comers = workspace(i32, tiles) if parts > 1 else None
    is_last_flag = shared(i32, 1) if parts > 1 else None
    # Narrow tiles wait for memory: few columns are copied (a strip, or a whole tile's), several steps to a stage.
    strip = narrow == 8 and not right_by_k
    narrow_wide = across if right_by_k else 8 if strip else 64
    narrow_map = operand_map(right, rows=8, by_k=False) if strip else right_map
    narrow_steps = min((left_bytes + right_bytes) // (left_bytes + narrow_wide * DEEP * 2), 2)

    def place(tile):
        """Leading indices, row (in tiles) and column of a tile: bands of BAND rows of tiles, column by column."""
        group = tile // (pairs_down * tiles_across)
        rest = tile - group * (pairs_down * tiles_across)
        band = rest // (tiles_across * band_pairs)
        within = rest - band * (tiles_across * band_pairs)
        high = min(index(pairs_down) - band * band_pairs, index(band_pairs))
        return delinearise(group, batch), own_row(band * band_pairs + within % high), within // high * across

    def own_row(down):
        """This block's row of tiles, of those of a pair."""
        if pair == 1:
            return down
        if by_class:
            return down % CLASSES + (down // CLASSES * pair + part.cast(index)) * CLASSES
        return down * pair + part.cast(index)

    def tile_of(item):
        """The tile that this is of, and the part of k."""
        return (item, 0) if parts == 1 else (item % tiles, item // tiles)

    def steps_of(share):
        """The first step along k of a part, and the first behind it."""
        if parts == 1:
            return 0, steps
        each = ceildiv(ceildiv(reach, DEEP), parts)
        return share * each, min(share * each + each, index(ceildiv(reach, DEEP)))

    def first_row(down):
        """The row of the result that is the first of this row of tiles."""
        return down % CLASSES + down // CLASSES * (CLASSES * DOWN) if by_class else down * DOWN

    def skipped(down):
        """Columns before those of the left operand that a tile of this row begins with."""
        found = i32(0)
        for k in unroll(len(classes)):
            found = select(down % CLASSES == k, i32(classes[k][1]), found)
        return found

    def narrow_tiles():
        """The first of the narrow tiles that this block takes, and how many blocks take some."""
        begun = tiles % takers
        # Three take as long as a tile: those blocks would be late themselves if they had more.
        begun = select(narrow_count <= 3 * (takers - begun), begun, index(0))
        first = select(taker < begun, index(narrow_count), taker - begun)
        return first, takers - begun

    def narrow_place(tile):
        lead = delinearise(tile // pairs_down, batch)
        return lead, own_row(tile % pairs_down), index(n // across * across)

    def produce():
        stage, parity = i32(0), i32(1)

        def copy(lead, down, j0, share, stage, parity, *, right_map, columns, steps_each=1):
            column = j0.cast(i32)
            row = ((down // CLASSES if by_class else down) * DOWN).cast(i32)
            before = skipped(down)
            begun, end = steps_of(share)
            for first in range(begun, end, steps_each):
                wait_for(empty(stage), parity)
                arrive_expecting(full(stage), size=steps_each * (left_bytes + columns * DEEP * 2))
                to = memory + stage * (left_bytes + right_bytes)
                for step in unroll(steps_each):
                    k = ((first + step) * DEEP).cast(i32)
                    for which in unroll(len(left_maps)):
                        if not by_class or down % CLASSES == which:
                            source = left_maps[which]
                            copy_operand(to, source, left, lead, row, k, full(stage), rows=DOWN, by_k=left_by_k)
                    # Who of a pair begins changes from step to step: narrow tiles are one copy.
                    copy_operand(
                        to + left_bytes, right_map, right, lead, column, k - before, full(stage), rows=columns,
                        by_k=right_by_k, pair=pair, part=(part + step) % pair,
                    )  # fmt: skip
                    to = to + left_bytes + columns * DEEP * 2
                stage, parity = next_stage(stage, parity, stages=stages)
            return stage, parity

        for item in range(taker, tiles * parts, takers):
            tile, share = tile_of(item)
            lead, down, j0 = place(tile)
            wait_for_column(j0 // across)
            stage, parity = copy(lead, down, j0, share, stage, parity, right_map=right_map, columns=across)
        if narrow:
            first, sharing = narrow_tiles()
            for tile in range(first, narrow_count, sharing):
                lead, down, j0 = narrow_place(tile)
                wait_for_column(j0 // across)
                stage, parity = copy(
                    lead, down, j0, 0, stage, parity, right_map=narrow_map, columns=narrow_wide,
                    steps_each=narrow_steps,
                )  # fmt: skip

    def wait_for_column(which):
        """Wait until this column of tiles of the right operand is laid out."""
        if later:
            if which >= EARLY:
                wait_to_meet(counters, which, uncounted)

    def consume(half):
        stage, parity = i32(0), i32(0)
        within = thread % WARPGROUP

        def multiply_stage(acc, stage, parity, *, deep, steps_each=1, strip=False):
            wait_for(full(stage), parity)
            at = memory + stage * (left_bytes + right_bytes)
            lefts, rights = [], []
            for step in unroll(steps_each):
                first = describe_tile(at + half.cast(i32) * (left_bytes // 2), between=ROW_BYTES)
                second = at + left_bytes
                second = describe_strip(second) if strip else describe_tile(second, between=DEEP * ROW_BYTES)
                # 16 of k are 32 bytes along a row, or 16 rows.
                lefts = lefts + [first + (k * 2 if left_by_k else k * 128) for k in range(deep // 16)]
                rights = rights + [second + k * (2 if right_by_k else 16 if strip else 128) for k in range(deep // 16)]
                at = at + left_bytes + narrow_wide * DEEP * 2
            acc = multiply_tiles(dt, acc, lefts, rights, left_turned=not left_by_k, right_turned=not right_by_k)
            if pair == 1:
                if within % 32 == 0:
                    arrive(empty(stage))
            elif within % 32 < pair:  # the other block's copies come here, too
                arrive_at(empty(stage), (within % 32).cast(i32))
            stage, parity = next_stage(stage, parity, stages=stages)
            return acc, stage, parity

        def add_up(acc, tile, share):
            """Whether this is the last part of a tile, and with it the sums of all."""
            mine, size = (thread - WARPGROUP) * 4, 2 * WARPGROUP * 4

            def place_of(share, v):
                return (share * tiles + tile) * (DOWN * across) + v * size + mine

            def meet():
                meet_warps(8)

            # Eight columns each, as far as there are some.
            count = min(len(acc) // 4, ceildiv(n, 8)) if is_static(n) and tiles_across == 1 else len(acc) // 4
            for v in unroll(count):
                sums.store(vector(*acc[4 * v : 4 * v + 4]), place_of(share, v))
            last = is_last(comers, tile, parts, is_last_flag, thread == WARPGROUP, meet)
            total = [splat(f32(0), 4) for _ in range(count)]
            if last:
                ahead = max(SUMS_AHEAD // count, 1)
                total = sums_of_parts(lambda k, v: sums.load(place_of(k, v), width=4), parts, count, ahead=ahead)
            total = total + [splat(f32(0), 4) for _ in range(len(acc) // 4 - count)]
            return last, [total[k // 4][k % 4] for k in range(len(acc))]

        def multiply(lead, down, j0, tile, share, stage, parity, *, columns, steps_each=1, strip=False):
            acc = [f32(0) for _ in range(columns // 2)]
            if by_class:
                wait_for(full(stage), parity)
                at = memory + stage * (left_bytes + right_bytes) + half.cast(i32) * (left_bytes // 2)
                hide_columns(at, within, skipped(down), most=CLASSES - 1, group=half)
            # Where a stage has several steps, what is past the last one is zeros.
            begun, end = steps_of(share)
            for _ in range(begun, end - 1 if rest and steps_each == 1 else end, steps_each):
                acc, stage, parity = multiply_stage(acc, stage, parity, deep=DEEP, steps_each=steps_each, strip=strip)
            if rest and steps_each == 1:
                acc, stage, parity = multiply_stage(acc, stage, parity, deep=rest, strip=strip)
            last = True
            if parts > 1:
                last, acc = add_up(acc, tile, share)
            acc = acc + [f32(0) for _ in range(16 - len(acc))]  # what stores columns takes 32 at once
            i = first_row(down) + (half * 64 + within // 32 * 16) * apart
            if last:
                if whole:
                    store_sums(out, acc, lead, i + within % 32 // 4 * apart, j0, within % 4, apart=apart)
                elif by_chunks:
                    store_chunks(out.writes[0], acc, lead, i, j0, turn, thread // 32 - 4, within % 32, apart=apart)
                else:
                    store_ragged(out, acc, lead, i, j0, turn, thread // 32 - 4, within % 32, apart=apart)
            return stage, parity

        for item in range(taker, tiles * parts, takers):
            tile, share = tile_of(item)
            lead, down, j0 = place(tile)
            stage, parity = multiply(lead, down, j0, tile, share, stage, parity, columns=across)
        if narrow:
            first, sharing = narrow_tiles()
            for tile in range(first, narrow_count, sharing):
                lead, down, j0 = narrow_place(tile)
                stage, parity = multiply(
                    lead, down, j0, tile, 0, stage, parity, columns=narrow, steps_each=narrow_steps, strip=strip
                )

    if thread == 0:
        for source in unroll((*left_maps, right_map)):
            fetch_map(source)
    if thread < WARPGROUP:
        if across > 96:
            fewer_registers(count=40)
        if thread == 0:
            produce()
        elif later and thread >= WARPGROUP - LATER_WARPS * 32:
            warp = thread // 32 - (WARPGROUP // 32 - LATER_WARPS)
            lay_out_later(given, right, counters, columns=across, early=EARLY, warp=warp, warps=LATER_WARPS)
    else:
        if across > 96:  # narrow tiles need no more than every thread has
            more_registers(count=232)
        consume(thread // WARPGROUP - 1)
    if pair > 1:
        meet_cluster()
