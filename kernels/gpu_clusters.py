"""Blocks that run as one (sm_90 on), as launch(..., cluster=n) asks for: they reach each other's shared memory.

The copy engine can bring one tile to all of them, so that it is read from memory once. What lies at an address in one
block's shared memory lies there in the others', too. No block may end while another still reaches for its memory.
"""

from kernels.language import *


@inline
def meet_cluster():
    """Wait for all threads of the cluster; what they stored before, this thread sees afterwards."""
    asm("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;", "~{memory}", None, 1)


@inline
def arrive_at(address, block):
    """One arrival at the barrier that has this address in the shared memory of a block of the cluster."""
    asm(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, $0, $1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
        "r,r,~{memory}", None, 1, address, block,
    )  # fmt: skip


@inline
def start_shared_copy(to, source, at, barrier_at, *, blocks):
    """As start_tile_copy, to the first `blocks` blocks of the cluster: each one's barrier gets its bytes."""
    places = ""
    for k in unroll(len(at)):
        places = places + (", " if k > 0 else "") + f"${k + 2}"
    asm(
        f"cp.async.bulk.tensor.{len(at)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        f"[$0], [$1, {{{places}}}], [${len(at) + 2}], ${len(at) + 3};",
        "r,l" + ",r" * (len(at) + 1) + ",h,~{memory}", None, 1, to, source, *at, barrier_at, i16((1 << blocks) - 1),
    )  # fmt: skip


@inline
def word_of(address, block):
    """The i32 that has this address in the shared memory of a block of the cluster."""
    return asm(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, $1, $2;\nld.shared::cluster.b32 $0, [there];\n}",
        "=r,r,r,~{memory}", i32, 1, address, block,
    )  # fmt: skip
