"""Theoretical occupancy: how many warps of a kernel fit on one NVIDIA multiprocessor, and what stops more of them."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.errors import CompilerError
from compiler.targets.nvptx import CHIPS, compute_capability, system_shared

WARP = 32
_REGISTERS = 65536  # of one multiprocessor, since sm_70
_REGISTER_UNIT = 256  # registers are given to a warp in pieces of this many
_WARP_UNIT = 4  # and to this many warps at once
_SHARED_UNIT = 128


@dataclass(frozen=True)
class Occupancy:
    """What fits on one multiprocessor; `limiter` is warps, blocks, registers or shared memory."""

    blocks: int
    warps: int
    max_warps: int
    limiter: str

    @property
    def fraction(self) -> float:
        """Resident warps over the most the multiprocessor can hold."""
        return self.warps / self.max_warps


def occupancy(arch: str, threads: int, registers: int, shared_bytes: int = 0) -> Occupancy:
    """The occupancy of a kernel launched with `threads` a block that needs these registers (a thread) and this memory.

    >>> occupancy("sm_90a", 256, 32).fraction
    1.0
    """
    capability = compute_capability(arch)
    if capability not in CHIPS:
        raise CompilerError(f"the limits of {arch} are not known")
    if not 1 <= threads <= 1024:
        raise CompilerError(f"a block has 1 to 1024 threads, not {threads}")
    _, max_warps, max_blocks, shared_kib = CHIPS[capability]
    warps = -(-threads // WARP)
    limits = {"warps": max_warps // warps, "blocks": max_blocks}
    if registers:
        fitting = _REGISTERS // _rounded(registers * WARP, _REGISTER_UNIT)
        limits["registers"] = fitting // _WARP_UNIT * _WARP_UNIT // warps
    needed = _rounded(shared_bytes, _SHARED_UNIT) + system_shared(capability)
    if needed:
        limits["shared memory"] = shared_kib * 1024 // needed
    limiter = min(limits, key=lambda name: limits[name])
    blocks = limits[limiter]
    return Occupancy(blocks, blocks * warps, max_warps, limiter)


def _rounded(value: int, unit: int) -> int:
    return -(-value // unit) * unit
