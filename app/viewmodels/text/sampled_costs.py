"""What samples say of the lines of a text: the share of each, and the seconds that come to."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.run_figures import launch_times
from app.viewmodels.text.line_costs import LineCosts, line_costs
from app.viewmodels.text.text_document import TextDocument
from compiler.options import STAGE_TABLE
from profiler.sampled import PLACES, HotLine, Sampling, hottest, text_digest


@dataclass(frozen=True)
class HotSpot:
    """A line of the kernel language in the list of hottest ones; `share` is of the samples in kernels."""

    kernel: str
    line: HotLine
    share: float

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.line.file.rsplit('/', 1)[-1]}:{self.line.line}"


def sampled_costs(
    document: TextDocument, stage: str, kernel: str, compilation: Compilation, run: RunTimes
) -> LineCosts | None:
    """The sampled costs of a kernel's text; None where there are no samples of this very text."""
    found = run.sampling.kernel(kernel) if run.sampling is not None else None
    part = found.stage(STAGE_TABLE[stage].same_as or stage) if found is not None else None
    if run.sampling is None or found is None or part is None or part.digest != _digest(document):
        return None
    counts = np.zeros(document.lines)
    for line in part.lines:
        if 0 < line.line <= document.lines:
            counts[line.line - 1] = line.count
    times = launch_times(run)
    seconds = sum(times.get(call.index, 0.0) for call in compilation.calls if call.kernel == kernel)
    top = float(counts.max(initial=0.0))
    if top <= 0:
        return None
    heat = np.sqrt(counts / top)
    stalls = {line.line - 1: line.stalls for line in part.lines if line.stalls}
    share = counts / run.sampling.inside
    return LineCosts(counts / found.samples * seconds, heat, counts > 0, share, stalls)


def costs_of(
    document: TextDocument, stage: str, kernel: str, compilation: Compilation, run: RunTimes
) -> LineCosts | None:
    """What the lines of a text cost in a run: by samples of them where there are any, else as `line_costs` has it."""
    sampled = sampled_costs(document, stage, kernel, compilation, run)
    return sampled or line_costs(document, stage, compilation, run)


def _digest(document: TextDocument) -> str:
    return sha256(document.data).hexdigest()[: len(text_digest(""))]


def hot_spots(found: Sampling | None, most: int = 500) -> list[HotSpot]:
    """The hottest lines of the kernel language, over all kernels."""
    if found is None or not found.inside:
        return []
    spots = [
        HotSpot(kernel.kernel, line, line.count / found.inside)
        for kernel in found.kernels
        if (part := kernel.stage(PLACES)) is not None
        for line in part.lines
    ]
    return sorted(spots, key=lambda spot: -spot.share)[:most]


def line_in_stage(found: Sampling, spot: HotSpot, stage: str) -> int:
    """The hottest line (from 0) of a stage that comes from the same line of the kernel language; -1 where none does."""
    kernel = found.kernel(spot.kernel)
    part = kernel.stage(stage) if kernel is not None else None
    if part is None:
        return -1
    same = [x for x in part.lines if (x.file, x.source_line) == (spot.line.file, spot.line.source_line)]
    if not same:  # the kernel's own source has the lines that call what is written elsewhere
        same = [x for x in part.lines if set(x.nodes) & set(spot.line.nodes)] if stage == "source" else []
    return hottest(same)[0].line - 1 if same else -1
