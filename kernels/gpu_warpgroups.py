"""What Hopper (sm_90a) adds for groups of four warps: barriers in memory, the copy engine, products of shared tiles.

Tiles are in shared memory as the copy engine leaves them: rows of 128 bytes (64 elements of 16 bits), of which chunks
of 16 bytes change places within each 8 rows. Addresses of shared memory are i32.

A memory barrier (mbarrier) goes through phases: one ends when all who were announced have arrived and all bytes that
were announced are there. Who waits for a phase names its parity.
"""

from kernels.language import *

ROW_BYTES = 128
TILE_ROW = 64


@inline
def has_warpgroups(dt):
    """Whether this target multiplies matrices of this type by the warpgroup."""
    return target.name == "sm_90a" and (dt == bf16 or dt == f16)


@inline
def shared_address(x):
    """The address of the first element of a shared array."""
    return asm("cvt.u32.u64 $0, $1;", "=r,l", i32, 1, x)


@inline
def make_barrier(address, *, arrivals):
    """A barrier whose phases end with so many arrivals; one thread makes it, then barriers_are_made()."""
    asm("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}", None, 1, address, i32(arrivals))


@inline
def barriers_are_made():
    """Let the copy engine see barriers that this thread made; barrier() for the other threads."""
    asm("fence.mbarrier_init.release.cluster; fence.proxy.async;", "~{memory}", None, 1)


@inline
def arrive(address):
    """One arrival at a barrier."""
    asm("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", None, 1, address)


@inline
def arrive_expecting(address, *, size):
    """One arrival, and so many bytes that the copy engine will bring."""
    asm("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}", None, 1, address, i32(size))


@inline
def wait_for(address, parity):
    """Wait for the end of the phase of this parity."""
    asm(
        "{\n.reg .pred ready;\nWAIT${:uid}:\nmbarrier.try_wait.parity.shared::cta.b64 ready, [$0], $1;\n"
        "@!ready bra WAIT${:uid};\n}",
        "r,r,~{memory}", None, 1, address, parity,
    )  # fmt: skip


@inline
def next_stage(stage, parity, *, stages):
    """The stage after this one, and the parity of its phase."""
    last = stage == stages - 1
    return select(last, i32(0), stage + 1), select(last, parity ^ 1, parity)


@inline
def fetch_map(source):
    """Have a tensor map brought near before it is used."""
    asm("prefetch.tensormap [$0];", "l,~{memory}", None, 1, source)


@inline
def start_tile_copy(to, source, at, barrier_at, *, blocks=1):
    """Have the copy engine bring a box of a mapped tensor: `at` is its place, the last axis first.

    To the first `blocks` blocks of the cluster: the barrier of each gets the bytes that it got.
    """
    places = ""
    for k in unroll(len(at)):
        places = places + (", " if k > 0 else "") + f"${k + 2}"
    many, which = (".multicast::cluster", f", ${len(at) + 3}") if blocks > 1 else ("", "")
    asm(
        f"cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{many} "
        f"[$0], [$1, {{{places}}}], [${len(at) + 2}]{which};",
        "r,l" + ",r" * (len(at) + 1) + (",h" if blocks > 1 else "") + ",~{memory}", None, 1,
        to, source, *at, barrier_at, *((i16((1 << blocks) - 1),) if blocks > 1 else ()),
    )  # fmt: skip


@inline
def fewer_registers(*, count):
    """Give registers back: each thread of the warpgroup keeps `count`."""
    asm(f"setmaxnreg.dec.sync.aligned.u32 {count};", "~{memory}", None, 1)


@inline
def more_registers(*, count):
    """Take registers that others gave back, up to `count` for each thread of the warpgroup."""
    asm(f"setmaxnreg.inc.sync.aligned.u32 {count};", "~{memory}", None, 1)


@inline
def describe_tile(address, *, between):
    """A tile as the tensor cores are told of it: 8 rows take 1024 bytes, `between` are from 64 columns to the next.

    What an address has above 18 bits says which block of a cluster it is of.
    """
    return ((address & 0x3FFFF) >> 4).cast(i64) | i64((1 << 62) | ((1024 >> 4) << 32) | ((between >> 4) << 16))


@inline
def describe_strip(address):
    """As describe_tile, of 8 columns: rows of 16 bytes, 8 of them in 128 bytes, all in their places."""
    return ((address & 0x3FFFF) >> 4).cast(i64) | i64((128 >> 4) << 16)


@inline
def hide_columns(address, thread, count, *, most, group):
    """Zeros to the first `count` columns, at most `most` of 8, of the 64 rows of a tile that has arrived; the products
    of this warpgroup, the `group`th of its block, then see them."""
    if count > 0:
        if thread < 64:
            row = thread.cast(i32)
            # The first 16 bytes of a row have changed places with those of the row's number.
            at = address + row * ROW_BYTES + row % 8 * 16
            for column in unroll(most):
                if count > column:
                    asm("st.shared.b16 [$0], $1;", "r,h,~{memory}", None, 1, at + column * 2, i16(0))
        asm("fence.proxy.async.shared::cta;", "~{memory}", None, 1)
        asm("bar.sync $0, 128;", "r,~{memory}", None, 1, (group + 1).cast(i32))


@inline
def meet_warps(warps):
    """Wait until so many warps of this block, none of them of a warpgroup that hides columns, have come here."""
    asm(f"bar.sync 3, {warps * 32};", "~{memory}", None, 1)


@inline
def operand_list(first, count):
    """`$first, ...`, so many operands of an instruction."""
    text = f"${first}"
    for k in unroll(1, count):
        text = text + f", ${first + k}"
    return text


@inline
def multiply_tiles(dt, acc, lefts, rights, *, left_turned, right_turned):
    """acc + the sum of lefts[k] * rights[k], in f32: described tiles of 64 x 16 and 16 x columns; waits for the result.

    `turned` operands have the other axis than k along their rows in memory. Each thread has columns / 2 sums: of rows
    g and g + 8 of its warp's 16, where lane = 4 * g + t, columns 2 * t and 2 * t + 1 of every 8.
    """
    count = len(acc)
    text = "wgmma.fence.sync.aligned;\n"
    tied = ""
    for k in unroll(count):
        tied = tied + f",{k}"
    described = []
    for k in unroll(len(lefts)):
        text = text + (
            f"wgmma.mma_async.sync.aligned.m64n{count * 2}k16.f32.{dt.name}.{dt.name} {{{operand_list(0, count)}}}, "
            f"${count * 2 + 2 * k}, ${count * 2 + 2 * k + 1}, 1, 1, 1, "
            f"{1 if left_turned else 0}, {1 if right_turned else 0};\n"
        )
        described = described + [lefts[k], rights[k]]
    text = text + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
    constraints = "=f" + ",=f" * (count - 1) + tied + ",l" * (2 * len(lefts)) + ",~{memory}"
    return list(asm(text, constraints, f32, 1, *acc, *described, results=count))


@inline
def multiply_words_tiles(dt, acc, words, rights, *, right_turned):
    """As multiply_tiles, with the left operand in registers: four words of each of its 64 x 16 tiles."""
    count = len(acc)
    text = "wgmma.fence.sync.aligned;\n"
    tied = ""
    for k in unroll(count):
        tied = tied + f",{k}"
    base = count * 2 + len(words)
    for k in unroll(len(rights)):
        text = text + (
            f"wgmma.mma_async.sync.aligned.m64n{count * 2}k16.f32.{dt.name}.{dt.name} {{{operand_list(0, count)}}}, "
            f"{{{operand_list(count * 2 + 4 * k, 4)}}}, ${base + k}, 1, 1, 1, {1 if right_turned else 0};\n"
        )
    text = text + "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;"
    constraints = (
        "=f" + ",=f" * (count - 1) + tied + ",r" * len(words) + ",l" * len(rights) + ",~{memory}"
    )  # fmt: skip
    return list(asm(text, constraints, f32, 1, *acc, *words, *rights, results=count))
