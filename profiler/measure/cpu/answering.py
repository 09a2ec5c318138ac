"""The process that compiles, runs and measures for another one: takes one request, answers with records.

If a kernel crashes or hangs, this process dies and nothing else does. A page shared with the parent holds the phase,
the number of the call and the step every thread is in, so that the parent can tell which kernel it was, in any call.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.artifact.graph_document import GraphDocument, graph_of
from compiler.errors import CompilerError
from compiler.processes.child import end_with_parent
from compiler.processes.frames import Channel, named
from compiler.processes.messages import Refusal, refusal
from profiler.records import FINISHED, CompilationRecord, MeasuredRun, MeasureRequest, StageRecord
from profiler.sampled import Sampling

if TYPE_CHECKING:
    from compiler.model import Model
    from profiler.measure.cpu.native import BoundProgram
    from profiler.measure.cpu.timing import Timing, Turn

STARTING, COMPILING, PREPARING, PROBING, TIMING, SAMPLING, DONE = range(7)
PHASES = ("starting", "compiling", "preparing", "making the first call", "timing", "sampling", "finishing")
PHASE_WORD, CALL_WORD, PLACES_WORD, WORDS_PER_PLACE = 0, 1, 8, 8
SHARED_BYTES = 8 * (PLACES_WORD + WORDS_PER_PLACE * 1024)
"""The phase, the number of the current call (from 1), then a cache line for the place of every possible thread."""


@dataclass(frozen=True, eq=False)
class Measure:
    """What is asked: compile a graph and run it on arrays. `texts` asks for the IR of all stages, `outputs` for what
    the first call gives; `brief` for times only; `turns` for a block only when told that it is its turn."""

    request: MeasureRequest
    graph: GraphDocument
    arrays: tuple[np.ndarray, ...]
    texts: bool = False
    outputs: bool = False
    brief: bool = False
    turns: bool = False


@dataclass(frozen=True)
class Waiting:
    """The process waits for its turn: it has so many undisturbed calls."""

    clean: int


@dataclass(frozen=True)
class Answer:
    """Whether there is one more block to time, and it may begin."""

    more: bool


@dataclass(frozen=True)
class Compiled:
    """The compilation, unless times only were asked for, and the kernel of each step."""

    record: CompilationRecord | None
    calls: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Probed:
    """What the first call gave: the dtype and shape of each output, and the outputs where they were asked for."""

    types: tuple[tuple[str, tuple[int, ...]], ...]
    outputs: tuple[np.ndarray, ...]


SAMPLED_BLOCK = -1


@dataclass(frozen=True)
class Block:
    """A block of calls begins; `SAMPLED_BLOCK` is no timed one, but the pass that samples."""

    number: int


KNOWN = named(Measure, Answer)
ANSWERS = named(Compiled, StageRecord, Probed, Block, Waiting, MeasuredRun, Sampling, Refusal)


def serve(channel: Channel, page: str) -> None:
    """Do what is asked; errors a user can cause become records."""
    end_with_parent()
    shared = _Shared(int(page))
    try:
        _work(channel, shared)
    except CompilerError as error:
        channel.send(refusal(error))
    except MemoryError:
        channel.send(Refusal("MemoryError", f"out of memory while {shared.doing}"))


class _Shared:
    def __init__(self, descriptor: int) -> None:
        self._map = mmap.mmap(descriptor, SHARED_BYTES)
        self.words = np.frombuffer(self._map, np.int64)

    def phase(self, number: int) -> None:
        self.words[PHASE_WORD] = number

    @property
    def doing(self) -> str:
        return PHASES[int(self.words[PHASE_WORD])]

    @property
    def watch(self) -> Any:
        """Where native code notes the call and the step it is in."""
        from profiler.measure.cpu.native import Watch

        start = self.words.ctypes.data
        return Watch(start + 8 * CALL_WORD, start + 8 * PLACES_WORD)


def _work(channel: Channel, shared: _Shared) -> None:
    asked: Measure = channel.receive().value
    request, brief, outputs, turns = asked.request, asked.brief, asked.outputs, asked.turns
    given = list(asked.arrays)
    if (limit := request.memory_limit) is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    shared.phase(COMPILING)
    model = _compile(asked, channel)
    del asked
    shared.phase(PREPARING)
    arrays = [np.array(array) for array in given]
    given.clear()  # what was mapped to get here is given back before anything is measured
    _run(channel, request, model, arrays, shared, keep_outputs=outputs, brief=brief, turns=turns)
    shared.phase(DONE)


def _compile(asked: Measure, channel: Channel) -> Model:
    from profiler.model_records import compilation_record, compiled, stage_records

    request = asked.request
    graph = graph_of(asked.graph, request.source)
    model, took = compiled(graph, request.options, request.libraries, request.artifact)
    # Writing a compilation down takes longer than finding it in the cache, and an earlier process has done so.
    record = None
    if not asked.brief:
        record = compilation_record(model, request.source, took.seconds, request.libraries, took.imports)
    channel.send(Compiled(record, tuple(call.kernel.name for call in model.fusion.calls)))
    for stage in stage_records(model) if asked.texts else ():
        channel.send(stage)
    return model


def _run(
    channel: Channel, request: MeasureRequest, model: Model, arrays: list[np.ndarray], shared: _Shared, *,
    keep_outputs: bool, brief: bool, turns: bool,
) -> None:  # fmt: skip
    from compiler.graph.dtypes import from_numpy
    from profiler.analysis.memory import memory_record
    from profiler.measure.counters import HardwareCounters, Usage
    from profiler.measure.cpu.native import BoundProgram, load_loop
    from profiler.measure.cpu.pinning import pinned, scheduling
    from profiler.measure.cpu.timing import buffer_sets, time_program
    from profiler.measure.machine import conditions
    from profiler.measure.tree_memory import tree_bytes
    from profiler.model_records import launch_records

    hardware = HardwareCounters()  # before any worker thread starts, so that those are counted too
    before = conditions() | scheduling()
    load_loop()  # with LLVM, which a model from the cache has not loaded yet: no part of what it needs
    resident = {"before": tree_bytes(os.getpid())}
    probe = BoundProgram(model.program, [arrays], request.threads, shared.watch)
    resident["bound"] = tree_bytes(os.getpid())
    shared.phase(PROBING)
    probe.measure(1)
    outputs = probe.outputs[0]
    types = tuple((from_numpy(y.dtype), y.shape) for y in outputs)
    channel.send(Probed(types, tuple(outputs) if keep_outputs else ()))
    shared.phase(PREPARING)
    copies = buffer_sets(arrays, sum(y.nbytes for y in outputs), request.rotate)
    bound = BoundProgram(model.program, copies, request.threads, shared.watch, probe.made)
    resident["rotating"] = tree_bytes(os.getpid())
    shared.phase(TIMING)
    with pinned(bound.threads, request.pin) as places:
        before["pinned"] = list(places)
        usage = Usage()
        hardware.start()
        timing = time_program(
            bound, len(copies), repeat=request.repeat, width=request.width, budget=request.budget,
            report=lambda block: channel.send(Block(block)), turn=_turns_of(channel) if turns else None,
        )  # fmt: skip
    counted = [*hardware.stop(), *usage.stop()]
    resident["after"] = tree_bytes(os.getpid())
    launches = launch_records(model, request, timing.launches, threads=timing.threads, brief=brief)
    memory = {} if brief else memory_record(model, request.dims, resident, bound.arena_bytes)
    channel.send(
        MeasuredRun(
            FINISHED, tuple(timing.samples.tolist()), timing.blocks, launches, tuple(counted),
            _conditions(before, timing, bound), memory, _timeline(timing),
            lost=tuple(timing.lost.tolist()), lost_traced=tuple(timing.lost_traced.tolist()),
        )
    )  # fmt: skip
    if request.sample and not brief:  # what was timed is told by now: whatever happens here does not spoil it
        from profiler.measure.cpu.sampling import sample_launches

        shared.phase(SAMPLING)
        channel.send(Block(SAMPLED_BLOCK))
        with pinned(bound.threads, request.pin):
            channel.send(sample_launches(model, copies, bound.threads, launches, shared.watch, bound.made))


def _turns_of(channel: Channel) -> Turn:
    """The turns of this process, as whoever asked hands them out."""

    def turn(clean: int) -> bool:
        channel.send(Waiting(clean))
        answer: Answer = channel.receive().value
        return answer.more

    return turn


def _conditions(before: dict[str, Any], timing: Timing, bound: BoundProgram) -> dict[str, Any]:
    from profiler.analysis.statistics import lost_share
    from profiler.measure.machine import conditions

    after = conditions()
    lost = lost_share(timing.samples, timing.lost, bound.threads)
    if lost >= 0.01:
        before["notes"] = [*before["notes"], f"other programs took {lost:.0%} of the processor time while it was timed"]
    kinds = {note.split("(")[0]: note for note in (*after["notes"], *before["notes"])}
    return before | {
        "load_after": after["load"], "notes": list(kinds.values()), "buffer_sets": timing.sets,
        "interval_reached": timing.reached, "threads": bound.threads, "lost_share": round(lost, 4),
        "disturbed_calls": int((timing.lost > 0).sum()), "yardstick": round(timing.yardstick, 1),
    }  # fmt: skip


def _timeline(timing: Timing) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The traced call in the middle, from its first begin."""
    found = timing.timeline - timing.timeline.min() if timing.timeline.size else timing.timeline
    return tuple(tuple((begin, end) for begin, end in thread) for thread in found.tolist())
