"""What a kernel asks of the device that it is launched on, and what it chose for its problem, as lines to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.viewmodels.frame.formats import many, size
from compiler.graph.dims import Dim, substitute
from compiler.language.kernel import Choice, Launch, TensorMap
from profiler.tuning.records import choice_words

Lines = tuple[tuple[str, str], ...]


def launch_lines(call: Any, choices: tuple[Choice, ...], dims: Mapping[str, int]) -> Lines:
    """Those of one call of a host program, with the sizes that are known."""
    lines: list[tuple[str, str]] = []
    if call.launch is not None:
        lines += _grid(call.launch, dims)
    if call.maps:
        lines.append(("tensor maps", _maps(call.maps)))
    if choices:
        lines.append(("chosen", choice_words([(choice.name, choice.taken) for choice in choices])))
    return tuple(lines)


def _grid(launch: Launch, dims: Mapping[str, int]) -> list[tuple[str, str]]:
    known: dict[str, int | Dim] = dict(dims)
    sizes = [substitute(blocks, known) for blocks in launch.blocks]
    blocks = " \u00d7 ".join(f"{n:,}" if isinstance(n, int) else str(n) for n in sizes)
    words = f"{blocks} block{'' if sizes == [1] else 's'} of {many(launch.threads, 'thread')}"
    if launch.resident:
        words = f"at most {words}, as many as run at once"
    if launch.together:
        words += ", which wait for each other"
    if launch.cluster > 1:
        words += f", in clusters of {launch.cluster}"
    lines = [("grid", words)]
    if launch.shared:
        lines.append(("shared memory", f"{size(launch.shared)} a block, by the launch"))
    if launch.per_processor:
        lines.append(("registers for", f"{many(launch.per_processor, 'block')} a multiprocessor"))
    return lines


def _maps(maps: tuple[TensorMap, ...]) -> str:
    *boxes, last = dict.fromkeys("\u00d7".join(map(str, asked.box)) for asked in maps)
    return f"{len(maps)}, copied in boxes of {', '.join(boxes)}{' and ' if boxes else ''}{last}"
