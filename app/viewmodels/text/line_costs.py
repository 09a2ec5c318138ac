"""What each line of an IR text cost in a run: measured where the line is a whole kernel call, else apportioned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from app.viewmodels.compilation import Compilation
from app.viewmodels.frame.formats import seconds
from app.viewmodels.graph.heat import apportioned, node_samples
from app.viewmodels.requests import RunTimes
from app.viewmodels.runs.run_figures import launch_times
from app.viewmodels.text.text_document import TextDocument
from profiler.units import percent

MEASURED, APPORTIONED, SAMPLED = "measured", "apportioned", "sampled"
_CALL_LINES = {"mogg": b" = mogg.kernel @", "mgp": b"mgp.call @"}  # a line with this stands for one launch


@dataclass(frozen=True)
class LineCosts:
    """Seconds and heat (0 to 1) of each line; `measured` is true where the seconds were timed, not divided up.

    Where lines were sampled, `shares` has their share of the samples in kernels, and `stalls` what a GPU's line waits
    for.
    """

    seconds: np.ndarray
    heat: np.ndarray
    measured: np.ndarray
    shares: np.ndarray | None = None
    stalls: Mapping[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What the heat of this text is: never left for the reader to guess."""
        costly = self.seconds > 0
        if self.shares is not None:
            return SAMPLED
        if not costly.any():
            return ""
        kinds = [MEASURED] * bool((self.measured & costly).any()) + [APPORTIONED] * bool(
            (~self.measured & costly).any()
        )
        return " and ".join(kinds)

    def words(self, line: int) -> str:
        """The cost of one line, for its tip."""
        if not 0 <= line < len(self.seconds) or self.seconds[line] <= 0:
            return ""
        if self.shares is not None:
            waits = ", ".join(f"{name} {count:,}" for name, count in self.stalls.get(line, ())[:4])
            words = (
                f"{percent(float(self.shares[line]), 2)} of the samples, {seconds(float(self.seconds[line]))} a call"
            )
            return f"{words}; samples by what it waited for: {waits}" if waits else words
        if self.measured[line]:
            return f"{seconds(float(self.seconds[line]))} measured: this call, at the median"
        return (
            f"{seconds(float(self.seconds[line]))} apportioned: its kernel's measured time, divided by work and lines"
        )


def line_costs(document: TextDocument, stage: str, compilation: Compilation, run: RunTimes) -> LineCosts | None:
    """The costs of a text's lines; None where the run or the text has none."""
    if not run.calls or len(document.line_sets) != document.lines or not document.lines:
        return None
    times = launch_times(run)
    costs = apportioned(compilation, times, node_samples(run.sampling))
    lines = np.bincount(document.line_sets, minlength=len(document.sets))
    share = np.array([sum(costs.get(node, 0.0) for node in nodes) for nodes in document.sets])
    share = (share / np.maximum(lines, 1))[document.line_sets]
    measured = np.zeros(document.lines, bool)
    if stage in _CALL_LINES:
        whole = {frozenset(call.nodes): times[call.index] for call in compilation.calls if call.index in times}
        for line in range(document.lines):
            calls = document.line_bytes(line, 400).find(_CALL_LINES[stage]) >= 0
            known = whole.get(frozenset(document.nodes(line)))
            if known is not None and calls:
                measured[line], share[line] = True, known
            elif known is not None or stage == "mgp":  # an allocation or the output: it takes no time of its own
                share[line] = 0.0
    top = float(share.max())
    return LineCosts(share, np.sqrt(share / top) if top > 0 else np.zeros(len(share)), measured)
