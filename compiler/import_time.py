"""How long a stretch of work spent importing: the first compilation of a process loads what compiling needs.

That is the price of starting, paid once, and no part of what a compilation takes; who times one takes it out.
"""

from __future__ import annotations

import builtins
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from compiler.collector_pauses import rare_collection


@dataclass
class Stretch:
    """Seconds of a stretch of work, once it is over: its own, and those spent importing meanwhile."""

    seconds: float = 0.0
    imports: float = 0.0
    spans: list[tuple[float, float]] = field(default_factory=list)
    """(start by the clock of `perf_counter`, seconds) of what was imported, one after another as one."""


@contextmanager
def without_imports() -> Iterator[Stretch]:
    """Time what is done inside, and apart from it the imports that it causes in this thread."""
    found, original, thread = Stretch(), builtins.__import__, threading.get_ident()
    outermost = True

    def timed(name: str, *rest: Any, **more: Any) -> Any:
        nonlocal outermost
        if not outermost or threading.get_ident() != thread or (name in sys.modules and len(rest) < 3):
            return original(name, *rest, **more)
        outermost = False
        start = perf_counter()
        try:
            with rare_collection():
                return original(name, *rest, **more)
        finally:
            _note(found, start, perf_counter() - start)
            outermost = True

    builtins.__import__ = timed
    start = perf_counter()
    try:
        yield found
    finally:
        builtins.__import__ = original
        found.seconds = perf_counter() - start - found.imports


_JOIN = 1e-4  # seconds between imports that still count as one


def _note(found: Stretch, start: float, seconds: float) -> None:
    found.imports += seconds
    if found.spans and start - sum(found.spans[-1]) < _JOIN:
        first = found.spans[-1][0]
        found.spans[-1] = (first, start + seconds - first)
    elif seconds >= _JOIN:  # looking up what is loaded is no import
        found.spans.append((start, seconds))
