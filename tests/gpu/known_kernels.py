"""Kernels whose behaviour on a device is known beforehand, as source for the tests that look for it."""

from __future__ import annotations

HEAD = '''"""Kernels of which is known what they do."""

from kernels.language import *
'''


def conflicting(name: str, reads: int) -> str:
    """The kernel `name` for 264 blocks of 256 threads: each lane reads shared memory so often, all from one bank."""
    return f'''

@kernel("{name}")
def {name}(out: Tensor, x: Tensor):
    """Lanes of a warp read words that are a whole row of banks apart."""
    launch(blocks=264, threads=256)
    board = shared(f32, (8192,))
    thread = thread_index()
    for k in range(32):
        board[position((k * 256 + thread,))] = x[position((k * 256 + thread,))]
    barrier()
    total = f32(0)
    step = index(0)
    while step < {reads}:
        total = total + board[position(((thread * 32 + step) % 8192,))]
        step = step + 1
    out[position((block_index() * 256 + thread,))] = total
'''
