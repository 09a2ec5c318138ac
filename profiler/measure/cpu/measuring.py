"""Measuring on the CPU from outside: starts the child, hands it a request, and turns what comes back into records.

Whatever happens in the child (crash, hang, no memory) becomes a failed result that names the signal and the kernel.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

import compiler.errors
from compiler.errors import CompilerError, ExecutionError, Location
from compiler.graph.dtypes import from_numpy, numpy_dtype
from profiler.measure.cpu.child import (
    CALL_WORD,
    COMPILING,
    PHASE_WORD,
    PHASES,
    PLACES_WORD,
    PROBING,
    SHARED_BYTES,
    TIMING,
    WORDS_PER_PLACE,
)
from profiler.measure.outcome import Outcome
from profiler.records import (
    FAILED,
    FINISHED,
    INTERRUPTED,
    CompilationRecord,
    Counter,
    MeasuredRun,
    MeasureRequest,
    StageRecord,
    compilation_from,
    launch_from,
    stage_from,
)

_FAREWELL_SECONDS = 5.0
_TIMED = ("samples", "blocks", "conditions", "counters", "timeline", "memory", "lost", "lost_traced")


@dataclass
class _Received:
    """Records as they arrive."""

    compilation: CompilationRecord | None = None
    calls: list[str] = field(default_factory=list)
    stages: list[StageRecord] = field(default_factory=list)
    outputs: list[tuple[str, tuple[int, ...], int]] = field(default_factory=list)
    launches: list[Any] = field(default_factory=list)
    timed: dict[str, Any] = field(default_factory=dict)
    error: CompilerError | None = None
    done: bool = False


def measure_once(
    request: MeasureRequest, graph: str, arrays: Sequence[np.ndarray], *, texts: bool = False, outputs: bool = False,
    brief: bool = False, progress: Callable[[str], None] = lambda words: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:  # fmt: skip
    """Compile `graph` (its text) and run it on `arrays` in one child process. `texts` asks for the IR of all stages.

    `brief` asks for times only: what is known of the compilation and of each launch is then left out.
    """
    with tempfile.TemporaryDirectory(prefix="kernelglass-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            _write_request(folder, request, graph, arrays, {"texts": texts, "outputs": outputs, "brief": brief})
        except OSError as error:
            raise ExecutionError(f"cannot hand the inputs over in {folder}: {error.strerror or error}") from None
        received = _Received()
        with (folder / "stderr.txt").open("wb") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "profiler.measure.cpu.child", str(folder)], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=stderr, env=_environment(),
            )  # fmt: skip
            ended = _receive(process, received, request.time_limit, progress, cancelled)
        return _outcome(folder, request, received, process.returncode, ended)


def _environment() -> dict[str, str]:
    """The parent's, with this program's own folder on the path (and `-P`: the current folder must not hide it)."""
    root = str(Path(__file__).parents[3])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _write_request(
    folder: Path, request: MeasureRequest, graph: str, arrays: Sequence[np.ndarray], asked: dict[str, bool]
) -> None:
    from dataclasses import asdict

    described = [[from_numpy(array.dtype), list(array.shape), array.nbytes] for array in arrays]
    document = {"request": asdict(request), "inputs": described, **asked}
    (folder / "request.json").write_text(json.dumps(document))
    (folder / "graph.mlir").write_text(graph)
    with (folder / "inputs.bin").open("wb") as file:
        for array in arrays:
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.nbytes else b"")
    with (folder / "shared.bin").open("wb") as file:
        file.truncate(SHARED_BYTES)


def _receive(
    process: subprocess.Popen[bytes], received: _Received, limit: float, progress: Callable[[str], None],
    cancelled: Callable[[], bool],
) -> str:  # fmt: skip
    """Read records until the child ends; "time limit" or "cancelled" if we ended it, else empty."""
    ended = "cancelled"  # also when we are interrupted ourselves
    try:
        ended = ""
        for line in _lines(process, monotonic() + limit, cancelled):
            if isinstance(line, str):
                ended = line
                break
            _take(received, line, progress)
        if not ended:
            process.wait(_FAREWELL_SECONDS)
    except subprocess.TimeoutExpired:
        pass  # it has said all it had to say
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    return ended


def _lines(process: subprocess.Popen[bytes], deadline: float, cancelled: Callable[[], bool]) -> Iterator[bytes | str]:
    """Whole lines from the child; a word in place of a line when waiting has to end."""
    assert process.stdout is not None
    pending = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if cancelled():
                yield "cancelled"
                return
            left = deadline - monotonic()
            if left <= 0:
                yield "time limit"
                return
            if not selector.select(min(left, 0.1)):
                continue
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                return
            pending += data
            *whole, rest = pending.split(b"\n")
            pending = bytearray(rest)
            yield from (bytes(line) for line in whole)


def _take(received: _Received, line: bytes, progress: Callable[[str], None]) -> None:
    """One record. A line that does not read means that a kernel wrote over the child's memory: the run has failed."""
    try:
        found = json.loads(line)
        kind = found.pop("kind")
        if kind == "compiled":
            received.compilation = compilation_from(found["record"]) if found["record"] is not None else None
            received.calls = list(found["calls"])
            progress("compiled")
        elif kind == "stage":
            received.stages.append(stage_from(found["record"]))
        elif kind == "probed":
            received.outputs = [(dtype, tuple(shape), size) for dtype, shape, size in found["outputs"]]
        elif kind == "launch":
            received.launches.append(launch_from(found["record"]))
        elif kind == "timed":
            received.timed = {name: found[name] for name in _TIMED}
        elif kind == "error":
            received.error = _remade(found)
        elif kind == "block":
            progress(f"block {found['number'] + 1}")
        elif kind == "done":
            received.done = True
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        received.error = ExecutionError("the child process sent something unreadable")


def _remade(found: dict[str, Any]) -> CompilerError:
    kind = getattr(compiler.errors, str(found["type"]), ExecutionError)
    location = Location(*found["location"]) if found["location"] else None
    if not (isinstance(kind, type) and issubclass(kind, CompilerError)):
        kind = ExecutionError
    return kind(str(found["message"]), location)


def _outcome(folder: Path, request: MeasureRequest, received: _Received, code: int, ended: str) -> Outcome:
    where = _where(folder, received)
    types = tuple((dtype, shape) for dtype, shape, _ in received.outputs)
    base = Outcome(MeasuredRun(FAILED), received.compilation, tuple(received.stages), (), types, received.error)
    timed = received.timed
    if received.done and timed and not ended:
        result = MeasuredRun(
            FINISHED, tuple(timed["samples"]), tuple(timed["blocks"]), tuple(received.launches),
            tuple(Counter(**counter) for counter in timed["counters"]), timed["conditions"], timed["memory"],
            tuple(tuple((begin, end) for begin, end in thread) for thread in timed["timeline"]),
            lost=tuple(timed["lost"]), lost_traced=tuple(timed["lost_traced"]),
        )  # fmt: skip
        return replace(base, result=result, outputs=tuple(_read_outputs(folder, received)))
    conditions = {"phase": where.phase, "call": where.call}
    result = MeasuredRun(FAILED, conditions=conditions, kernel=where.kernel)
    if received.error is not None:
        result = replace(result, error=str(received.error), kernel="")
        return replace(base, result=result, compiling=where.compiling)
    name = signal.Signals(-code).name if code < 0 else ""
    if ended:  # by us: how that was done says nothing about the run
        cancelled = ended == "cancelled"
        words = "was cancelled" if cancelled else f"had no end within the time limit of {request.time_limit:g} s"
        result = replace(result, status=INTERRUPTED if cancelled else FAILED, error=f"{words}{where}")
        return replace(base, result=result, compiling=where.compiling)
    if name == "SIGKILL":
        words = f"was ended by the system with SIGKILL, most likely for lack of memory{where}"
    elif name:
        words = f"crashed with {name}{where}"
    else:
        words = f"ended with status {code}{where}{_last_words(folder)}"
    return replace(base, result=replace(result, error=words, signal=name), compiling=where.compiling)


@dataclass(frozen=True)
class _Where:
    """What the child did when it ended: the phase, the call (from 1; 0 if none) and the kernel a thread was in."""

    phase: str
    compiling: bool
    call: int
    kernel: str

    def __str__(self) -> str:
        if self.kernel:
            return f" in kernel {self.kernel} (call {self.call} of the model)"
        return f" while {self.phase}{f', in call {self.call} of the model' if self.call else ''}"


def _where(folder: Path, received: _Received) -> _Where:
    """The phase the child was in, and in a call the kernel that a thread had entered and not left."""
    words = np.fromfile(folder / "shared.bin", np.int64)
    number = int(words[PHASE_WORD])
    phase = PHASES[number] if 0 <= number < len(PHASES) else "doing something unknown"
    if number not in (PROBING, TIMING):
        return _Where(phase, number <= COMPILING, 0, "")
    steps = words[PLACES_WORD::WORDS_PER_PLACE]
    # Threads meet between kernels: all that are in one are in the same, unless a kernel wrote over this page.
    inside = [int(step) for step in steps if 0 < step <= len(received.calls)]
    kernel = received.calls[min(inside) - 1] if inside else ""
    return _Where(phase, False, int(words[CALL_WORD]), kernel)


def _last_words(folder: Path) -> str:
    lines = (folder / "stderr.txt").read_text(errors="replace").strip().splitlines()
    return f": {' '.join(lines[-1].split())[:300]}" if lines else ""


def _read_outputs(folder: Path, received: _Received) -> Iterator[np.ndarray]:
    path = folder / "outputs.bin"
    if not path.exists():
        return
    data = path.read_bytes()
    at = 0
    for dtype, shape, size in received.outputs:
        yield np.frombuffer(data[at : at + size], numpy_dtype(dtype)).reshape(shape).copy()
        at += size
