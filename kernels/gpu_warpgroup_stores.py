"""Where the sums of a warpgroup's products go: out of the registers they lie in, along the rows of the result."""

from kernels.gpu_blocks import exchange
from kernels.gpu_layout import is_plain, store_words, words_from
from kernels.language import *

from .gpu_layout import CHUNK


@inline
def store_sums(out, acc, lead, i, j, t, *, apart=1):
    """The sums of one thread to row i and the 8th behind it, whole multiples of 8 columns; rows are `apart`, and the
    four lanes of a row first get 8 columns each."""
    m, n = out.shape[-2], out.shape[-1]
    for half in unroll(2):
        row = i + 8 * half * apart
        for c in unroll(0, len(acc) // 4, 4):
            eight = columns_of_lane([acc[(c + e // 2) * 4 + half * 2 + e % 2] for e in range(8)], t)
            column = j + c * 8 + t * 8
            if (row < m) & (column < n):
                out[position(lead + (row, column), width=8, axis=out.rank - 1)] = vector(*eight).cast(out.dtype)


@inline
def store_ragged(out, acc, lead, i, j, turn, warp, lane, *, apart):
    """The sums of a warp's 16 rows from i on, which are `apart`, any number of columns: through shared memory, then
    along rows."""
    m, n = out.shape[-2], out.shape[-1]
    g, t = lane // 4, lane % 4
    rows = min(ceildiv(max(index(m) - i, index(0)), apart), index(16))
    for c in unroll(0, len(acc) // 4, 4):
        for e in unroll(16):
            turn[warp, g + e // 2 % 2 * 8, e // 4 * 8 + t * 2 + e % 2] = acc[c * 4 + e]
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)
        column = j + c * 8 + lane
        if column < n:
            # All of a warp's rows are there but for the last rows of tiles: no question for each.
            if rows == 16:
                for r in unroll(16):
                    out[position(lead + (i + r * apart, column))] = turn[warp, r, lane].cast(out.dtype)
            else:
                for r in range(rows):
                    out[position(lead + (i + r * apart, column))] = turn[warp, r, lane].cast(out.dtype)
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)


@inline
def stores_chunks(out, apart):
    """Whether rows of the result that are `apart` all begin as far behind a multiple of 16 bytes."""
    if len(out.writes) == 0 or not is_plain(out.writes[0]) or out.dtype.bytes != 2:
        return False
    step = out.writes[0].strides[out.rank - 2]
    return is_static(step) and apart * step % CHUNK == 0


@inline
def store_chunks(out, acc, lead, i, j, turn, warp, lane, *, apart):
    """As store_ragged, by chunks of 16 bytes where they begin in memory: parts of them only at both ends of a row."""
    m, n = out.shape[-2], out.shape[-1]
    g, t = lane // 4, lane % 4
    columns = min(index(n) - j, index(len(acc) * 2))
    # Columns before the first chunk, and behind the last.
    before = (CHUNK - out.place(*lead, i, j) % CHUNK) % CHUNK
    before = min(before, columns)
    chunks = (columns - before) // CHUNK
    behind = columns - before - chunks * CHUNK
    for half in unroll(2):
        first = i + half * 8 * apart
        rows = min(ceildiv(max(index(m) - first, index(0)), apart), index(8))
        for b in unroll(len(acc) // 4):
            two = vector(acc[b * 4 + half * 2], acc[b * 4 + half * 2 + 1]).cast(out.dtype)
            turn[warp, g, b * 4 + t] = word(two, i32)
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)
        if lane < chunks:
            for r in unroll(8):
                if r < rows:
                    low, high = turn.load(warp, r, lane * 4, width=4), turn.load(warp, r, lane * 4 + 4, width=4)
                    words = words_from([low[k] for k in range(4)] + [high[k] for k in range(4)], before)
                    store_words(out, out.place(*lead, first + r * apart, j + before + lane * CHUNK), words)
        # Four lanes a row, two of the at most seven columns each, for both ends.
        if g < rows:
            for e in unroll(2):
                column = t * 2 + e
                store_one(out, turn, warp, g, lead, first + g * apart, j, column, column < before)
                column = before + chunks * CHUNK + t * 2 + e
                store_one(out, turn, warp, g, lead, first + g * apart, j, column, t * 2 + e < behind)
        asm("bar.warp.sync 0xffffffff;", "~{memory}", None, 1)


@inline
def store_one(out, turn, warp, r, lead, row, j, column, wanted):
    """One column of a row, if it is wanted."""
    if wanted:
        one = (turn[warp, r, column // 2] >> (column % 2 * 16).cast(i32)).cast(i16)
        at = strided(out.flat, (1,), (1,), out.place(*lead, row, j + column))
        asm("st.global.b16 [$0], $1;", "l,h,~{memory}", None, 1, at, one)


@inline
def columns_of_lane(mine, t):
    """Of four blocks of 8 columns, of each of which every lane has two, block t: all 8 of it."""
    odd, high = t % 2 == 1, t // 2 == 1
    pairs = [mine[0:2], mine[2:4], mine[4:6], mine[6:8]]
    fours = []
    for b in unroll(0, 4, 2):
        fours = fours + [exchange_halves(pairs[b], pairs[b + 1], odd, 1)]
    return exchange_halves(fours[0], fours[1], high, 2)


@inline
def exchange_halves(low, high, upper, distance):
    """The lower lane of two gets both lanes' `low`, the upper one both lanes' `high`."""
    first, second = [], []
    for e in unroll(len(low)):
        kept = select(upper, high[e], low[e])
        given = exchange(select(upper, low[e], high[e]), distance)
        first = first + [select(upper, given, kept)]
        second = second + [select(upper, kept, given)]
    return first + second
