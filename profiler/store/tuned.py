"""Choices that were tuned: for a problem on a machine the ones that measured best, with what they depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from compiler.options import ChoiceValue
from profiler.records import Machine
from profiler.store.connection import Store, StoreError
from profiler.store.shapes import read_json
from profiler.store.writer import put_machine


@dataclass(frozen=True)
class TunedRow:
    """A kernel's choices as they were proved to be faster than what it takes by itself; `ratio` of that one's time."""

    problem: str
    kernel: str
    source: str
    target: str
    defaults: tuple[tuple[str, ChoiceValue], ...]
    choices: tuple[tuple[str, ChoiceValue], ...]
    definitions: Mapping[str, str]
    dims: Mapping[str, int]
    threads: int | None
    ratio: float
    low: float
    high: float
    measured: str = ""
    machine: str = ""
    """The machine's name; `fingerprint` is what it is known by."""
    fingerprint: str = ""


def keep_tuned(store: Store, machine: Machine, row: TunedRow) -> None:
    """Keep what was found for a problem on a machine, in place of what was kept before."""
    with store.transaction() as connection:
        connection.execute(
            """INSERT OR REPLACE INTO tuned (machine, problem, kernel, source, target, defaults, choices, definitions,
               dims, threads, ratio, low, high, measured) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                put_machine(store, machine), row.problem, row.kernel, row.source, row.target,
                json.dumps(dict(row.defaults)), json.dumps(dict(row.choices)), json.dumps(dict(row.definitions)),
                json.dumps(dict(row.dims)), row.threads, row.ratio, row.low, row.high,
                row.measured or datetime.now(UTC).isoformat(timespec="seconds"),
            ),
        )  # fmt: skip


def tuned_rows(store: Store, fingerprint: str = "", target: str = "") -> list[TunedRow]:
    """What is kept, the newest first: of one machine, for one target, or all; none in a database of before."""
    if not store.rows("PRAGMA table_info(tuned)"):
        return []
    rows = store.rows(
        """SELECT tuned.*, machines.name AS name, machines.fingerprint AS fingerprint
           FROM tuned JOIN machines ON machines.id = tuned.machine
           WHERE (? = '' OR fingerprint = ?) AND (? = '' OR target = ?) ORDER BY measured DESC, kernel""",
        (fingerprint, fingerprint, target, target),
    )
    return [_row(store, row) for row in rows]


def forget_tuned(store: Store, problems: Sequence[tuple[str, str]]) -> None:
    """Drop what is kept for some problems, each with the fingerprint of its machine."""
    with store.transaction() as connection:
        connection.executemany(
            "DELETE FROM tuned WHERE problem = ? AND machine = (SELECT id FROM machines WHERE fingerprint = ?)",
            problems,
        )


def _row(store: Store, row: Mapping[str, Any]) -> TunedRow:
    return TunedRow(
        row["problem"], row["kernel"], row["source"], row["target"], _choices(store, row["defaults"]),
        _choices(store, row["choices"]), _table(store, row["definitions"], str), _table(store, row["dims"], int),
        row["threads"], row["ratio"], row["low"], row["high"], row["measured"], row["name"], row["fingerprint"],
    )  # fmt: skip


def _table(store: Store, text: str, kind: type) -> dict[str, Any]:
    found = _read(store, text)
    if not all(isinstance(value, kind) for value in found.values()):
        raise _damaged(store)
    return found


def _choices(store: Store, text: str) -> tuple[tuple[str, ChoiceValue], ...]:
    found = _read(store, text)
    for value in found.values():
        if not all(isinstance(item, bool | int | str) for item in (value if isinstance(value, list) else [value])):
            raise _damaged(store)
    return tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in found.items())


def _read(store: Store, text: str) -> dict[str, Any]:
    try:
        found = read_json(text)
    except ValueError:
        raise _damaged(store) from None
    if not isinstance(found, dict):
        raise _damaged(store)
    return found


def _damaged(store: Store) -> StoreError:
    return StoreError(f"{store.path} is damaged: a tuned choice is none; nothing was changed")
