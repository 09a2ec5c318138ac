"""Notes on kernels: a text for a kernel of a source, by both their names, whatever compilation it is in."""

from __future__ import annotations

from datetime import UTC, datetime

from profiler.store.connection import Store


def kernel_notes(store: Store, source: str) -> dict[str, str]:
    """The notes on the kernels of a source; none in a database from before there were any."""
    if not store.rows("PRAGMA table_info(kernel_notes)"):
        return {}
    rows = store.rows("SELECT kernel, note FROM kernel_notes WHERE source = ? ORDER BY kernel", (source,))
    return {str(row["kernel"]): str(row["note"]) for row in rows}


def note_kernel(store: Store, source: str, kernel: str, note: str) -> None:
    """Write a note on a kernel in place of an earlier one; an empty one takes it away."""
    with store.transaction() as connection:
        connection.execute("DELETE FROM kernel_notes WHERE source = ? AND kernel = ?", (source, kernel))
        if note:
            changed = datetime.now(UTC).isoformat(timespec="seconds")
            connection.execute(
                "INSERT INTO kernel_notes (source, kernel, note, changed) VALUES (?, ?, ?, ?)",
                (source, kernel, note, changed),
            )
