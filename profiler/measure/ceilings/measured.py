"""This machine's ceilings, measured with our own kernels: copy bandwidth by memory level, peaks by dtype.

Those of the processor are kept by machine and number of threads; those of a card by machine and card together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.errors import ExecutionError
from compiler.options import CompileOptions
from profiler.records import FINISHED, GFLOPS, Ceiling, Machine, MeasureRequest
from profiler.store import Store, queries, writer

if TYPE_CHECKING:
    from profiler.measure.ceilings.cpu_probes import Probe

CARD = 0
"""The number of threads under which a card's ceilings are kept."""


def measured_ceilings(
    store: Store | None, *, device: str = "cpu", threads: int | None = None, again: bool = False,
    progress: Callable[[str, float], None] = lambda words, share: None,
) -> list[Ceiling]:  # fmt: skip
    """The ceilings of a device: from the store where this machine's are there, else measured and stored.

    `progress` is told what is measured next, and what share of all is done.
    """
    from profiler.measure.machine import machine_with

    count = ceiling_threads(device, threads)
    machine = machine_with(device)
    if store is not None and not again:
        found = stored_ceilings(store, machine.fingerprint, count)
        if found:
            return found
    made = _measure_all(device, count, progress)
    if store is not None:
        keep_ceilings(store, machine, made)
    return made


def ceiling_threads(device: str, threads: int | None) -> int:
    """The number of threads by which ceilings are kept: a card has none."""
    if device != "cpu":
        return CARD
    from compiler.backend.runtime import default_threads

    return threads or default_threads()


def stored_ceilings(store: Store, fingerprint: str, threads: int) -> list[Ceiling]:
    """What was measured on a machine with so many threads (`CARD` for its card)."""
    return [ceiling for ceiling in queries.ceilings(store, fingerprint) if ceiling.threads == threads]


def ceilings_for(store: Store, row: Mapping[str, Any], fingerprint: str) -> list[Ceiling]:
    """The ceilings that hold for a stored run: of the machine it was made on, with its threads."""
    threads = row["conditions"].get("threads") or row["threads"] or 1
    return stored_ceilings(store, fingerprint, ceiling_threads(row["device"], threads))


def keep_ceilings(store: Store, machine: Machine, made: Sequence[Ceiling]) -> None:
    """Keep what was measured with a machine, in place of what was measured before."""
    with store.transaction():
        for item in made:
            writer.put_ceiling(store, machine, item)


def _measure_all(device: str, threads: int, progress: Callable[[str, float], None]) -> list[Ceiling]:
    """Each ceiling once; where two ways lead to it (tensor cores by warps or by groups of them), the better one.

    A card that cannot run one probe still has its other ceilings; one that can run none says why.
    """
    from profiler.measure.ceilings.cpu_probes import cpu_probes

    target, probes = ("cpu", cpu_probes(threads)) if device == "cpu" else _card_probes(device)
    best: dict[str, Ceiling] = {}
    failure: ExecutionError | None = None
    for number, probe in enumerate(probes):
        progress(probe.name, number / len(probes))
        try:
            found = _ceiling(probe, device, target, threads)
        except ExecutionError as error:
            if device == "cpu":
                raise
            failure = error
            continue
        if probe.name not in best or best[probe.name].value < found.value:
            best[probe.name] = found
    if failure is not None and not best:
        raise failure
    return list(best.values())


def _card_probes(device: str) -> tuple[str, list[Probe]]:
    from compiler.targets.nvptx import best_target
    from profiler.measure.ceilings.gpu_probes import gpu_probes
    from profiler.measure.devices import cuda_device

    card = cuda_device(device)
    target = best_target(card.target)
    return target, gpu_probes(card, target)


def _ceiling(probe: Probe, device: str, target: str, threads: int) -> Ceiling:
    from profiler.analysis.statistics import summarise
    from profiler.measure.ceilings.cpu_probes import LIBRARY
    from profiler.measure.measuring import measure

    request = MeasureRequest(
        source=probe.name, device=device, options=CompileOptions(target), threads=threads or None, budget=0.5,
        rotate=False, libraries=(str(LIBRARY),), count=False, time_limit=60,
    )  # fmt: skip
    outcome = measure(request, probe.graph, list(probe.arrays))
    result: Any = outcome.result
    if result.status != FINISHED:
        raise outcome.error or ExecutionError(f"{probe.name} could not be measured: it {result.error}")
    launch = next(launch for launch in result.launches if probe.kernel in launch.kernel)
    figures = summarise(launch.samples, result.blocks)
    # A ceiling is what can be reached: everything else that runs only ever makes it slower.
    best = figures.minimum
    if probe.unit == GFLOPS and launch.thread_seconds:
        # Threads share nothing here, so each one's own time counts, also where they were never all running at once.
        best = min(best, threads / sum(1 / seconds for seconds in launch.thread_seconds))
    work = probe.work
    return Ceiling(probe.name, threads, work / best, probe.unit, work / figures.high, work / min(best, figures.low))
