"""What is asked of a worker process and what it answers: frozen and plain. `app.worker.answers` pairs the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.flows.cells import BASE, Cell, Sample
from app.viewmodels.compilation import NodeRecord
from compiler.options import CompileOptions
from profiler.records import Ceiling, Summary
from profiler.sampled import Sampling


@dataclass(frozen=True)
class Database:
    """Where the database is; goes before every request, as it may move while a process lives."""

    path: str | None
    readonly: bool = False


@dataclass(frozen=True)
class CompileRequest:
    """Load a source and compile it. `text` replaces what the file holds: an unsaved edit."""

    source: str
    options: CompileOptions
    text: str | None = None
    libraries: tuple[str, ...] = ()  # folders of kernels beside those that the source names
    tuned: bool = True  # with what was tuned for its target here
    preview: bool = False  # tell the graph as soon as it is built: it is another than the one on show


@dataclass(frozen=True)
class ReadRequest:
    """Load a source to read texts of it: nothing is compiled but the kernels that are asked for."""

    compilation: CompileRequest


@dataclass(frozen=True)
class StageRequest:
    """The text of one stage of the compilation this worker holds; `kernel` empty means the whole model.

    `step` counts the kernel's passes: the text is then the one after that pass.
    """

    stage: str
    kernel: str = ""
    target: str = ""
    step: int = -1


@dataclass(frozen=True)
class StoredStageRequest:
    """The text of one stage of a stored compilation."""

    compilation: int
    stage: str
    kernel: str = ""


@dataclass(frozen=True)
class PassesRequest:
    """Every pass of one kernel, LLVM's own too, with what it did to the IR: made now, for this kernel alone."""

    kernel: str
    target: str = ""


@dataclass(frozen=True)
class FindRequest:
    """Search every stage of one kernel, or the model's stages where `kernel` is empty."""

    pattern: str
    kernel: str = ""
    most: int = 200


@dataclass(frozen=True)
class Hit:
    """A found line: where it is and what it says."""

    stage: str
    kernel: str
    line: int
    text: str


@dataclass(frozen=True)
class KeepRequest:
    """Put the compilation this worker holds into the database, with the IR of its stages where asked; its number."""

    stages: bool = False


@dataclass(frozen=True)
class TimeEditRequest:
    """Time a kernel as generated and as edited, in pairs of processes, and check the edit's results.

    With a `package` it is the model without it and with it: what is edited are files of the kernel library.
    """

    kernel: str
    pairs: int = 8
    package: str = ""


@dataclass(frozen=True)
class AgainRequest:
    """Make two stored runs again, in pairs of processes that take turns: two new runs."""

    runs: tuple[int, int]
    pairs: int = 8


@dataclass(frozen=True)
class EditTiming:
    """What came of it: times as (median, low, high) in seconds, the verdict in words, and the two kept runs."""

    kernel: str
    original: tuple[float, float, float]
    edited: tuple[float, float, float]
    verdict: str
    ratio: tuple[float, float, float]
    checks: tuple[str, ...]
    ok: bool | None
    runs: tuple[int, int]
    method: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunRequest:
    """Run the compilation this worker holds and time every kernel."""

    repeats: int = 30
    threads: int | None = None
    seed: int = 0
    dims: tuple[tuple[str, int], ...] = ()
    check: bool = True
    device: str = "cpu"
    database: str = ""  # where the run is kept; empty means the user's own
    processes: int = 1  # that share the timing, so that runs can be told apart from processes
    sample: bool = False  # also where inside the kernels the time goes


@dataclass(frozen=True)
class OpenRunRequest:
    """Show a stored run in the same views, with nothing compiled; or a compilation by itself, where that is given."""

    run: int
    compilation: int = 0


@dataclass(frozen=True)
class ListRunsRequest:
    """The newest runs of the database."""


@dataclass(frozen=True)
class ListCompilationsRequest:
    """The newest compilations of the database."""


@dataclass(frozen=True)
class CompareRunsRequest:
    """Two or more runs side by side; or compilations, where those are given."""

    runs: tuple[int, ...] = ()
    compilations: tuple[int, ...] = ()


@dataclass(frozen=True)
class ExportRequest:
    """A run (one id) or a comparison (several) written to a file in a format."""

    runs: tuple[int, ...]
    kind: str
    path: str


@dataclass(frozen=True)
class FlowsRequest:
    """Per-kernel against all-kernel: these cells, each in fresh processes."""

    source: str
    options: CompileOptions
    cells: tuple[Cell, ...]
    repeat: int = 1
    folder: str = ""  # for the caches of the cells; the window removes it, as the worker may be killed
    libraries: tuple[str, ...] = ()  # folders of kernels beside those that the source names


@dataclass(frozen=True)
class CeilingsRequest:
    """The ceilings of a device: measured again, or only those that were measured before and kept."""

    measure: bool = True
    device: str = "cpu"


@dataclass(frozen=True)
class CeilingsTold:
    """What a device can do; no ceilings where it was never measured."""

    device: str
    ceilings: tuple[Ceiling, ...]


@dataclass(frozen=True)
class DevicesRequest:
    """What kernels can be run on here."""


@dataclass(frozen=True)
class RemoteDeviceRequest:
    """Whether a device of another machine can be reached, and what it is; `tcp://HOST:PORT/cpu`."""

    place: str


@dataclass(frozen=True)
class ReportRequest:
    """The document of a run (one number) or of a comparison (several)."""

    runs: tuple[int, ...]


@dataclass(frozen=True)
class StorageRequest:
    """What is kept on disk. `clear` empties the compilation cache first, a `limit` drops what is above it."""

    clear: bool = False
    limit: int = 0


@dataclass(frozen=True)
class StorageTold:
    """Where the compilation cache and the trace database are, and what the cache holds."""

    cache: str
    entries: int
    bytes: int
    database: str


@dataclass(frozen=True)
class LayoutRequest:
    """Place boxes (width, height), some inside groups, joined by edges: sequences of pairs, or arrays of two columns.

    `parents` are (group, group around it); `loops` are the groups that keep room beside them for an edge back up.
    """

    sizes: Any
    edges: Any
    groups: Any
    generation: int = 0
    parents: Any = ()
    loops: tuple[int, ...] = ()
    widths: Any = ()  # the least width of each group, for its title


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


Report = Callable[[Progress], None]
"""Whom a job tells how far it is."""


@dataclass(frozen=True)
class GraphPart(Progress):
    """Some nodes of the graph that is being compiled, before any of it is; `last` when there are no more."""

    name: str = ""
    nodes: tuple[NodeRecord, ...] = ()
    last: bool = False


@dataclass(frozen=True)
class KernelCome(Progress):
    """A kernel of the model that is being compiled, and how many there will be."""

    kernel: str = ""
    kernels: int = 0


@dataclass(frozen=True)
class FlowsBegun(Progress):
    """Flows are about to be measured, on this machine."""

    machine: str = ""
    cores: int = 1


@dataclass(frozen=True)
class FlowProgress(Progress):
    """A cell of the flows began (no sample) or ended."""

    cell: Cell = BASE
    sample: Sample | None = None


@dataclass(frozen=True)
class RunTimes:
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
    device: str = "cpu"
    summary: Summary | None = None  # of the totals; None where nothing was timed
    summaries: tuple[Summary, ...] = ()  # of each call's times
    counters: tuple[tuple[str, float | None, str, str], ...] = ()  # name, value, unit, why there is no value
    elsewhere: str = ""  # the machine it was made on, where that is not this one
    ceilings: tuple[Ceiling, ...] = ()  # what was measured there
    sampling: Sampling | None = None  # where inside the kernels the time goes, where that was asked for
    keys: tuple[str, ...] = ()  # of each call's kernel: those that compute the same have the same
    thread_seconds: tuple[tuple[float, ...], ...] = ()  # of each call, what each thread took


def source_name(source: str) -> str:
    """A source by its last part: a sample's name, or a file's."""
    return source.removeprefix("sample:").rsplit("/", 1)[-1]


@dataclass(frozen=True)
class RunRow:
    """A stored run in the list."""

    number: int
    started: str
    source: str
    device: str
    status: str
    median: float
    how: str
    note: str
    target: str = ""
    changes: str = ""  # edges cut and fused, kernels edited
    tags: tuple[str, ...] = ()
    pinned: bool = False  # the baseline of its source


@dataclass(frozen=True)
class CompilationRow:
    """A stored compilation in the list."""

    number: int
    created: str
    source: str
    target: str
    how: str
    seconds: float
    kernels: int
    changes: str = ""
