"""What the profiler passes around: frozen records of machines, compilations, runs and launches, and their JSON forms.

The same records come out of a child process, go into the store and come back from it. Times are seconds unless a name
says otherwise; `samples` are nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from compiler.errors import ParseError

FINISHED, FAILED, RUNNING, INTERRUPTED = "finished", "failed", "running", "interrupted"
WHOLE = -1
"""The position under which samples of the whole model are kept."""


@dataclass(frozen=True)
class Machine:
    """What a time depends on besides the program; equal fingerprints may be compared without a second thought."""

    fingerprint: str
    name: str
    description: Mapping[str, Any]


@dataclass(frozen=True)
class PassTime:
    """One pass of a compilation; sizes are -1 where they were not counted."""

    name: str
    stage: str
    kernel: str
    start: float
    seconds: float
    ops_before: int = -1
    ops_after: int = -1
    bytes_after: int = -1


@dataclass(frozen=True)
class KernelRecord:
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
    passes: tuple[PassTime, ...]
    kernels: tuple[KernelRecord, ...]
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


@dataclass(frozen=True)
class RunRequest:
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
    target: str = "cpu"
    flow: str = "all-kernel"
    opt_level: int = 3
    debug: str = "none"
    jobs: int | None = None
    cache: bool = True
    fuse: bool = True
    sources: tuple[tuple[str, str], ...] = ()
    libraries: tuple[str, ...] = ()
    count: bool = True


@dataclass(frozen=True)
class RunResult:
    """What came of a run. A failed one has an `error`, and where known the signal's name and the kernel it was in."""

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


def to_json(record: Any) -> str:
    """One line of JSON for a record of this file."""
    return json.dumps(asdict(record), separators=(",", ":"), allow_nan=False)


def request_from_json(text: str) -> RunRequest:
    """The request behind a line of JSON; anything else is a ParseError."""
    try:
        found = json.loads(text)
        known = {f.name for f in fields(RunRequest)}
        unknown = set(found) - known
        if unknown:
            raise ParseError(f"a run request has no field {', '.join(sorted(unknown))}")
        found["sources"] = tuple((name, body) for name, body in found.get("sources", ()))
        found["libraries"] = tuple(found.get("libraries", ()))
        return RunRequest(**found)
    except (ValueError, TypeError, AttributeError) as error:
        raise ParseError(f"not a run request: {error}") from None


def compilation_from(found: Mapping[str, Any]) -> CompilationRecord:
    """A compilation record from the plain data of its JSON form."""
    return CompilationRecord(
        **{
            **found,
            "passes": tuple(PassTime(**item) for item in found["passes"]),
            "kernels": tuple(
                KernelRecord(**{**item, "nodes": tuple(item["nodes"]), "slots": tuple(item["slots"])})
                for item in found["kernels"]
            ),
            "decisions": tuple(Decision(**item) for item in found["decisions"]),
        }
    )


def stage_from(found: Mapping[str, Any]) -> StageRecord:
    """A stage record from the plain data of its JSON form."""
    return StageRecord(
        found["stage"], found["kernel"], found["text"], tuple(tuple(nodes) for nodes in found["line_nodes"])
    )


def launch_from(found: Mapping[str, Any]) -> Launch:
    """A launch from the plain data of its JSON form."""
    listed = {name: tuple(found[name]) for name in ("nodes", "samples", "thread_seconds")}
    return Launch(**{**found, **listed})
