"""Tuning as the window knows it: what is asked, and a row for each kernel as it becomes known."""

from __future__ import annotations

from dataclasses import dataclass

from app.viewmodels.requests import CompileRequest, Progress
from profiler.tuning import BUDGET


@dataclass(frozen=True)
class TuneRequest:
    """Try what the kernels of a source leave to choose, on a device, for some seconds."""

    compilation: CompileRequest
    device: str = "cpu"
    threads: int | None = None
    dims: tuple[tuple[str, int], ...] = ()
    budget: float = BUDGET


@dataclass(frozen=True)
class TuneRow:
    """What is known of a kernel, in words; `ratio` is the best one's time over the time it takes by itself."""

    kernel: str
    usual: str
    best: str
    tried: int
    ratio: float | None
    interval: str
    words: str
    faster: bool
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class TuneProgress(Progress):
    """How far it is, and what is known by now."""

    rows: tuple[TuneRow, ...] = ()


@dataclass(frozen=True)
class TuneTold:
    """What came of it, and why it could not be kept, where that is so."""

    rows: tuple[TuneRow, ...]
    notes: tuple[str, ...] = ()


def result_words(rows: tuple[TuneRow, ...]) -> str:
    """The result in a sentence."""
    if not rows:
        return "No kernel of this model leaves anything to choose"
    found = sum(row.faster for row in rows)
    if not found:
        return "Nothing is measurably faster than what the kernels take by themselves"
    return f"{found} of {len(rows)} kernels are faster tuned: from now on they are compiled so on this device"
