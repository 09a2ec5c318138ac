"""What tuning passes around: kernels that leave something to choose, and what was found out about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compiler.options import ChoiceValue
from profiler.analysis.verdicts import FASTER, Verdict

if TYPE_CHECKING:
    import numpy as np

    from compiler.graph.graph import Graph
    from compiler.language.library import Library
    from profiler.records import MeasureRequest

Chosen = tuple[tuple[str, ChoiceValue], ...]
"""Choices by name; those that are not named are as the kernel would have them by itself."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is tuned: a graph, how and where it is run, on which inputs, and the error that its results may have."""

    request: MeasureRequest
    graph: Graph
    arrays: Sequence[np.ndarray]
    bound: float
    library: Library


@dataclass(frozen=True)
class Tunable:
    """A kernel that leaves something to choose: its problem, and what it takes by itself."""

    kernel: str
    problem: str
    defaults: Chosen


@dataclass(frozen=True)
class Row:
    """What is known of a kernel so far. `best` is empty while nothing is faster than what it takes by itself."""

    tunable: Tunable
    words: str
    best: Chosen = ()
    verdict: Verdict | None = None
    tried: int = 0
    dropped: tuple[str, ...] = ()
    """Candidates that could not be used, each in words."""
    definitions: Mapping[str, str] = field(default_factory=dict)
    """The definitions of the library behind the best, and the digest of each: another digest makes it worthless."""

    @property
    def faster(self) -> bool:
        """Whether something better was found."""
        return bool(self.best) and self.verdict is not None and self.verdict.verdict == FASTER


@dataclass(frozen=True)
class State:
    """How far tuning has come: every kernel's row, what is being done, and the share of the time that is gone."""

    rows: tuple[Row, ...]
    words: str
    share: float


def choice_words(chosen: Sequence[tuple[str, Any]]) -> str:
    """Choices as people read them."""
    return ", ".join(f"{name} {value_words(value)}" for name, value in chosen)


def tuned_words(tuned: Mapping[str, Mapping[str, Any]]) -> str:
    """What a compilation took over from tuning, in a line; empty where it is nothing."""
    each = [f"{kernel} ({choice_words(tuple(chosen.items()))})" for kernel, chosen in tuned.items()]
    more = f" and {len(each) - 4} more" if len(each) > 4 else ""
    return ", ".join(each[:4]) + more


def value_words(value: Any) -> str:
    """A chosen value: several numbers as `8 x 3`."""
    if isinstance(value, tuple | list):
        return " x ".join(map(str, value))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
