"""A generation in the store: a run whose samples are the times of the tokens after the first."""

from __future__ import annotations

from app.generate.child import Generate
from app.generate.generation import UNITS, Generation
from profiler.measure.machine import machine_with
from profiler.records import FINISHED, Counter, MeasuredRun, MeasureRequest
from profiler.store import Store, writer

_BLOCK = 10  # tokens


def keep_generation(store: Store, asked: Generate, made: Generation) -> int:
    """Keep it as a run, which is listed, compared and reported like any; its number."""
    machine = machine_with("cpu")
    samples = made.steps[1:] or made.steps
    request = MeasureRequest(
        source=asked.model, threads=asked.threads, dims={"T": len(made.prompt)}, seed=asked.sampling.seed,
        repeat=len(samples), options=asked.options,
    )  # fmt: skip
    counters = tuple(Counter(name, value, UNITS[name]) for name, value in made.figures.items())
    blocks = tuple(min(_BLOCK, len(samples) - at) for at in range(0, len(samples), _BLOCK))
    result = MeasuredRun(FINISHED, samples, blocks, (), counters, processes=(len(blocks),))
    with store.transaction():
        run = writer.begin_run(store, request, machine)
        number = None if made.compilation is None else writer.add_compilation(store, made.compilation, machine)
        writer.finish_run(store, run, result, number)
    return run
