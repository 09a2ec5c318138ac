"""What a comparison is made of: the sides, what differs around them, kernels that compute the same, with verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiler.analysis.heat import LineChange
from profiler.analysis.verdicts import Verdict
from profiler.records import Summary


@dataclass(frozen=True)
class Side:
    """One of the things compared; `run` is None when compilations are."""

    label: str
    run: Mapping[str, Any] | None
    compilation: Mapping[str, Any] | None
    machine: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """Something that is not the same on every side."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class KernelComparison:
    """Kernels that compute the same: names and times on each side (None where it has none), verdicts against side 0.

    `matched` says by what: "what it computes", "shared nodes" or "one side only". `differs_at` is the first stage at
    which the IR of side 0 and the last side differs; empty if none does, None if it was not kept.
    """

    names: tuple[tuple[str, ...], ...]
    nodes: tuple[str, ...]
    matched: str
    times: tuple[Summary | None, ...]
    verdicts: tuple[Verdict | None, ...]
    differs_at: str | None


@dataclass(frozen=True)
class Comparison:
    """All of it. `break_even` is one line for each side after the first."""

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    whole: tuple[Summary | None, ...]
    verdicts: tuple[Verdict | None, ...]
    kernels: tuple[KernelComparison, ...]
    stage_seconds: tuple[Mapping[str, float], ...]
    model_differs_at: str | None
    break_even: tuple[str, ...]
    test: str
    lines: tuple[LineChange, ...] = ()
    """Lines of the kernel language that another share of the samples lies in, where both runs were sampled."""
