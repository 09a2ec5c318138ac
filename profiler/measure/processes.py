"""One run in several processes, one after the other.

Where the code and the data of a process come to lie, and which pages it gets, changes how fast it runs. A process is
one draw of that; several show how much it matters. The results are joined, each sample with its process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from profiler.analysis.statistics import summarise
from profiler.analysis.undisturbed import times_of
from profiler.measure.cpu.timing import BLOCKS
from profiler.measure.outcome import Outcome
from profiler.records import FINISHED, Counter, Launch, MeasuredRun, MeasureRequest

Once = Callable[[MeasureRequest, int], Outcome]
"""Measures a request in one process; the number tells which process of the run it is, from 0."""

_TEST, _LEAST_CALLS = 5, 20
"""Processes that an exact test of two runs needs, and the calls of each that are enough not to do with fewer."""
MORE = 2
"""How many times as many processes are made at most, where other programs disturb them."""
_HIGHEST = ("resident memory, highest", "device memory, peak")
_PER_PROCESS = (
    "load",
    "load_after",
    "megahertz",
    "lost_share",
    "disturbed_calls",
    "buffer_sets",
    "yardstick",
    "device",
)


def process_requests(request: MeasureRequest) -> list[MeasureRequest]:
    """The request of each process: together they spend the budget, or make the calls, that the whole one asks for.

    A few calls are not worth another process. Only the first one has to count what is the same in all of them.
    """
    count = max(request.processes, 1)
    if request.repeat is not None:
        enough = count >= _TEST and request.repeat >= _LEAST_CALLS * count
        count = count if enough else max(min(count, request.repeat // (2 * BLOCKS)), 1)
    calls = [None] * count if request.repeat is None else [
        request.repeat // count + (i < request.repeat % count) for i in range(count)
    ]  # fmt: skip
    budget = request.budget / count
    return [
        replace(request, processes=1, repeat=repeat, budget=budget, count=request.count and not number)
        for number, repeat in enumerate(calls)
    ]


def measure_in_processes(request: MeasureRequest, once: Once) -> Outcome:
    """Measure in as many processes as the request asks for; the first that fails is what came of the run.

    Processes that had no undisturbed calls are made up for, within reason: whether one had says nothing of the model.
    """
    deadline = monotonic() + request.time_limit
    outcomes: list[Outcome] = []
    asked = process_requests(request)
    most = MORE * len(asked) if request.repeat is None and len(asked) >= _TEST else len(asked)
    steady = 0
    while steady < len(asked) and len(outcomes) < most:
        left = deadline - monotonic()
        number = len(outcomes)
        if number >= len(asked) and left < request.time_limit / 2:
            break  # what there is, is a run
        outcome = once(replace(asked[min(number, len(asked) - 1)], time_limit=max(left, 0.01)), number)
        if outcome.result.status != FINISHED:
            return _failed(outcome, outcomes, request, len(asked))
        outcomes.append(outcome)
        steady += is_steady(outcome.result)
    return joined(outcomes, request)


def is_steady(result: MeasuredRun) -> bool:
    """Whether a process that measured had undisturbed calls enough to be compared by them."""
    return bool(times_of(result).steady.all())


def _failed(outcome: Outcome, before: Sequence[Outcome], request: MeasureRequest, count: int) -> Outcome:
    """The failure, with what the processes before it had found out about the compilation."""
    result = outcome.result
    if "time limit" in result.error:
        words = f"had no end within the time limit of {request.time_limit:g} s"
        result = replace(result, error=words + result.error.partition(" s")[2])
    if before:
        result = replace(result, error=f"{result.error}, in process {len(before) + 1} of {count}")
    kept = before[0] if before else outcome
    return replace(outcome, result=result, compilation=kept.compilation, stages=kept.stages)


def joined(outcomes: Sequence[Outcome], request: MeasureRequest) -> Outcome:
    """Finished runs of the same request as one run; samples stay in the order they were taken."""
    if len(outcomes) == 1:
        only = outcomes[0]
        return replace(only, result=replace(only.result, processes=(len(only.result.blocks),)))
    results = [outcome.result for outcome in outcomes]
    samples = tuple(x for result in results for x in result.samples)
    blocks = tuple(x for result in results for x in result.blocks)
    processes = tuple(len(result.blocks) for result in results)
    conditions = _conditions(results)
    reached = summarise(samples, blocks, processes).width <= request.width
    result = replace(
        results[0], status=FINISHED, samples=samples, blocks=blocks, processes=processes,
        launches=tuple(_launch([result.launches[at] for result in results]) for at in range(len(results[0].launches))),
        counters=tuple(_counters(results)),
        conditions=conditions | {"interval_reached": request.repeat is not None or reached},
        lost=tuple(x for result in results for x in result.lost),
        lost_traced=tuple(x for result in results for x in result.lost_traced),
    )  # fmt: skip
    return replace(outcomes[0], result=result)


def _launch(same: Sequence[Launch]) -> Launch:
    """One launch of the model in every process."""
    threads = [launch.thread_seconds for launch in same]
    shares = tuple(float(x) for x in np.median(threads, axis=0)) if len({len(x) for x in threads}) == 1 else threads[0]
    return replace(same[0], samples=tuple(x for launch in same for x in launch.samples), thread_seconds=shares)


def _counters(results: Sequence[MeasuredRun]) -> list[Counter]:
    """Each counter that every process has; which hardware ones there are may differ, and so their order."""
    tables = [{counter.name: counter for counter in result.counters} for result in results]
    return [_counter([table[name] for table in tables]) for name in tables[0] if all(name in t for t in tables)]


def _counter(same: Sequence[Counter]) -> Counter:
    """A counter over all processes: sums, but the highest of what is a high-water mark, and means of times."""
    first = same[0]
    values = [counter.value for counter in same]
    if any(value is None for value in values):
        missing = next(counter for counter in same if counter.value is None)
        return missing
    numbers = [value for value in values if value is not None]
    if first.name in _HIGHEST:
        return replace(first, value=max(numbers))
    if first.unit in ("registers", "B") or first.name == "graph replay":
        return replace(first, value=math.fsum(numbers) / len(numbers))
    return replace(first, value=math.fsum(numbers))


def _conditions(results: Sequence[MeasuredRun]) -> dict[str, Any]:
    """The first process's, the notes of all, and what differs from process to process."""
    every: list[Mapping[str, Any]] = [result.conditions for result in results]
    notes: dict[str, str] = {}
    for number, conditions in enumerate(every):
        for note in conditions.get("notes", ()):
            kind = "".join(c for c in note if not c.isdigit())  # the same but for its figures: said once
            notes.setdefault(kind, note if not number else f"{note} (process {number + 1})")
    joint = dict(every[0]) | {"notes": list(notes.values())}
    if "load_after" in every[-1]:
        joint["load_after"] = every[-1]["load_after"]
    if all("lost_share" in conditions for conditions in every):
        times = np.array([float(np.sum(result.samples)) for result in results])
        shares = np.array([conditions["lost_share"] for conditions in every])
        joint["lost_share"] = round(float(np.average(shares, weights=times)), 4)
        joint["disturbed_calls"] = sum(conditions.get("disturbed_calls", 0) for conditions in every)
        kept = [note for note in joint["notes"] if not note.startswith("other programs took")]
        if joint["lost_share"] >= 0.01:
            share = joint["lost_share"]
            kept.append(f"other programs took {share:.0%} of the processor time while it was timed")
        joint["notes"] = kept
    if taken := [conditions["yardstick"] for conditions in every if "yardstick" in conditions]:
        joint["yardstick"] = round(float(np.median(taken)), 1)
    joint["each_process"] = [
        {name: conditions[name] for name in _PER_PROCESS if name in conditions} for conditions in every
    ]
    return joint
