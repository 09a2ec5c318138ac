"""What samples say of the lines of a text: the share of each, and the seconds that come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

from app.viewmodels.compilation import LIBRARY, Compilation
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.run_figures import launch_times
from app.viewmodels.text.line_costs import LineCosts, line_costs
from app.viewmodels.text.text_document import TextDocument
from compiler.options import STAGE_TABLE
from profiler.sampled import PLACES, HotLine, SampledKernel, Sampling, hottest, text_digest


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
    document: TextDocument, stage: str, shown: str, compilation: Compilation, run: RunTimes
) -> LineCosts | None:
    """The sampled costs of a text, of the kernel `shown` or of that file of the kernel library; None where there are
    no samples of this very text."""
    if run.sampling is None:
        return None
    times = launch_times(run)
    counts, seconds = np.zeros(document.lines), np.zeros(document.lines)
    stalls: dict[int, tuple[tuple[str, int], ...]] = {}
    for kernel, lines in _sampled_lines(run.sampling, document, stage, shown):
        duration = sum(times.get(call.index, 0.0) for call in compilation.calls if call.kernel == kernel.kernel)
        for line in lines:
            counts[line.line - 1] += line.count
            seconds[line.line - 1] += line.count / kernel.samples * duration
            if line.stalls:
                stalls[line.line - 1] = _added(stalls.get(line.line - 1, ()), line.stalls)
    top = float(counts.max(initial=0.0))
    if top <= 0:
        return None
    return LineCosts(seconds, np.sqrt(counts / top), counts > 0, counts / run.sampling.inside, stalls)


def _sampled_lines(
    sampling: Sampling, document: TextDocument, stage: str, shown: str
) -> Iterator[tuple[SampledKernel, list[HotLine]]]:
    """By kernel, the lines of a text that samples were taken at. A file of the library is every kernel's, and has the
    lines that still read as they did."""
    if stage == LIBRARY:
        for kernel in sampling.kernels:
            lines = part.lines if (part := kernel.stage(PLACES)) is not None else ()
            yield kernel, [line for line in lines if line.file == shown and _reads(document, line)]
    elif (found := sampling.kernel(shown)) is not None and (known := STAGE_TABLE.get(stage)) is not None:
        part = found.stage(known.same_as or stage)
        if part is not None and part.digest == sha256(document.data).hexdigest()[: len(text_digest(""))]:
            yield found, [line for line in part.lines if 0 < line.line <= document.lines]


def _reads(document: TextDocument, line: HotLine) -> bool:
    return 0 < line.line <= document.lines and document.line(line.line - 1).strip() == line.text.strip()


def _added(first: tuple[tuple[str, int], ...], second: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """What two kernels waited for at one line, most first."""
    return tuple((Counter(dict(first)) + Counter(dict(second))).most_common())


def costs_of(
    document: TextDocument, stage: str, shown: str, compilation: Compilation, run: RunTimes
) -> LineCosts | None:
    """What the lines of a text cost in a run: by samples of them where there are any, else as `line_costs` has it."""
    sampled = sampled_costs(document, stage, shown, compilation, run)
    return sampled or line_costs(document, stage, compilation, run)


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
