"""Runs that came to no end: those of processes that are gone, and those that this one gives up."""

from __future__ import annotations

from compiler.processes.identity import is_alive, process_mark
from profiler.records import INTERRUPTED, RUNNING
from profiler.store.connection import Store


def mark_interrupted(store: Store) -> int:
    """Runs that show as running though their process is gone become interrupted; how many there were."""
    dead = [run for run, process in _running(store) if not is_alive(process)]
    _mark(store, dead, "the program ended before the run did")
    return len(dead)


def mark_given_up(store: Store, words: str) -> None:
    """The runs of this process are over, also one whose number nobody was told yet."""
    _mark(store, [run for run, process in _running(store) if process == process_mark()], words)


def _running(store: Store) -> list[tuple[int, str]]:
    rows = store.rows("SELECT id, process FROM runs WHERE status = ?", (RUNNING,))
    return [(row["id"], row["process"]) for row in rows]


def _mark(store: Store, runs: list[int], words: str) -> None:
    if runs:
        with store.transaction() as connection:
            sql = "UPDATE runs SET status = ?, error = ? WHERE id = ? AND status = ?"
            connection.executemany(sql, [(INTERRUPTED, words, run, RUNNING) for run in runs])
