"""Which process made a run, and runs whose process is gone: those were interrupted."""

from __future__ import annotations

import json

from profiler.records import INTERRUPTED, RUNNING
from profiler.store.connection import Store


def mark_interrupted(store: Store) -> int:
    """Runs that show as running though their process is gone become interrupted; how many there were."""
    dead = [row["id"] for row in store.rows("SELECT id, process FROM runs WHERE status = ?", (RUNNING,))
            if not _alive(row["process"])]  # fmt: skip
    if dead:
        with store.transaction() as connection:
            words = "the program ended before the run did"
            sql = "UPDATE runs SET status = ?, error = ? WHERE id = ? AND status = ?"
            connection.executemany(sql, [(INTERRUPTED, words, run, RUNNING) for run in dead])
    return len(dead)


def process_mark() -> str:
    """This process in words that no other process of this or another boot shares."""
    import platform

    import psutil

    own = psutil.Process()
    return json.dumps([platform.node(), own.pid, round(own.create_time(), 2)])


def _alive(mark: str) -> bool:
    import platform

    import psutil

    try:
        host, pid, created = json.loads(mark)
        if host != platform.node():
            return True  # another machine's run on a shared file: not ours to judge
        return abs(psutil.Process(pid).create_time() - created) < 0.1
    except (psutil.Error, ValueError, TypeError):
        return False
