"""Loads and stores that a GPU kernel issues: walks of some threads of its grid stand for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from profiler.analysis.traffic import DependsOnData, Traffic, Varies, Walk

_MOST_BLOCKS, _FEWEST_THREADS, _MOST_STEPS = 2, 12, 3000
"""Blocks walked besides the last one, threads walked of each, and how far to walk in all before it is that few."""
_AXES = "xyz"


def count_grid_traffic(
    function: Operation, sizes: Sequence[int], functions: Mapping[str, Operation], blocks: Sequence[int], threads: int
) -> Traffic:
    """Bytes loaded from and stored to a kernel's arguments by all threads of a grid; its last arguments are `sizes`.

    The last block often has less to do than the others, and the first thread of a block more: they are always walked
    and stand for themselves alone.
    """
    count = blocks[0] * blocks[1] * blocks[2]
    if not count:
        return Traffic(0, 0, "exact")
    block = function.regions[0].blocks[0]
    buffers = len(block.args) - len(sizes)
    values: dict[SSAValue, Any] = dict(zip(block.args, [*["argument"] * buffers, *sizes], strict=True))
    walk = Walk(functions)
    sampled = _weighted(count - 1, _MOST_BLOCKS)
    lanes: list[tuple[int, float]] = []
    totals = [0.0, 0.0]
    try:
        walk.move(_places(0, blocks, 0, threads))
        walk.block(block, dict(values))
        affordable = _MOST_STEPS // (walk.steps * (len(sampled) + 1))
        lanes = _weighted(threads - 1, max(affordable, _FEWEST_THREADS))
        for number, blocks_meant in [*sampled, (count - 1, 1.0)]:
            for lane, lanes_meant in [(0, 1.0), *((lane + 1, meant) for lane, meant in lanes)]:
                walk.move(_places(number, blocks, lane, threads))
                for at, amount in enumerate(walk.block(block, dict(values))):
                    totals[at] += amount * blocks_meant * lanes_meant
    except (DependsOnData, Varies):
        return Traffic(None, None, "depends on the data")
    every = len(lanes) == threads - 1 and len(sampled) == count - 1
    note = "exact" if walk.exact and every else "estimated from some of the threads"
    if _copies_by_intrinsic(function):
        note += ", without copies that intrinsics make"
    return Traffic(round(totals[0]), round(totals[1]), note)


def _weighted(count: int, most: int) -> list[tuple[int, float]]:
    """Up to `most` numbers below `count`, evenly apart, and how many of all each stands for."""
    if count <= most:
        return [(number, 1.0) for number in range(count)]
    return [((2 * k + 1) * count // (2 * most), count / most) for k in range(most)]


def _places(number: int, blocks: Sequence[int], lane: int, threads: int) -> dict[tuple[str, str], int]:
    """What the ops that ask for a thread's place answer: block ids run along x first, threads lie along x alone."""
    found: dict[tuple[str, str], int] = {}
    for axis, size in zip(_AXES, blocks):
        found["gpu.block_id", axis] = number % size
        found["gpu.grid_dim", axis] = size
        found["gpu.thread_id", axis] = lane if axis == "x" else 0
        found["gpu.block_dim", axis] = threads if axis == "x" else 1
        number //= size
    return found


def _copies_by_intrinsic(function: Operation) -> bool:
    """Whether memory is also moved by something a walk does not see: asynchronous copies, inline assembly."""
    for op in function.walk():
        name: Any = op.properties.get("intrin")
        if op.name == "llvm.inline_asm" or (name is not None and "cp.async" in name.data):
            return True
    return False
