"""Cells of sweeps that are being done now: noted as they begin, gone as they end. Of a process that is gone none is."""

from __future__ import annotations

from datetime import UTC, datetime

from compiler.processes.identity import is_alive, process_mark
from profiler.store.connection import Store


def cell_begins(store: Store, sweep: str, cell: str) -> None:
    """This process has a cell done."""
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    with store.transaction() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO under_way (sweep, cell, process, begun) VALUES (?, ?, ?, ?)",
            (sweep, cell, process_mark(), moment),
        )


def cell_ends(store: Store, sweep: str, cell: str) -> None:
    """A cell of this process is over, however it ended."""
    with store.transaction() as connection:
        connection.execute(
            "DELETE FROM under_way WHERE sweep = ? AND cell = ? AND process = ?", (sweep, cell, process_mark())
        )


def none_under_way(store: Store) -> None:
    """This process has nothing done any more; nor have those that are gone."""
    own = process_mark()
    noted = {str(row["process"]) for row in store.rows("SELECT DISTINCT process FROM under_way")}
    over = [mark for mark in noted if mark == own or not is_alive(mark)]
    if over:
        with store.transaction() as connection:
            connection.executemany("DELETE FROM under_way WHERE process = ?", [(mark,) for mark in over])


def cells_under_way(store: Store, sweep: str) -> set[str]:
    """The keys of a sweep's cells that processes which live have done; none in a database from before."""
    if not store.rows("PRAGMA table_info(under_way)"):
        return set()
    rows = store.rows("SELECT cell, process FROM under_way WHERE sweep = ?", (sweep,))
    alive = {mark for mark in {str(row["process"]) for row in rows} if is_alive(mark)}
    return {str(row["cell"]) for row in rows if row["process"] in alive}
