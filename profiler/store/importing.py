"""Runs and compilations of another database into this one, each once.

A run has no number that means anything elsewhere. What it is known by is its content: when, where and of what it was
begun, and every sample. So whatever way a run came here, it is found again, and importing twice adds nothing. The other
file is never written: an older one is upgraded in a copy (`open_copy`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.temporary import temporary_folder
from profiler.records import FINISHED, RUNNING, Machine
from profiler.store import queries, writer
from profiler.store.connection import Store, StoreBlocked, StoreError
from profiler.store.finished import finished_samples, timeline_of
from profiler.store.opening import open_copy
from profiler.store.sampled import sampling
from profiler.store.texts import get_text, put_text
from profiler.store.tuned import tuned_rows

_RUN_IDENTITY = ("started", "process", "source", "device", "threads", "dims", "seed", "request")
"""The columns of a run that never change once it has begun; notes, pins, tags and checks may."""
_COMPILATION_IDENTITY = (
    "created", "source", "target", "flow", "opt_level", "debug", "options", "versions", "seconds", "stats",
)  # fmt: skip


@dataclass(frozen=True)
class Imported:
    """What an import added, and what it left: runs that were here already, and runs that have not ended yet."""

    runs: tuple[int, ...] = ()
    compilations: tuple[int, ...] = ()
    known: int = 0
    running: int = 0
    machines: tuple[str, ...] = ()
    """The machines that the added runs were made on."""


def import_runs(store: Store, path: Path) -> Imported:
    """Add every run and compilation of the database at `path` that is not here yet; all of them or, on damage, none.

    Tags, notes and checks come along. A run here keeps its own, and what the baseline of a source is stays as it is.
    """
    copied = temporary_folder("import")
    with copied as folder, open_copy(path, Path(folder) / "copy.db") as other, store.transaction():
        try:
            return _imported(store, other)
        except StoreError as error:
            if isinstance(error, StoreBlocked) or str(path) in str(error):
                raise
            raise StoreError(f"{path} was not imported: {error}") from error  # which of two databases, it does not say


def _imported(store: Store, other: Store) -> Imported:
    machines = {row["id"]: _put_machine(store, other, row["id"]) for row in other.rows("SELECT id FROM machines")}
    compilations, added = {}, []
    for row in other.rows("SELECT id FROM compilations ORDER BY id"):
        number, new = _put_compilation(store, other, row["id"], machines)
        compilations[row["id"]] = number
        added += [number] * new
    runs, known, running, names = [], 0, 0, {}
    for row in other.rows("SELECT id, status FROM runs ORDER BY id"):
        if row["status"] == RUNNING:  # whoever makes it has not finished its record
            running += 1
            continue
        number = _put_run(store, other, row["id"], machines, compilations)
        if number is None:
            known += 1
            continue
        runs.append(number)
        machine = queries.run_row(store, number)["machine"]
        names[machine] = queries.machine_row(store, machine)["name"]
    return Imported(tuple(runs), tuple(added), known, running, tuple(dict.fromkeys(names.values())))


def _put_machine(store: Store, other: Store, number: int) -> int:
    """The machine here, with those of its ceilings and tuned choices that were not measured here."""
    row = queries.machine_row(other, number)
    here = writer.put_machine(store, Machine(row["fingerprint"], row["name"], row["description"]))
    for ceiling in other.rows("SELECT * FROM ceilings WHERE machine = ?", (number,)):
        _copy(store, "ceilings", ceiling, keep=True, machine=here)
    tuned_rows(other, row["fingerprint"])  # its JSON is read, so that damage is found before anything is copied
    for tuned in other.rows("SELECT * FROM tuned WHERE machine = ?", (number,)):
        _copy(store, "tuned", tuned, keep=True, machine=here)
    return here


def _put_compilation(store: Store, other: Store, number: int, machines: Mapping[int, int]) -> tuple[int, bool]:
    """The compilation here, and whether it is new."""
    queries.compilation_row(other, number)  # its JSON is read, so that damage is found before anything is copied
    (row,) = other.rows("SELECT * FROM compilations WHERE id = ?", (number,))
    (graph,) = other.rows("SELECT * FROM graphs WHERE id = ?", (row["graph"],))
    machine = _known(machines, row["machine"], other, "machine")
    sql = """SELECT compilations.* FROM compilations JOIN graphs ON graphs.id = compilations.graph
             WHERE compilations.source = ? AND created = ? AND hash = ? AND machine = ?"""
    for found in store.rows(sql, (row["source"], row["created"], graph["hash"], machine)):
        if all(found[name] == row[name] for name in _COMPILATION_IDENTITY):
            return found["id"], False
    here = _copy(store, "compilations", row, graph=_put_graph(store, other, graph), machine=machine)
    for table in ("passes", "decisions"):
        for each in other.rows(f"SELECT * FROM {table} WHERE compilation = ?", (number,)):
            _copy(store, table, each, compilation=here)
    queries.kernels(other, number)
    for kernel in other.rows("SELECT * FROM kernels WHERE compilation = ? ORDER BY position", (number,)):
        source = put_text(store, get_text(other, kernel["source"]))
        _copy(store, "kernels", kernel, compilation=here, source=source)
    writer.add_stages(store, here, queries.stages(other, number))
    return here, True


def _put_graph(store: Store, other: Store, graph: Mapping[str, Any]) -> int:
    found = store.rows("SELECT id FROM graphs WHERE hash = ?", (graph["hash"],))
    text = get_text(other, graph["text"])
    if found:
        return found[0]["id"]
    if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != graph["hash"]:
        raise StoreError(f"{other.path} is damaged: a graph is not the one it is named after; nothing was imported")
    return _copy(store, "graphs", graph, text=put_text(store, text))


def _put_run(
    store: Store, other: Store, number: int, machines: Mapping[int, int], compilations: Mapping[int, int]
) -> int | None:
    """The number of a run that was added; None where it was here."""
    read = queries.run_row(other, number)
    if read["status"] == FINISHED:  # its parts have to fit together before they are believed
        launches = queries.launches(other, number)
        finished_samples(other, read, launches)
        timeline_of(other, read, launches)
        sampling(other, number)
    (row,) = other.rows("SELECT * FROM runs WHERE id = ?", (number,))
    identity = run_identity(other, number)
    same_start = store.rows("SELECT id FROM runs WHERE source = ? AND started = ?", (row["source"], row["started"]))
    if any(run_identity(store, found["id"]) == identity for found in same_start):
        return None
    compiled = row["compilation"]
    here = _copy(
        store, "runs", row, machine=_known(machines, row["machine"], other, "machine"), pinned=0,
        compilation=None if compiled is None else _known(compilations, compiled, other, "compilation"),
    )  # fmt: skip
    for table in _tables_of_runs(store):
        for each in other.rows(f"SELECT * FROM {table} WHERE run = ?", (number,)):
            _copy(store, table, each, run=here)
    return here


def _tables_of_runs(store: Store) -> list[str]:
    """The tables whose rows belong to a run, so that none is forgotten that a later version adds."""
    sql = """SELECT DISTINCT t.name FROM sqlite_master t, pragma_foreign_key_list(t.name) f
             WHERE t.type = 'table' AND f."table" = 'runs' ORDER BY t.name"""
    return [row["name"] for row in store.rows(sql)]


def run_identity(store: Store, run: int) -> str:
    """What a run is known by in every database: a digest of what it was begun with and of its samples."""
    (row,) = store.rows(
        """SELECT runs.*, machines.fingerprint FROM runs JOIN machines ON machines.id = runs.machine
           WHERE runs.id = ?""",
        (run,),
    ) or (None,)
    if row is None:
        raise StoreError(f"{store.path} is damaged: it has lost the machine of run {run}")
    parts = [row["fingerprint"], *(row[name] for name in _RUN_IDENTITY)]
    digest = hashlib.sha256(json.dumps(parts).encode())
    for position, values in sorted(queries.run_samples(store, run).items()):
        digest.update(f"{position} {values.size}".encode())
        digest.update(values.astype("<i8").tobytes())
    return digest.hexdigest()


def _known(numbers: Mapping[int, int], number: int, other: Store, what: str) -> int:
    if number not in numbers:
        raise StoreError(f"{other.path} is damaged: it has lost {what} {number}; nothing was imported")
    return numbers[number]


def _copy(store: Store, table: str, row: Mapping[str, Any], keep: bool = False, **changed: Any) -> int:
    """A row of the other database as a row here, with the numbers of things here; `keep` prefers one that is here."""
    columns = {name: value for name, value in row.items() if name != "id"} | changed
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT{' OR IGNORE' * keep} INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    return store.connection.execute(sql, tuple(columns.values())).lastrowid or 0
