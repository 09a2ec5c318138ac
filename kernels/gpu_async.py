"""Copies from global to shared memory that go on while the threads do other work (NVIDIA from sm_80 on).

start_copy(tile, i, source, j)    16 bytes, for each thread that calls it
end_group()                       closes the group of copies started since the last one
wait_for_groups(pending)          until at most `pending` groups are on their way; then barrier() for the others
"""

from kernels.language import *


@inline
def copies_run_alone():
    """Whether the target has asynchronous copies; elsewhere start_copy copies at once and the rest does nothing."""
    return target.is_nvidia and target.arch >= 80


@inline
def start_copy(tile, i, source, j):
    """Copy 16 bytes: flat shared tile[i...] from flat source[j...]; both places are multiples of 16 bytes."""
    count = 16 // tile.dtype.bytes
    if copies_run_alone():
        to = strided(tile.flat, (count,), (1,), i)
        start = strided(source.flat, (count,), (1,), j)
        intrinsic("llvm.nvvm.cp.async.cg.shared.global.16", None, 1, to, start)
    else:
        tile.flat.store(source.flat.load(j, width=count), i)


@inline
def end_group():
    """Close a group of copies."""
    if copies_run_alone():
        intrinsic("llvm.nvvm.cp.async.commit.group", None, 1)


@inline
def wait_for_groups(*, pending=0):
    """Wait until at most `pending` groups are unfinished."""
    if copies_run_alone():
        intrinsic("llvm.nvvm.cp.async.wait.group", None, 1, i32(pending))
