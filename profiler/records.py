"""What the profiler passes around: frozen records of machines, compilations, runs and launches, and their JSON forms.

The same records come out of a child process, go into the store and come back from it. Times are seconds unless a name
says otherwise; `samples` are nanoseconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from compiler.errors import ParseError
from compiler.options import CompileOptions
from compiler.trace import PassRecord
from profiler.sampled import Sampling

FINISHED, FAILED, RUNNING, INTERRUPTED = "finished", "failed", "running", "interrupted"
WHOLE = -1
"""The position under which samples of the whole model are kept."""
LOST, LOST_TRACED = -2, -3
"""The positions under which lost processor time of whole calls, and of calls timed launch by launch, is kept."""
DATABASE_VARIABLE, READONLY_VARIABLE = "KERNELGLASS_DB", "KERNELGLASS_DB_READONLY"
"""What names the database; where the other is 1, that is somebody else's: it is read and never written."""
PASS_COLUMNS = tuple(item.name for item in fields(PassRecord) if item.name != "changed")
"""What is kept of a pass, and exported: whether it changed the IR was only looked at while that was there."""


@dataclass(frozen=True)
class Machine:
    """What a time depends on besides the program; equal fingerprints may be compared without a second thought."""

    fingerprint: str
    name: str
    description: Mapping[str, Any]


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel of a compilation. `key` is a hash of what it computes, whatever its name or source."""

    name: str
    key: str
    nodes: tuple[str, ...]
    slots: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Decision:
    """One line of the fusion ledger; `bytes_saved` is text, as it may depend on symbolic dims."""

    producer: str
    consumer: str
    accepted: bool
    rule: str
    reason: str
    bytes_saved: str


@dataclass(frozen=True)
class CompilationRecord:
    """A compilation without its IR texts."""

    source: str
    graph_name: str
    graph_text: str
    target: str
    flow: str
    opt_level: int
    debug: str
    options: Mapping[str, Any]
    versions: Mapping[str, str]
    seconds: float
    passes: tuple[PassRecord, ...]
    kernels: tuple[CompiledKernel, ...]
    decisions: tuple[Decision, ...]
    stats: Mapping[str, Any]


@dataclass(frozen=True)
class StageRecord:
    """The text of one stage, of one kernel or of the whole model (`kernel` empty), and the nodes of each line."""

    stage: str
    kernel: str
    text: str
    line_nodes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Counter:
    """A counted thing of a run; `value` is None where the system did not allow it, and `note` then says why."""

    name: str
    value: float | None
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Summary:
    """The middle and the spread of some times, in seconds; `outliers` are kept in all of it, and counted.

    `median` is the median of process medians (of one process: its median); of several processes, the interval from
    `low` to `high` tells how processes differ.
    """

    median: float
    low: float
    high: float
    minimum: float
    maximum: float
    count: int
    outliers: int
    processes: int = 1
    coverage: float = 0.95
    """How often such an interval has the true median in it: of few times none can have it as often as is asked for."""

    @property
    def width(self) -> float:
        """Half the interval's width as a share of the median."""
        spread = (self.high - self.low) / 2
        return spread / self.median if self.median else math.inf if spread else 0.0


@dataclass(frozen=True)
class Launch:
    """One kernel call of the model: its samples (ns, one a call of the model), threads' share, and what it counted."""

    position: int
    kernel: str
    key: str
    nodes: tuple[str, ...]
    samples: tuple[int, ...]
    thread_seconds: tuple[float, ...]
    flops: int | None = None
    bytes: int | None = None
    loads: int | None = None
    stores: int | None = None
    counting: str = ""


COPY, MULTIPLY, TENSOR = "copy ", "multiply-add ", "tensor "
"""How the names of ceilings begin; the memory level or the dtype follows."""
GBYTES, GFLOPS = "GB/s", "GFLOP/s"


@dataclass(frozen=True)
class Ceiling:
    """What a machine reaches: GB/s of a copy (read and written bytes together) or GFLOP/s, with its interval."""

    name: str
    threads: int
    value: float
    unit: str
    low: float
    high: float


@dataclass(frozen=True)
class MeasureRequest:
    """Everything that decides a run: with it, the same run can be made again."""

    source: str
    device: str = "cpu"
    threads: int | None = None
    dims: Mapping[str, int] = field(default_factory=dict)
    seed: int = 0
    repeat: int | None = None
    width: float = 0.01
    budget: float = 2.0
    rotate: bool = True
    time_limit: float = 120.0
    memory_limit: int | None = None
    options: CompileOptions = field(default_factory=CompileOptions)
    libraries: tuple[str, ...] = ()
    count: bool = True
    processes: int = 1
    pin: bool | None = None
    """Whether each thread gets a processor of its own; None: where there is a thread for each of them."""
    artifact: str = ""  # a compiled model in a file, which is loaded instead of compiling
    sample: bool = False  # whether the calls are made once more, with a clock that looks where they are


@dataclass(frozen=True)
class MeasuredRun:
    """What came of a run. A failed one has an `error`, and where known the signal's name and the kernel it was in.

    Samples come in `blocks`, and blocks in `processes` (how many blocks each has). `lost` and `lost_traced` are the
    nanoseconds of processor time that each whole call, and each call timed launch by launch, did not get.
    """

    status: str
    samples: tuple[int, ...] = ()
    blocks: tuple[int, ...] = ()
    launches: tuple[Launch, ...] = ()
    counters: tuple[Counter, ...] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    timeline: tuple[tuple[tuple[int, int], ...], ...] = ()
    error: str = ""
    signal: str = ""
    kernel: str = ""
    processes: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    lost_traced: tuple[int, ...] = ()
    sampling: Sampling | None = None


_KEPT_OPTIONS = tuple(f.name for f in fields(CompileOptions) if f.name not in ("record_passes", "snapshots"))
"""The options that a stored request has, beside its own fields; the others decide what is told, not what is run."""


def request_to_json(request: MeasureRequest) -> str:
    """One line of JSON, as a store keeps it: flat."""
    flat: dict[str, Any] = {}
    for entry in fields(request):
        value = getattr(request, entry.name)
        flat |= (
            {name: getattr(value, name) for name in _KEPT_OPTIONS} if entry.name == "options" else {entry.name: value}
        )
    flat |= {name: sorted(flat[name]) for name in ("force_cut", "force_fuse")}
    flat["tuned"] = [asdict(each) for each in flat["tuned"]]
    if not flat["tuned"]:
        del flat["tuned"]
    if not request.sample:  # a run that was not sampled takes no more room for it
        del flat["sample"]
    return json.dumps(flat, separators=(",", ":"), allow_nan=False)


def request_from_json(text: str) -> MeasureRequest:
    """The request behind a line of JSON; anything else is a ParseError."""
    import msgspec

    from compiler.processes.known_types import readable

    try:
        found = dict(json.loads(text))
        options = {name: found.pop(name) for name in _KEPT_OPTIONS if name in found}
        unknown = set(found) - {f.name for f in fields(MeasureRequest)} | {"options"} & set(found)
        if unknown:
            raise ParseError(f"a run request has no field {', '.join(sorted(unknown))}")
        return msgspec.convert({**found, "options": options}, readable(MeasureRequest))
    except (ValueError, TypeError, msgspec.MsgspecError) as error:
        raise ParseError(f"not a run request: {error}") from None


@dataclass(frozen=True)
class Moment:
    """A run of a history: what it is called there (its tags, or its number), and its time."""

    run: int
    started: str
    label: str
    median: float
    low: float
    high: float
    runs: tuple[int, ...] = ()
    """All of them, where it is of several that have a commit or tags in common; the figures are then the median of
    their medians, and the lowest and highest of their intervals."""

    @property
    def newest(self) -> int:
        """The number of its last run."""
        return self.runs[-1] if self.runs else self.run


_MACHINE_MOVED = 0.02  # less than that is said of no machine: it is how yardsticks scatter


@dataclass(frozen=True)
class Change:
    """Where a history changes: the first run after it, the place of its moment, the ratio of the middle after it to
    that before it, and how likely chance alone does as much. `machine` is the same ratio of a fixed piece of work that
    was timed beside the runs: what the machine alone accounts for; 1 where it is not known."""

    run: int
    at: int
    ratio: float
    p: float
    machine: float = 1.0

    @property
    def words(self) -> str:
        """How much slower or faster it became, and from where on."""
        return f"{self.ratio - 1:+.1%} from run {self.run} on{f' ({self.reason})' if self.reason else ''}"

    @property
    def reason(self) -> str:
        """What the machine has to do with it, in words; nothing where it stayed as it was."""
        change = self.machine - 1
        return f"the machine itself: {change:+.1%}" if abs(change) >= _MACHINE_MOVED else ""


@dataclass(frozen=True)
class History:
    """Runs of one source under the same conditions, oldest first, and where their time changed."""

    source: str
    conditions: dict[str, str]
    moments: tuple[Moment, ...]
    changes: tuple[Change, ...]
    others: int
    """Finished runs of the source under other conditions, which are not among them."""
