"""How far a long command is: one line on the terminal that updates, and is gone when it is done. Nothing on a pipe."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from app.cli.output import say
from app.cli.terminal import coloured, columns, is_terminal
from app.viewmodels.frame.formats import duration
from compiler.printable import printable

Step = Callable[[str, float | None], None]
"""Tells what is being done, and which share of all of it is done by now, where that is known."""

_BAR = 20
_BLOCK = re.compile(r"block (\d+)")
_PART = re.compile(r"(?:process|pair|measuring) (\d+)(?: of (\d+))?")


@contextmanager
def progress_line() -> Iterator[Step]:
    """The line for the time of the block."""
    stream, begun = sys.stderr, monotonic()
    if not is_terminal(stream):
        yield lambda words, share: None
        return
    shown: list[float | None] = [None]

    def step(words: str, share: float | None) -> None:
        shown[0] = shown[0] if share is None else max(shown[0] or 0.0, share)  # it never goes back
        stream.write("\r\x1b[K" + coloured(line(words, shown[0], monotonic() - begun, columns()), "faint", stream))
        stream.flush()

    try:
        yield step
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


def line(words: str, share: float | None, elapsed: float, width: int) -> str:
    """The words of the line: a bar, what is done, and how long the rest will take at this pace, where that is known."""
    if share is None:
        return f"{printable(words)} ..."[: max(width - 1, 0)]
    filled = round(_BAR * share)
    left = f", about {duration(elapsed / share * (1 - share))} left" if share >= 0.02 else ""
    text = f"[{'#' * filled}{' ' * (_BAR - filled)}] {share:4.0%}  {printable(words)}{left}"
    return text if len(text) < width else text[: max(width - 1, 0)]


def by_parts(step: Step, total: int, blocks: int = 0) -> Callable[[str], None]:
    """For work that says itself which part it is at: `process 2, ...`, `pair 3 of 8`, of about so many `block 5`."""

    def told(words: str) -> None:
        part, block = _PART.search(words), _BLOCK.search(words)
        at = int(part[1]) - 1 if part else 0
        within = min(int(block[1]) / blocks, 1) * 0.95 if block and blocks else 0.0  # it may make more of them
        step(words, (at + within) / max(total, 1))

    return told


def by_number(step: Step, total: int) -> Callable[[str], None]:
    """For work that begins what it says with `[number/total]`; where there is no terminal, its words are lines."""
    if not is_terminal(sys.stderr):
        return lambda words: say(words, err=True)

    def told(words: str) -> None:
        number = int(words.partition("/")[0].strip("["))
        step(f"{number} of {total}, {words.partition('] ')[2]}", (number - 1) / total)

    return told
