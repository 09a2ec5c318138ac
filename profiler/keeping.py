"""A run on its way into a database that may be locked, read-only or full: what was measured is not lost for that.

The run is begun where that is possible, measured, and kept afterwards. Where the database refuses then, it goes into a
database aside: a file beside the first one, or in the user's data folder, that every command reads with `--db`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from profiler.measure.outcome import Outcome
from profiler.recording import ending_words, keep_outcome
from profiler.records import INTERRUPTED, RUNNING, Machine, MeasuredRun, MeasureRequest
from profiler.store import (
    Store,
    StoreBlocked,
    StoreError,
    default_path,
    is_visited,
    open_in_memory,
    open_store,
    queries,
    writer,
)
from profiler.store.interrupted import mark_given_up

MOMENT = 2.0
"""Seconds to wait for other writers before a run is made; afterwards it is worth waiting longer."""


@dataclass(frozen=True)
class Begun:
    """A run that is about to be made. `run` is its number, where it could be noted; `note` says why not."""

    path: Path
    request: MeasureRequest
    machine: Machine
    store: Store | None = None
    run: int | None = None
    note: str = ""
    aside: bool = False
    """Whether it is worth keeping elsewhere: the database is fine, and only cannot be written now."""

    def close(self) -> None:
        """Let go of the database."""
        if self.store is not None:
            self.store.close()


@dataclass(frozen=True)
class Kept:
    """Where runs are kept: their numbers and the database, and a note where that is not what was asked for."""

    runs: tuple[int, ...] = ()
    path: Path | None = None
    note: str = ""

    @property
    def run(self) -> int | None:
        """The number of the only one, if it is kept."""
        return self.runs[0] if self.runs else None


def begin(path: Path | str | None, request: MeasureRequest, machine: Machine, *, needed: bool) -> Begun:
    """Note in the database that a run begins. One that is locked or read-only is no reason not to make it.

    `needed` is whether the user asked for this database: one that is full, damaged or none at all is an error then.
    """
    place = default_path() if path is None else Path(path)
    store: Store | None = None
    try:
        store = open_store(place)
        if is_visited(place):  # somebody else's: nothing is put there, nor beside it
            return Begun(place, request, machine, store, None, f"the run is not kept: {store.refusal}")
        with store.waiting(MOMENT):
            return Begun(place, request, machine, store, writer.begin_run(store, request, machine))
    except KeyboardInterrupt as error:  # perhaps when it was noted already, and nobody had its number
        if store is not None:
            with contextlib.suppress(StoreError):
                mark_given_up(store, ending_words(error))
        raise
    except StoreError as error:
        blocked = isinstance(error, StoreBlocked)
        tolerated = (blocked and error.kind != "full") or (not needed and (blocked or store is None))
        if not tolerated:  # also a request that no database could keep
            if store is not None:
                store.close()
            raise
        words = "the run is not in the database yet" if blocked else "the run is not kept"
        return Begun(place, request, machine, store, None, f"{words}: {error.message}", blocked)


def begin_together(store: Store, requests: Sequence[MeasureRequest], machines: Sequence[Machine]) -> tuple[Begun, ...]:
    """Note in an open database that runs begin which belong together; while it cannot be written that waits."""
    try:
        with store.waiting(MOMENT), store.transaction():
            runs = [writer.begin_run(store, *each) for each in zip(requests, machines)]
    except StoreBlocked as error:
        if is_visited(store.path):
            raise
        return tuple(Begun(store.path, *each, store, None, error.message, True) for each in zip(requests, machines))
    return tuple(Begun(store.path, *each[:2], store, each[2]) for each in zip(requests, machines, runs))


def give_up(begun: Begun, error: BaseException, status: str = INTERRUPTED) -> None:
    """The run came to no end; it is marked so, if it can be and was not kept by then."""
    with contextlib.suppress(StoreError):
        if begun.store is None or begun.run is None:
            return
        if queries.run_row(begun.store, begun.run)["status"] == RUNNING:
            writer.finish_run(begun.store, begun.run, MeasuredRun(status, error=ending_words(error)))


def keep(begun: Begun, outcome: Outcome, more: Callable[[Store, int], None] = lambda store, run: None) -> Kept:
    """Keep what came of a run, and `more` with it; aside where the database does not take it."""
    return keep_together((begun,), (outcome,), more)


def keep_together(
    begun: Sequence[Begun], outcomes: Sequence[Outcome], more: Callable[[Store, int], None] = lambda store, run: None
) -> Kept:  # fmt: skip
    """Keep runs of one database that belong together: all of them there, or all of them aside."""
    if not any(each.run is not None or each.aside for each in begun):
        return Kept()  # its note was said when the run began
    path, made = begun[0].path, list(zip(begun, outcomes))
    try:
        with contextlib.ExitStack() as stack:
            store = begun[0].store or stack.enter_context(open_store(path))
            return Kept(_kept(store, made, more, begun_there=True), path)
    except StoreError as error:
        refused = error.message
    which = "the run is" if len(made) == 1 else "the runs are"
    for place in _places(path):
        with contextlib.suppress(StoreError), open_store(place) as store, store.waiting(MOMENT):
            runs = _kept(store, made, more)
            numbers = f"run {runs[0]}" if len(runs) == 1 else f"runs {' and '.join(map(str, runs))}"
            return Kept(runs, place, f"{which} kept as {numbers} of {place}, because {refused}")
        with contextlib.suppress(OSError):
            if not place.stat().st_size:  # a full disk takes the name of a file and nothing else
                place.unlink()
    return Kept(note=f"{which} not kept: {refused}")


def open_kept(kept: Kept, begun: Sequence[Begun], outcomes: Sequence[Outcome]) -> tuple[Store, tuple[int, ...]]:
    """A store that holds runs kept together, and their numbers there; one in memory where they could not be kept."""
    if kept.path is not None:
        return open_store(kept.path, create=False), kept.runs
    store = open_in_memory()
    return store, _kept(store, list(zip(begun, outcomes)), lambda store, run: None)


def _kept(
    store: Store, made: Sequence[tuple[Begun, Outcome]], more: Callable[[Store, int], None], begun_there: bool = False
) -> tuple[int, ...]:  # fmt: skip
    numbers = []
    with store.transaction():
        for begun, outcome in made:
            known = begun.run if begun_there else None
            number = writer.begin_run(store, begun.request, begun.machine) if known is None else known
            keep_outcome(store, number, outcome, begun.machine)
            more(store, number)
            numbers.append(number)
    return tuple(numbers)


def _places(path: Path) -> list[Path]:
    """Where a run may be kept aside: beside the database, then in the user's own folder, each with a second name."""
    names = [f"{path.stem}.aside{number}.db" for number in ("", "-2")]
    folders = dict.fromkeys((path.absolute().parent, default_path().absolute().parent))
    return [folder / name for folder in folders for name in names]
