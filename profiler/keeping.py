"""A run on its way into a database that may be locked, read-only or full: what was measured is not lost for that.

The run is begun where that is possible, measured, and kept afterwards. Where the database refuses then, it goes into a
database aside: a file beside the first one, or in the user's data folder, that every command reads with `--db`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profiler.measure.outcome import Outcome
from profiler.recording import ending_words, keep_outcome
from profiler.records import INTERRUPTED, RUNNING, Machine, MeasuredRun, MeasureRequest
from profiler.store import Store, StoreBlocked, StoreError, default_path, is_visited, open_store, queries, writer

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
    """Where a run is kept: its number and the database, and a note where that is not what was asked for."""

    run: int | None
    path: Path | None
    note: str = ""


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
    except StoreError as error:
        blocked = isinstance(error, StoreBlocked)
        tolerated = (blocked and error.kind != "full") or (not needed and (blocked or store is None))
        if not tolerated:  # also a request that no database could keep
            if store is not None:
                store.close()
            raise
        words = "the run is not in the database yet" if blocked else "the run is not kept"
        return Begun(place, request, machine, store, None, f"{words}: {error.message}", blocked)


def give_up(begun: Begun, error: BaseException) -> None:
    """The run came to no end; it is marked so, if it can be and was not kept by then."""
    with contextlib.suppress(StoreError):
        if begun.store is None or begun.run is None:
            return
        if queries.run_row(begun.store, begun.run)["status"] == RUNNING:
            writer.finish_run(begun.store, begun.run, MeasuredRun(INTERRUPTED, error=ending_words(error)))


def keep(begun: Begun, outcome: Outcome, more: Callable[[Store, int], None] = lambda store, run: None) -> Kept:
    """Keep what came of a run, and `more` with it; aside where the database does not take it."""
    if begun.run is None and not begun.aside:
        return Kept(None, None)  # its note was said when the run began
    try:
        with contextlib.ExitStack() as stack:
            store = begun.store or stack.enter_context(open_store(begun.path))
            return Kept(_kept(store, begun.run, begun, outcome, more), begun.path)
    except StoreError as error:
        refused = error.message
    for place in _places(begun.path):
        with contextlib.suppress(StoreError), open_store(place) as store, store.waiting(MOMENT):
            run = _kept(store, None, begun, outcome, more)
            return Kept(run, place, f"the run is kept as run {run} of {place}, because {refused}")
    return Kept(None, None, f"the run is not kept: {refused}")


def _kept(
    store: Store, run: int | None, begun: Begun, outcome: Outcome, more: Callable[[Store, int], None]
) -> int:  # fmt: skip
    with store.transaction():
        number = writer.begin_run(store, begun.request, begun.machine) if run is None else run
        keep_outcome(store, number, outcome, begun.machine)
        more(store, number)
    return number


def _places(path: Path) -> list[Path]:
    """Where a run may be kept aside: beside the database, then in the user's own folder, each with a second name."""
    names = [f"{path.stem}.aside{number}.db" for number in ("", "-2")]
    folders = dict.fromkeys((path.absolute().parent, default_path().absolute().parent))
    return [folder / name for folder in folders for name in names]
