"""The memory plan in words: what a block holds, how long it lives, and how much is alive at each launch."""

from __future__ import annotations

from app.viewmodels.compilation import Compilation, MemoryBlock
from app.viewmodels.frame.formats import many, size
from profiler.analysis.memory import alive_bytes


def describe(compilation: Compilation, block: MemoryBlock) -> str:
    """Everything known about a block, in a few lines."""
    held = [compilation.node_table[name] for name in block.nodes if name in compilation.node_table]
    first, last = _launch(compilation, block.first), _launch(compilation, block.last)
    lines = [f"{block.name}: {size(block.size)} at offset {block.offset:,}"]
    lines += [f"holds {node.name}, {node.dtype} {node.shape}" for node in held[:3]]
    lines.append(f"lives during {first}" if block.first == block.last else f"lives from {first} to {last}")
    return "\n".join(lines)


def summary(compilation: Compilation) -> str:
    """The plan in one line."""
    blocks = compilation.blocks
    without = sum(block.size for block in blocks)
    saved = f", {size(without - compilation.peak)} saved by reuse" if without > compilation.peak else ""
    used = alive_bytes(blocks, len(compilation.calls))
    busiest = f"; fullest at launch {used.index(max(used)) + 1}" if used else ""
    return f"{many(len(blocks), 'block')}, peak {size(compilation.peak)}{saved}{busiest}"


def _launch(compilation: Compilation, index: int) -> str:
    if index < len(compilation.calls):
        return f"launch {index + 1} ({compilation.calls[index].kernel})"
    return "the end"
