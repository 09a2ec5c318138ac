"""The history of the store's shape: some statements each, applied in one transaction with its record.

`PRAGMA user_version` is how many have been applied. Never change one that has shipped: add another.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime

from profiler.store.views import VIEWS_DROPPED, VIEWS_MADE

APPLICATION_ID = 0x4B474C53  # "KGLS"


@dataclass(frozen=True)
class Migration:
    """What a file of the version before lacks, and the name that it is recorded under."""

    name: str
    statements: tuple[str, ...]


def apply_migration(connection: sqlite3.Connection, migration: Migration, number: int) -> None:
    """Apply one inside the caller's transaction, with its record and the version it brings the file to."""
    if number == 1:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(
            "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL)"
        )
    for statement in migration.statements:  # not executescript, which would commit the transaction
        connection.execute(statement)
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, migration.name, moment))
    connection.execute(f"PRAGMA user_version = {number}")


_STATEMENTS: dict[str, tuple[str, ...]] = {
    # Machines by fingerprint, and the ceilings measured on each.
    "machines": (
        """CREATE TABLE machines (
            id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
            description TEXT NOT NULL, first_seen TEXT NOT NULL)""",
        """CREATE TABLE ceilings (
            machine INTEGER NOT NULL REFERENCES machines(id), name TEXT NOT NULL, threads INTEGER NOT NULL,
            value REAL NOT NULL, unit TEXT NOT NULL, low REAL NOT NULL, high REAL NOT NULL, measured TEXT NOT NULL,
            PRIMARY KEY (machine, name, threads))""",
    ),
    # Texts by the hash of their content: zlib, stored once, whatever refers to them.
    "texts": (
        """CREATE TABLE texts (
            id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, data BLOB NOT NULL)""",
        """CREATE TABLE graphs (
            id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
            text INTEGER NOT NULL REFERENCES texts(id))""",
    ),
    # Compilations with their passes, kernels, calls and fusion ledger.
    "compilations": (
        """CREATE TABLE compilations (
            id INTEGER PRIMARY KEY, created TEXT NOT NULL, source TEXT NOT NULL,
            graph INTEGER NOT NULL REFERENCES graphs(id), machine INTEGER NOT NULL REFERENCES machines(id),
            target TEXT NOT NULL, flow TEXT NOT NULL, opt_level INTEGER NOT NULL, debug TEXT NOT NULL,
            options TEXT NOT NULL, versions TEXT NOT NULL, seconds REAL NOT NULL, stats TEXT NOT NULL)""",
        "CREATE INDEX compilations_created ON compilations(created)",
        "CREATE INDEX compilations_graph ON compilations(graph)",
        """CREATE TABLE passes (
            compilation INTEGER NOT NULL REFERENCES compilations(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            name TEXT NOT NULL, stage TEXT NOT NULL, kernel TEXT NOT NULL, start REAL NOT NULL, seconds REAL NOT NULL,
            ops_before INTEGER NOT NULL, ops_after INTEGER NOT NULL, bytes_after INTEGER NOT NULL,
            PRIMARY KEY (compilation, position)) WITHOUT ROWID""",
        """CREATE TABLE kernels (
            id INTEGER PRIMARY KEY, compilation INTEGER NOT NULL REFERENCES compilations(id) ON DELETE CASCADE,
            position INTEGER NOT NULL, name TEXT NOT NULL, key TEXT NOT NULL, nodes TEXT NOT NULL, slots TEXT NOT NULL,
            source INTEGER NOT NULL REFERENCES texts(id), UNIQUE (compilation, position))""",
        "CREATE INDEX kernels_key ON kernels(key)",
        "CREATE INDEX kernels_source ON kernels(source)",
        """CREATE TABLE decisions (
            compilation INTEGER NOT NULL REFERENCES compilations(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            producer TEXT NOT NULL, consumer TEXT NOT NULL, accepted INTEGER NOT NULL, rule TEXT NOT NULL,
            reason TEXT NOT NULL, bytes_saved TEXT NOT NULL, PRIMARY KEY (compilation, position)) WITHOUT ROWID""",
    ),
    # The IR of each stage of a compilation, with the nodes of its lines; kernel is empty for the whole model.
    "stages": (
        """CREATE TABLE stages (
            compilation INTEGER NOT NULL REFERENCES compilations(id) ON DELETE CASCADE, kernel TEXT NOT NULL,
            stage TEXT NOT NULL, text INTEGER NOT NULL REFERENCES texts(id),
            line_nodes INTEGER NOT NULL REFERENCES texts(id),
            PRIMARY KEY (compilation, kernel, stage)) WITHOUT ROWID""",
        "CREATE INDEX stages_text ON stages(text)",
        "CREATE INDEX stages_line_nodes ON stages(line_nodes)",
    ),
    # Full-text search over IR. It keeps only the index: the texts themselves are in `texts`, compressed.
    "text_search": (
        """CREATE VIRTUAL TABLE texts_search USING fts5(
            body, content='', tokenize="unicode61 remove_diacritics 0 tokenchars '_.'")""",
        "CREATE TABLE searchable (text INTEGER PRIMARY KEY REFERENCES texts(id) ON DELETE CASCADE)",
    ),
    # Runs, their launches, samples and counters.
    "runs": (
        """CREATE TABLE runs (
            id INTEGER PRIMARY KEY, started TEXT NOT NULL, finished TEXT, status TEXT NOT NULL, process TEXT NOT NULL,
            source TEXT NOT NULL, compilation INTEGER REFERENCES compilations(id),
            machine INTEGER NOT NULL REFERENCES machines(id), device TEXT NOT NULL, threads INTEGER, dims TEXT NOT NULL,
            seed INTEGER NOT NULL, median REAL, low REAL, high REAL, minimum REAL, count INTEGER,
            error TEXT, signal TEXT, kernel TEXT, request TEXT NOT NULL, conditions TEXT NOT NULL, memory TEXT NOT NULL,
            note TEXT NOT NULL DEFAULT '', pinned INTEGER NOT NULL DEFAULT 0)""",
        "CREATE INDEX runs_source ON runs(source, started)",
        "CREATE INDEX runs_started ON runs(started)",
        "CREATE INDEX runs_compilation ON runs(compilation)",
        "CREATE INDEX runs_status ON runs(status)",
        "CREATE INDEX runs_pinned ON runs(pinned) WHERE pinned",
        """CREATE TABLE tags (
            run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, tag TEXT NOT NULL,
            PRIMARY KEY (tag, run)) WITHOUT ROWID""",
        "CREATE INDEX tags_run ON tags(run)",
        """CREATE TABLE launches (
            id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
            position INTEGER NOT NULL, kernel TEXT NOT NULL, key TEXT NOT NULL, nodes TEXT NOT NULL,
            median REAL NOT NULL, low REAL NOT NULL, high REAL NOT NULL, minimum REAL NOT NULL,
            thread_seconds TEXT NOT NULL, flops INTEGER, bytes INTEGER, loads INTEGER, stores INTEGER, counting TEXT,
            UNIQUE (run, position))""",
        """CREATE TABLE samples (
            run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            count INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run, position)) WITHOUT ROWID""",
        """CREATE TABLE counters (
            run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, name TEXT NOT NULL, value REAL,
            unit TEXT NOT NULL,
            note TEXT NOT NULL, PRIMARY KEY (run, name)) WITHOUT ROWID""",
    ),
    # One traced call of a run: begin and end of every launch on every thread, for timelines.
    "timelines": (
        """CREATE TABLE timelines (
            run INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE, threads INTEGER NOT NULL,
            launches INTEGER NOT NULL, data BLOB NOT NULL)""",
    ),
    # For lists by one source or one device in order of age, and for forgetting graphs and texts without a search.
    "more_indexes": (
        "CREATE INDEX runs_of_source ON runs(source)",
        "CREATE INDEX runs_device ON runs(device)",
        "CREATE INDEX compilations_source ON compilations(source)",
        "CREATE INDEX graphs_text ON graphs(text)",
    ),
    # Which worker process ran a pass (0 is the program itself), and the bytes it was given.
    "passes_by_worker": (
        "ALTER TABLE passes ADD COLUMN bytes_before INTEGER NOT NULL DEFAULT -1",
        "ALTER TABLE passes ADD COLUMN worker INTEGER NOT NULL DEFAULT 0",
    ),
    # Views for the usual questions.
    "views": VIEWS_MADE,
    # What sampling found of each kernel of a run; kernel is empty for what it found and cost in all.
    "sampled_lines": (
        """CREATE TABLE sampled (
            run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE, kernel TEXT NOT NULL, size INTEGER NOT NULL,
            data BLOB NOT NULL, PRIMARY KEY (run, kernel)) WITHOUT ROWID""",
    ),
    # Tables of flows as they were measured, whole: per-kernel against all-kernel.
    "flow_tables": (
        """CREATE TABLE flow_tables (
            id INTEGER PRIMARY KEY, created TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL,
            document TEXT NOT NULL)""",
    ),
    # Notes on kernels, by source and name.
    "kernel_notes": (
        """CREATE TABLE kernel_notes (
            source TEXT NOT NULL, kernel TEXT NOT NULL, note TEXT NOT NULL, changed TEXT NOT NULL,
            PRIMARY KEY (source, kernel)) WITHOUT ROWID""",
    ),
    # Views as they are now, in a file whose views may be older ones.
    "views_again": (*VIEWS_DROPPED, *VIEWS_MADE),
    # Choices that measured best for a problem on a machine, and the definitions that they hold for.
    "tuned": (
        """CREATE TABLE tuned (
            machine INTEGER NOT NULL REFERENCES machines(id), problem TEXT NOT NULL, kernel TEXT NOT NULL,
            source TEXT NOT NULL, target TEXT NOT NULL, defaults TEXT NOT NULL, choices TEXT NOT NULL,
            definitions TEXT NOT NULL, dims TEXT NOT NULL, threads INTEGER, ratio REAL NOT NULL, low REAL NOT NULL,
            high REAL NOT NULL, measured TEXT NOT NULL, PRIMARY KEY (machine, problem)) WITHOUT ROWID""",
    ),
    # Cells of sweeps that are being done, by the process that has them done.
    "under_way": (
        """CREATE TABLE under_way (
            sweep TEXT NOT NULL, cell TEXT NOT NULL, process TEXT NOT NULL, begun TEXT NOT NULL,
            PRIMARY KEY (sweep, cell, process)) WITHOUT ROWID""",
    ),
}
MIGRATIONS = tuple(Migration(name, statements) for name, statements in _STATEMENTS.items())
VERSION = len(MIGRATIONS)
