"""A cache of rows in pages: a table says which page holds which rows, and pages are handed out from the end."""

PAGE = 4


@opaque("paged_cache")
def paged_cache(*, pages, width, dtype=f32):
    return struct(full=bool, table=i32[pages], rows=dtype[pages, PAGE, width], length=i64)


@kernel("cache_new")
def cache_new(cache: Opaque["paged_cache"]):
    count, page, width = cache.rows.shape
    for k in range(*split(count)):
        cache.table[k] = i32(count - 1 - k)
        for r in range(page):
            for w in range(width):
                cache.rows[k, r, w] = 0
    cache.length = 0
    cache.full = False


@kernel("cache_append")
def cache_append(after: Opaque["paged_cache"], before: Opaque["paged_cache"], row: FusedInput):
    """Another row behind those that are there."""
    count, page, width = before.rows.shape
    length = index(before.length)
    at = index(before.table[length // page])
    for k in range(*split(count)):
        after.table[k] = before.table[k]
        for r in range(page):
            for w in range(width):
                kept = before.rows[k, r, w]
                after.rows[k, r, w] = row[w] if k == at and r == length % page else kept
    after.length = before.length + 1
    after.full = before.length + 1 == i64(count * page)


@kernel("cache_read")
def cache_read(out: FusedOutput, cache: Opaque["paged_cache"]):
    """The rows in their order; zeros where there are none yet."""
    for t in range(*split(out.shape[0])):
        at = index(cache.table[t // PAGE])
        for w in range(out.shape[1]):
            kept = cache.rows[at, t % PAGE, w]
            out[t, w] = kept if i64(t) < cache.length else 0


@kernel("cache_push")
def cache_push(cache: Opaque["paged_cache"], row: FusedInput):
    """Another row, in place: nothing else is touched."""
    if target.is_gpu:
        launch(blocks=1, threads=64)
    length = index(cache.length)
    barrier()  # all know where
    at = index(cache.table[length // PAGE])
    for w in range(thread_index(), row.shape[0], thread_count()):
        cache.rows[at, length % PAGE, w] = row[w]
    if thread_index() == 0:
        cache.length += 1
        cache.full = length + 1 == index(cache.table.shape[0] * PAGE)
