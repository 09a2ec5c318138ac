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
def word_of(address, block):
    """The i32 that has this address in the shared memory of a block of the cluster."""
    return asm(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, $1, $2;\nld.shared::cluster.b32 $0, [there];\n}",
        "=r,r,r,~{memory}", i32, 1, address, block,
    )  # fmt: skip
