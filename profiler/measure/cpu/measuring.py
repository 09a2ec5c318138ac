"""Measuring on the CPU from outside: starts the child, hands it a request, and turns what comes back into records.

Whatever happens in the child (crash, hang, no memory) becomes a failed result that names the signal and the kernel.
"""

from __future__ import annotations

import mmap
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from compiler.artifact.graph_document import document_of
from compiler.errors import CompilerError, ExecutionError
from compiler.graph.graph import Graph
from compiler.processes.frames import Message, NotWanted, TimeIsUp, Unreadable, Wait, memory_file
from compiler.processes.messages import Refusal, remade
from compiler.processes.supervisor import Child
from profiler.measure.cpu import answering
from profiler.measure.outcome import Outcome
from profiler.records import FAILED, INTERRUPTED, MeasuredRun, MeasureRequest, StageRecord
from profiler.sampled import Sampling

if TYPE_CHECKING:
    from profiler.measure.cpu.timing import Turn

_FAREWELL_SECONDS = 5.0
CANCELLED, TIME_LIMIT = "cancelled", "time limit"


@dataclass
class _Received:
    """Records as they arrive."""

    compiled: answering.Compiled = field(default_factory=lambda: answering.Compiled(None, ()))
    stages: list[StageRecord] = field(default_factory=list)
    probed: answering.Probed = field(default_factory=lambda: answering.Probed((), ()))
    result: MeasuredRun | None = None
    error: CompilerError | None = None
    sampling: Sampling | None = None
    sampled: bool = False
    """Whether samples are waited for, after the result."""

    @property
    def done(self) -> bool:
        """Whether nothing more is to come."""
        return self.error is not None or (self.result is not None and (self.sampling is not None or not self.sampled))


def measure_once(
    request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False, outputs: bool = False,
    brief: bool = False, progress: Callable[[str], None] = lambda words: None,
    cancelled: Callable[[], bool] = lambda: False, turn: Turn | None = None,
) -> Outcome:  # fmt: skip
    """Compile `graph` and run it on `arrays` in one child process. `texts` asks for the IR of all stages.

    `brief` asks for times only: what is known of the compilation and of each launch is then left out. With `turn`, the
    child times a block of calls whenever it is its turn, and otherwise waits.
    """
    asked = answering.Measure(request, document_of(graph), tuple(arrays), texts, outputs, brief, turn is not None)
    wait = Wait(monotonic() + request.time_limit, cancelled)
    received = _Received(sampled=request.sample and not brief)
    with memory_file() as file:
        file.truncate(answering.SHARED_BYTES)
        page = mmap.mmap(file.fileno(), answering.SHARED_BYTES)
        try:
            child = Child(
                "profiler.measure.cpu.child",
                answering.ANSWERS,
                file.fileno(),
                keep_errors=True,
                descriptors=[file.fileno()],
            )
        except OSError as error:
            raise ExecutionError(f"no process to measure in can be started: {error.strerror or error}") from None
        ended = CANCELLED  # also when we are interrupted ourselves
        try:
            ended = _receive(child, asked, received, wait, progress, turn)
        finally:
            status = child.end(0.0 if ended else _FAREWELL_SECONDS)
    where = _where(np.frombuffer(bytes(page), np.int64), received.compiled.calls)
    return _outcome(where, request, received, status, ended, child.last_words)


def _receive(
    child: Child,
    asked: answering.Measure,
    received: _Received,
    wait: Wait,
    progress: Callable[[str], None],
    turn: Turn | None,
) -> str:
    """Hand the request over and read records until the child is done; why we have to end it, or empty."""
    try:
        with suppress(ConnectionError):  # it died before it read all of it, which reading tells
            child.channel.send(asked, wait=wait)
        while not received.done:
            message = child.channel.receive(wait)
            if turn is not None and isinstance(message.value, answering.Waiting):
                begun = monotonic()
                more = turn(message.value.clean)
                if wait.until is not None:  # while others have their turn, its time does not run
                    wait = replace(wait, until=wait.until + monotonic() - begun)
                child.channel.send(answering.Answer(more), wait=wait)
            else:
                _take(received, message, progress)
    except EOFError:
        pass
    except Unreadable:  # a kernel wrote over the child's memory: the run has failed
        received.error = ExecutionError("the child process sent something unreadable")
    except OSError as error:
        raise ExecutionError(f"cannot hand the inputs over: {error.strerror or error}") from None
    except TimeIsUp:
        return TIME_LIMIT
    except NotWanted:
        return CANCELLED
    return ""


def _take(received: _Received, message: Message, progress: Callable[[str], None]) -> None:
    """One record."""
    match message.value:
        case answering.Compiled() as compiled:
            received.compiled = compiled
            progress("compiled")
        case StageRecord() as stage:
            received.stages.append(stage)
        case answering.Probed() as probed:
            received.probed = probed
        case answering.Block(number):
            progress("sampling" if number == answering.SAMPLED_BLOCK else f"block {number + 1}")
        case MeasuredRun() as result:
            received.result = result
        case Sampling() as sampling:
            received.sampling = sampling
        case Refusal() as found:
            received.error = remade(found)


def _outcome(
    where: _Where, request: MeasureRequest, received: _Received, code: int, ended: str, last_words: str
) -> Outcome:
    compilation, probed = received.compiled.record, received.probed
    base = Outcome(MeasuredRun(FAILED), compilation, tuple(received.stages), (), probed.types, received.error)
    if received.result is not None and ended != CANCELLED:
        sampling = received.sampling
        if received.sampled and sampling is None:  # only that came to no good end
            words = f"had no end within the time limit of {request.time_limit:g} s" if ended else "did not end well"
            sampling = Sampling(note=f"there are no samples: taking them {words}")
        result = replace(received.result, sampling=sampling)
        return replace(base, result=result, outputs=probed.outputs, error=None)
    conditions = {"phase": where.phase, "call": where.call}
    result = MeasuredRun(FAILED, conditions=conditions, kernel=where.kernel)
    if received.error is not None:
        result = replace(result, error=str(received.error), kernel="")
        return replace(base, result=result, compiling=where.compiling)
    name = signal.Signals(-code).name if code < 0 else ""
    if ended:  # by us: how that was done says nothing about the run
        cancelled = ended == CANCELLED
        words = "was cancelled" if cancelled else f"had no end within the time limit of {request.time_limit:g} s"
        result = replace(result, status=INTERRUPTED if cancelled else FAILED, error=f"{words}{where}")
        return replace(base, result=result, compiling=where.compiling)
    if name == "SIGKILL":
        words = f"was ended by the system with SIGKILL, most likely for lack of memory{where}"
    elif name:
        words = f"crashed with {name}{where}"
    else:
        words = f"ended with status {code}{where}{f': {last_words}' if last_words else ''}"
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


def _where(words: np.ndarray, calls: Sequence[str]) -> _Where:
    """The phase the child was in, and in a call the kernel that a thread had entered and not left."""
    number = int(words[answering.PHASE_WORD])
    phase = answering.PHASES[number] if 0 <= number < len(answering.PHASES) else "doing something unknown"
    if number not in (answering.PROBING, answering.TIMING, answering.SAMPLING):
        return _Where(phase, number <= answering.COMPILING, 0, "")
    steps = words[answering.PLACES_WORD :: answering.WORDS_PER_PLACE]
    # Threads meet between kernels: all that are in one are in the same, unless a kernel wrote over this page.
    inside = [int(step) for step in steps if 0 < step <= len(calls)]
    return _Where(phase, False, int(words[answering.CALL_WORD]), calls[min(inside) - 1] if inside else "")
