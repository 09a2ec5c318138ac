"""How products by warpgroups (sm_90a) are divided: operands that the copy engine can be told of, tiles, their order.

A tile is 128 rows of the result; blocks, one on each multiprocessor, take one after the other.
"""

from kernels.gpu_layout import is_classed, is_plain
from kernels.gpu_warpgroups import has_warpgroups
from kernels.language import *

from .gpu_blocks import PROCESSORS
from .gpu_layout import CLASSES

DOWN = 128
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
# What it takes to leave sums of a part of k to the block that adds up those of all, in columns of a step: at all, and
# for each column that is written or read. Steps that a part has at least.
PARTS_COST, SUMS_COST = 600, 2
LEAST_STEPS = 4
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
    work = out.size * a.shape[-1]
    return (is_mapped(a) and is_mapped(b)) or not is_static(work) or work >= LEAST_WORK


@inline
def is_turned(out, a, b):
    """Whether the transpose of the result is computed: a tile has as many rows in any case, and there are few."""
    m, n = out.shape[-2], out.shape[-1]
    few = is_static(m) and m <= FEW_ROWS and (not is_static(n) or n > m)
    return few and is_mapped(a) and is_mapped(b)


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
    if right_by_k or can_map(left) or not is_static(m) or not is_classed(left):
        return False
    return WORTH_CLASSES * class_tiles(m) <= (WORTH_CLASSES + 1) * ceildiv(m, DOWN)


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
                cost = tiles_cost(tile_count(m, n, groups, columns), columns, steps, parts)
                if least is None or cost < least:
                    best, least = columns, cost
    return best


@inline
def parts_of_k(m, n, groups, steps):
    """In how many parts steps along k are divided among blocks, where that takes less time.

    It is the same however the operands lie in memory and however wide tiles are: a sum has the same bits.
    """
    best, least = 1, None
    if is_static(m) and is_static(n) and is_static(groups) and is_static(steps):
        for columns in unroll(WIDTHS):
            if columns % 64 == 0:
                tiles = tile_count(m, n, groups, columns)
                parts = whole_parts(min(PROCESSORS // max(tiles, 1), steps // LEAST_STEPS), steps)
                cost = tiles_cost(tiles, columns, steps, parts)
                if least is None or cost < least:
                    best, least = parts, cost
    return best


@inline
def tile_count(m, n, groups, columns):
    """Tiles that take the full time."""
    return ceildiv(m, DOWN) * whole_columns(n, columns) * groups


@inline
def tiles_cost(tiles, columns, steps, parts):
    """What tiles of this width take, in columns of a step; where nobody knows how many steps there are, of one."""
    cost = ceildiv(tiles * parts, PROCESSORS) * (columns + TILE_COST)
    if is_static(steps):
        cost = cost * ceildiv(steps, parts)
    return cost if parts == 1 else cost + PARTS_COST + (parts + 1) * columns * SUMS_COST


@inline
def whole_parts(parts, steps):
    """About so many parts, none of them without steps."""
    return 1 if parts < 2 else ceildiv(steps, ceildiv(steps, parts))
