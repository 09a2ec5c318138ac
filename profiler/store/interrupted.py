"""Runs whose process is gone: those were interrupted."""

from __future__ import annotations

from compiler.processes.identity import is_alive
from profiler.records import INTERRUPTED, RUNNING
from profiler.store.connection import Store


def mark_interrupted(store: Store) -> int:
    """Runs that show as running though their process is gone become interrupted; how many there were."""
    dead = [row["id"] for row in store.rows("SELECT id, process FROM runs WHERE status = ?", (RUNNING,))
            if not is_alive(row["process"])]  # fmt: skip
    if dead:
        with store.transaction() as connection:
            words = "the program ended before the run did"
            sql = "UPDATE runs SET status = ?, error = ? WHERE id = ? AND status = ?"
            connection.executemany(sql, [(INTERRUPTED, words, run, RUNNING) for run in dead])
    return len(dead)
