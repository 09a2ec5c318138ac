"""A generation in the store: a run whose samples are the times of the tokens after the first."""

from __future__ import annotations

from pathlib import Path

from app.generate.child import Generate
from app.generate.generation import UNITS, Generation
from app.sources import stored_name
from profiler.keeping import Begun, Kept, begin, keep
from profiler.measure.machine import machine_with
from profiler.measure.outcome import Outcome
from profiler.records import FINISHED, Counter, MeasuredRun, MeasureRequest
from profiler.store import StoreBlocked, StoreError, open_store

_BLOCK = 10  # tokens


def check_database(path: Path | str | None) -> None:
    """Raise, before anything is generated, for a database that was asked for and will never take the record.

    The user's own is not worth failing for, and one that is locked, read-only or full may not be so in the end.
    """
    try:
        open_store(path).close()
    except StoreBlocked:
        return
    except StoreError:
        if path is not None:
            raise


def begin_generation(path: Path | str | None, asked: Generate, made: Generation) -> Begun:
    """A number for it in the database, where that takes one now; whatever is wrong with the database is a note."""
    samples = made.steps[1:] or made.steps
    request = MeasureRequest(
        source=stored_name(asked.model), device=asked.device, threads=asked.threads, dims={"T": len(made.prompt)},
        seed=asked.sampling.seed, repeat=len(samples), options=asked.options,
    )  # fmt: skip
    return begin(path, request, machine_with(asked.device), needed=False)


def keep_generation(begun: Begun, made: Generation) -> Kept:
    """Keep it as a run, which is listed, compared and reported like any; aside where the database does not take it."""
    samples = made.steps[1:] or made.steps
    counters = tuple(Counter(name, value, UNITS[name]) for name, value in made.figures.items())
    blocks = tuple(min(_BLOCK, len(samples) - at) for at in range(0, len(samples), _BLOCK))
    result = MeasuredRun(FINISHED, samples, blocks, (), counters, processes=(len(blocks),))
    try:
        return keep(begun, Outcome(result, made.compilation))
    finally:
        begun.close()
