"""What is asked of a worker process and what it answers: frozen, plain, and picklable both ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.viewmodels.compilation import CompileChoices


@dataclass(frozen=True)
class CompileRequest:
    """Load a source and compile it. `text` replaces what the file holds: an unsaved edit."""

    source: str
    choices: CompileChoices
    text: str | None = None


@dataclass(frozen=True)
class StageRequest:
    """The text of one stage of the compilation this worker holds; `kernel` empty means the whole model."""

    stage: str
    kernel: str = ""
    target: str = ""


@dataclass(frozen=True)
class LlvmPassesRequest:
    """The times of LLVM's own passes, kernel by kernel."""


@dataclass(frozen=True)
class RunRequest:
    """Run the compilation this worker holds and time every kernel."""

    repeats: int = 30
    threads: int | None = None
    seed: int = 0
    dims: tuple[tuple[str, int], ...] = ()
    check: bool = True


@dataclass(frozen=True)
class OpenRunRequest:
    """Show a stored run in the same views, with nothing compiled."""

    run: int


@dataclass(frozen=True)
class ListRunsRequest:
    """The newest runs of the database."""

    limit: int = 300


@dataclass(frozen=True)
class CompareRunsRequest:
    """Two or more runs side by side."""

    runs: tuple[int, ...]


@dataclass(frozen=True)
class ExportRequest:
    """A run (one id) or a comparison (several) written to a file in a format."""

    runs: tuple[int, ...]
    kind: str
    path: str


@dataclass(frozen=True)
class FlowsRequest:
    """Per-kernel against all-kernel over -O and debug levels, each cell in fresh processes."""

    source: str
    target: str = "cpu"
    levels: tuple[int, ...] = (2, 3)
    debugs: tuple[str, ...] = ("none", "line-tables")
    repeat: int = 1


@dataclass(frozen=True)
class CeilingsRequest:
    """This machine's measured ceilings; stored ones are used where they exist."""


@dataclass(frozen=True)
class LayoutRequest:
    """Place boxes (index, width, height), some inside groups, joined by edges."""

    sizes: tuple[tuple[float, float], ...]
    edges: tuple[tuple[int, int], ...]
    groups: tuple[int, ...]
    generation: int = 0


@dataclass(frozen=True)
class Failure:
    """Why a job ended without a result; `detail` is for the log."""

    message: str
    detail: str = ""
    file: str = ""
    line: int = 0
    kind: str = "user"


@dataclass(frozen=True)
class Progress:
    """Which stage a job has come to."""

    stage: str
    done: float = -1.0


@dataclass(frozen=True)
class Reply:
    """One message from a worker: progress (more follow), or the end of job `job`."""

    job: int
    value: Any

    @property
    def final(self) -> bool:
        """Whether the job is over."""
        return not isinstance(self.value, Progress)


@dataclass(frozen=True)
class RunResult:
    """Times of a run: per repeat, and per call over the repeats (seconds); what the check found."""

    totals: tuple[float, ...]
    calls: tuple[tuple[str, tuple[float, ...]], ...]
    spans: tuple[tuple[int, int, float, float], ...]  # thread, call, start, seconds of the last repeat
    threads: int
    dims: tuple[tuple[str, int], ...]
    checks: tuple[str, ...] = ()
    ok: bool | None = None
    number: int = 0  # of the stored run; 0 when it was not kept
    notes: tuple[str, ...] = ()
    work: tuple[tuple[int, int], ...] = ()  # counted (flops, bytes) of each call, where they were


@dataclass(frozen=True)
class RunRow:
    """A stored run in the list."""

    number: int
    started: str
    source: str
    device: str
    status: str
    median: float
    low: float
    high: float
    how: str
    note: str
