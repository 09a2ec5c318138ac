"""The record of a run that a command makes: begun before it, kept after it was told, and what went wrong is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.cli.output import complain

if TYPE_CHECKING:
    from app.checking import OutputCheck
    from profiler.keeping import Begun
    from profiler.measure.outcome import Outcome
    from profiler.records import Machine, MeasureRequest
    from profiler.store import Store


def begin_run(db: str | None, request: MeasureRequest, *, needed: bool, machine: Machine | None = None) -> Begun:
    """Begin the record; a database that cannot take it now is a note, and an error only where it was asked for.

    `machine` is the one of a run that is made elsewhere.
    """
    from profiler.keeping import begin
    from profiler.measure.machine import machine_with

    begun = begin(db, request, machine or machine_with(request.device), needed=needed)
    if begun.note:
        complain(begun.note, "note")
    return begun


def keep_run(
    begun: Begun | None, outcome: Outcome, tag: str | None = None, note: str | None = None,
    checks: Sequence[OutputCheck] | None = None,
) -> int | None:  # fmt: skip
    """Keep the run with its tag, note and check, and say where it is if not where it was asked for; its number."""
    if begun is None:
        return None
    from profiler.keeping import keep
    from profiler.store import writer

    def more(store: Store, run: int) -> None:
        if tag:
            writer.tag_runs(store, [run], tag)
        if note:
            writer.note_run(store, run, note)
        if checks is not None:
            writer.keep_check(store, run, all(each.ok for each in checks), [str(each) for each in checks])

    kept = keep(begun, outcome, more)
    if kept.note:
        complain(kept.note, "note")
    return kept.run
