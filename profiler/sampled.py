"""What sampling found: how often each line of each stage was being executed when a clock looked.

Counts are samples. Where several lines of a stage come from one place of the kernel language, that place's samples are
divided evenly among them, so that a stage's lines add up to the samples that are mapped there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from profiler.counted import CountedLaunch

PLACES = "lines"
"""The stage, as far as samples are concerned, of the lines of the kernel language that code was written in."""
MODEL = ""
"""The kernel under whose name the samples of all are added up."""


@dataclass(frozen=True)
class HotLine:
    """A line that samples were taken at: its number (from 1), what it says, and where it comes from."""

    line: int
    count: float
    text: str
    nodes: tuple[str, ...] = ()
    file: str = ""
    source_line: int = 0
    stalls: tuple[tuple[str, int], ...] = ()
    """On a GPU, what it waited for: how many of the samples had which reason, most first."""


@dataclass(frozen=True)
class StageHeat:
    """The sampled lines of a kernel's stage, in order; `digest` is of the text whose lines are numbered."""

    stage: str
    digest: str
    lines: tuple[HotLine, ...]


@dataclass(frozen=True)
class SampledKernel:
    """The samples of one kernel: all of them, those that know a line of the kernel language, and by stage."""

    kernel: str
    samples: int
    mapped: int
    nodes: tuple[tuple[str, float], ...]
    stages: tuple[StageHeat, ...]

    def stage(self, name: str) -> StageHeat | None:
        """The lines of one stage; None where none of it was mapped."""
        return next((stage for stage in self.stages if stage.stage == name), None)


@dataclass(frozen=True)
class Sampling:
    """A sampled pass over the same calls as a run's: what was looked at, what it cost, and what was found.

    `inside` are samples in kernels; the others were in the runtime, where threads wait for each other, or elsewhere.
    `slowdown` is by how much sampling made the calls longer, from calls with and without it in turns.
    """

    kernels: tuple[SampledKernel, ...] = ()
    samples: int = 0
    inside: int = 0
    waiting: int = 0
    lost: int = 0
    calls: int = 0
    period: float = 0.0
    seconds: float = 0.0
    slowdown: float | None = None
    note: str = ""
    counted: tuple[CountedLaunch, ...] = ()
    """On a GPU, the hardware counters of each launch; `uncounted` says why there are none where that is known."""
    uncounted: str = ""

    @property
    def mapped(self) -> int:
        """The samples that know a line of the kernel language."""
        return sum(kernel.mapped for kernel in self.kernels)

    def kernel(self, name: str) -> SampledKernel | None:
        """The samples of the kernel called so, if there are any."""
        return next((kernel for kernel in self.kernels if kernel.kernel == name), None)


def text_digest(text: str) -> str:
    """What tells texts apart whose lines samples are put on."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def hottest(lines: Iterable[HotLine]) -> list[HotLine]:
    """Lines with most samples first."""
    return sorted(lines, key=lambda line: (-line.count, line.file, line.line))
