"""How products by warpgroups (sm_90a) are divided: operands that the copy engine can be told of, tiles, their order.

A tile is 128 rows of the result; blocks, one on each multiprocessor, take one after the other.
"""

from kernels.gpu_layout import is_classed, is_plain
from kernels.gpu_warpgroups import has_warpgroups
from kernels.indexing import product
from kernels.language import *

from .gpu_blocks import PROCESSORS
from .gpu_layout import CLASSES

DOWN = 128
# Steps along k.
DEEP = 64
ROW_BYTES = 128
# How wide tiles may be.
WIDTHS = (256, 224, 192, 160, 128, 96, 64)
# Rows of tiles that are worked on together, so that what they share is in the L2 cache.
BAND = 16
# Rows of tiles in a band where most of the right operand is laid out meanwhile, and columns of tiles that all
# multiprocessors then begin with: these are laid out before.
LATER_BAND = 32
EARLY = -(-PROCESSORS // LATER_BAND)
# A last column of tiles that is so narrow is computed no wider than that.
NARROW = 32
# What a step along k of a tile takes besides its columns, in columns.
TILE_COST = 28
# In how many parts k may be divided among blocks, and steps that a part has at least.
PARTS = (1, 2, 3, 4, 5, 6, 8, 11, 16)
LEAST_STEPS = 4
# What it takes to leave sums of a part to the block that adds up those of all, in columns of a step of an H200: at all,
# for each column of a part, and for each of all tiles.
PARTS_COST, SUM_COST, SUM_TRAFFIC = 600, 2, 0.1
# Columns that it takes no less time to add up.
LEAST_SUMMED = 32
# Rows of the result up to which its transpose is computed.
FEW_ROWS = 64
# Products that make it worth laying out an operand: below, blocks would wait for each other longer than they work.
LEAST_WORK = 1 << 25
# Products, and rows of the result, from which on it is worth it for rows that do not begin at lines of the cache.
UNLINED_WORK = 1 << 33
UNLINED_ROWS = 2048
# One more row of tiles for so many is less than laying out the left operand takes.
WORTH_CLASSES = 16


@inline
def swapped(x):
    """The matrices of x transposed."""
    return x.permute(tuple(range(x.rank - 2)) + (x.rank - 1, x.rank - 2))


@inline
def fits_warpgroups(out, a, b):
    """Whether these operands are worth multiplying by warpgroups: all types that can be, but for what is done at once.

    Where the copy engine cannot be told of an operand it is laid out first, which pays where it is read often enough.
    """
    if not has_warpgroups(a.dtype) or a.dtype != b.dtype:
        return False
    return (is_mapped(a) and is_mapped(b)) or is_worth_laying_out(out.size * a.shape[-1])


@inline
def is_worth_laying_out(work):
    """Whether there are so many products that operands are laid out for them; as there may be where nobody knows."""
    return not is_static(work) or work >= LEAST_WORK


@inline
def lays_out_sooner(a, b, computed):
    """Whether what is computed on operands of these shapes is sooner computed while they are laid out than by kernels
    of its own, so that the copy engine finds all operands: where one is laid out in any case, as neither its rows nor
    its columns begin at multiples of 16 bytes, or where something is computed on both. The left one alone is stored
    where it is then read by class, which needs no laying out."""
    if not is_worth_laying_out(product(a.shape) * b.shape[-1]):
        return False
    if computed == (True, False) and a.rank == 2 and not may_be_mapped(a) and not b.is_contiguous(-2):
        m, depth, n = a.shape[0], a.shape[1], b.shape[-1]
        return not (has_class_tiles(m) and is_static(depth) and is_static(n)) or leaves_idle(m, depth, n)
    return computed == (True, True) or not (may_be_mapped(a) and may_be_mapped(b))


@inline
def leaves_idle(m, depth, n):
    """Whether k is divided, or a third of the multiprocessors has no tile: who would wait lays out in that time."""
    if parts_of_k(m, n, 1, ceildiv(depth, DEEP))[0] != 1:
        return True
    return 3 * ceildiv(m, DOWN) * ceildiv(n, WIDTHS[0]) < 2 * PROCESSORS


@inline
def may_be_mapped(x):
    """Whether the copy engine could be told of matrices of this shape, once they are stored."""
    rows, columns = x.shape[-2], x.shape[-1]
    whole_rows = is_static(columns) and columns % 8 == 0 and not x.is_contiguous(-2)
    return whole_rows or (is_static(rows) and rows % 8 == 0 and not x.is_contiguous(-1))


@inline
def is_turned(out):
    """Whether the transpose of the result is computed: a tile has as many rows in any case, and there are few."""
    m, n = out.shape[-2], out.shape[-1]
    return is_static(m) and m <= FEW_ROWS and (not is_static(n) or n > m)


@inline
def is_mapped(x):
    """Whether the copy engine can be told of the matrices of x, along either axis."""
    return can_map(x) or can_map(swapped(x))


@inline
def is_far_from_lines(x, m, work):
    """Whether rows of the right operand do not begin at lines of the cache, and are copied so often that it counts."""
    step = x.strides[x.rank - 2]
    return (
        is_static(step) and step * 2 % ROW_BYTES != 0 and is_static(work) and work >= UNLINED_WORK
        and is_static(m) and m >= UNLINED_ROWS
    )  # fmt: skip


@inline
def reads_by_class(left, right_by_k, m):
    """Whether rows of the left operand are copied from where they lie, those of a class by the tile, in place of being
    laid out: where k is not along rows of the right one, as it is read shifted, and where that takes few more tiles."""
    return not right_by_k and not can_map(left) and has_class_tiles(m) and is_classed(left)


@inline
def has_class_tiles(m):
    """Whether tiles of the rows of a class are few more than those of all rows."""
    return is_static(m) and WORTH_CLASSES * class_tiles(m) <= (WORTH_CLASSES + 1) * ceildiv(m, DOWN)


@inline
def class_tiles(m):
    """How many rows of tiles there are if each has rows of one class."""
    return CLASSES * ceildiv(ceildiv(m, CLASSES), DOWN)


@inline
def blocks_of_pair(tiles_down, *, by_class):
    """2 where blocks work in pairs on tiles below each other and share those of the right operand.

    That pays where memory has more to do than to bring tiles: rows of a class lie across lines of the cache.
    """
    rows = tiles_down // CLASSES if by_class else tiles_down
    pairs = is_static(rows) and rows % 2 == 0
    return choice("cluster", 2 if pairs and by_class else 1, (1, 2) if pairs else (1,))


@inline
def comes_later(right, right_by_k, tiles_down, tiles_across):
    """Whether the right operand, but for EARLY columns of tiles, is laid out while those are multiplied."""
    if right_by_k or right.rank != 2 or not is_plain(right) or not is_static(right.size):
        return False
    return is_static(tiles_down) and tiles_down >= LATER_BAND and tiles_across > EARLY


@inline
def along_rows(x):
    """x, or x with its matrices transposed, such that rows lie together in memory; and whether it is transposed."""
    turned = not can_map(x) and (
        can_map(swapped(x)) or (x.is_contiguous(x.rank - 2) and not x.is_contiguous(x.rank - 1))
    )
    return (swapped(x), True) if turned else (x, False)


@inline
def whole_columns(n, columns):
    """Columns of tiles that take the full time: a last one of at most NARROW columns takes little."""
    return n // columns if narrow_columns(n, columns) else ceildiv(n, columns)


@inline
def narrow_columns(n, columns):
    """How wide the last column of tiles is computed if it is narrow; 0 if it is not."""
    if not is_static(n) or n <= columns or not 0 < n % columns <= NARROW:
        return 0
    return 8 if n % columns <= 8 else NARROW


@inline
def tile_columns(m, n, groups, steps, *, any_width, parts):
    """How wide a tile is: the width at which all tiles together take the least time; wide ones read less.

    `any_width`: multiples of 32 will do; where columns are copied by the 64, multiples of that.
    """
    best, least = 128, None
    if is_static(m) and is_static(n) and is_static(groups):
        for columns in unroll(WIDTHS):
            if any_width or columns % 64 == 0:
                cost = tiles_cost(
                    tile_count(m, n, groups, columns, parts), max(min(columns, n), LEAST_SUMMED), columns, steps, parts
                )
                if least is None or cost < least:
                    best, least = columns, cost
    return best


@inline
def parts_of_k(m, n, groups, steps):
    """In how many parts steps along k are divided among blocks, where that takes less time; and what else can be tried.

    It is the same however the operands lie in memory and however wide tiles are: a sum has the same bits.
    """
    best, least = 1, None
    if not (is_static(m) and is_static(n) and is_static(groups) and is_static(steps)):
        return 1, ()
    possible = [p for p in PARTS if p == 1 or (p * LEAST_STEPS <= steps and ceildiv(steps, ceildiv(steps, p)) == p)]
    for columns in unroll(WIDTHS):
        if columns % 64 == 0:
            for parts in unroll(possible):
                tiles = tile_count(m, n, groups, columns, parts)
                if parts == 1 or tiles * parts <= PROCESSORS:
                    cost = tiles_cost(tiles, max(min(columns, n), LEAST_SUMMED), columns, steps, parts)
                    if least is None or cost < least:
                        best, least = parts, cost
    return best, possible


@inline
def tile_count(m, n, groups, columns, parts):
    """Tiles that take the full time: a narrow last column of them only where k is not divided."""
    return ceildiv(m, DOWN) * (whole_columns(n, columns) if parts == 1 else ceildiv(n, columns)) * groups


@inline
def tiles_cost(tiles, used, columns, steps, parts):
    """What tiles of this width take, in columns of a step; where nobody knows how many steps there are, of one. `used`
    of their columns are added up where k is divided."""
    cost = ceildiv(tiles * parts, PROCESSORS) * (columns + TILE_COST)
    if is_static(steps):
        cost = cost * ceildiv(steps, parts)
    return cost if parts == 1 else cost + PARTS_COST + parts * used * (SUM_COST + tiles * SUM_TRAFFIC)
