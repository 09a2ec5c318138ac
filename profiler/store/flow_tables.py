"""Tables of flows in the store: kept as the documents they are, listed, read again, forgotten."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from profiler.store.connection import Store, StoreError
from profiler.store.shapes import read_json


def keep_flow_table(store: Store, document: dict[str, Any]) -> int:
    """Keep a table; its number."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    columns = (created, str(document["source"]), str(document["target"]), json.dumps(document))
    with store.transaction() as connection:
        sql = "INSERT INTO flow_tables (created, source, target, document) VALUES (?, ?, ?, ?)"
        return int(connection.execute(sql, columns).lastrowid or 0)


def list_flow_tables(store: Store, limit: int = 100) -> list[dict[str, Any]]:
    """The tables, newest first, without what is in them; none in a database from before there were any."""
    if not store.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'flow_tables'"):
        return []
    return store.rows(
        """SELECT id, created, source, target,
           CASE WHEN json_valid(document) THEN json_array_length(document, '$.cells') END AS cells,
           CASE WHEN json_valid(document) THEN json_array_length(document, '$.start_up') END AS starts,
           CASE WHEN json_valid(document) THEN json_extract(document, '$.repeat') END AS repeats
           FROM flow_tables ORDER BY id DESC LIMIT ?""",
        (limit,),
    )


def flow_table(store: Store, number: int) -> dict[str, Any]:
    """The document of a table."""
    rows = store.rows("SELECT document FROM flow_tables WHERE id = ?", (number,))
    if not rows:
        raise StoreError(f"there is no table of flows {number} in {store.path}")
    found: Any
    try:
        found = read_json(rows[0]["document"])
    except (ValueError, RecursionError):
        found = ()
    if wrong := _wrong(found):
        raise StoreError(f"{store.path} is damaged: table of flows {number} does not read ({wrong})")
    return found


_AMOUNT, _TEXT, _FLAG, _LIST = (int, float), (str,), (bool,), (list,)
_WHOLE = {
    "source": _TEXT, "target": _TEXT, "kernels": _AMOUNT, "machine": _TEXT, "cores": _AMOUNT, "jobs": _AMOUNT,
    "repeat": _AMOUNT, "interrupted": _FLAG, "notes": _LIST, "base": (dict,), "cells": _LIST, "start_up": _LIST,
    "line_tables": _LIST,
}  # fmt: skip
_BASE = {"cpu_s": _AMOUNT, "elapsed_s": _AMOUNT, "peak_bytes": _AMOUNT}
_CELL = {
    "flow": _TEXT, "opt_level": _AMOUNT, "debug": _TEXT, "cache": _TEXT, "execute": _FLAG, "user_s": _AMOUNT,
    "system_s": _AMOUNT, "elapsed_s": _AMOUNT, "cpu_percent": _AMOUNT, "peak_bytes": _AMOUNT, "compile_s": _AMOUNT,
    "disturbed": _FLAG,
}  # fmt: skip
_MAYBE = {"spread": _AMOUNT, "first_result_s": _AMOUNT, "time_ratio": _AMOUNT, "memory_ratio": _AMOUNT,
          "start_ratio": _AMOUNT}  # fmt: skip
_COST = {"flow": _TEXT, "opt_level": _AMOUNT, "time": _AMOUNT, "memory": _AMOUNT}


def _wrong(found: Any) -> str:
    """The first thing about a document that is not as it should be: the file may come from anywhere."""
    if not isinstance(found, dict):
        return "it is no object"
    if wrong := _unlike(found, _WHOLE) or _unlike(found["base"], _BASE):
        return wrong
    for name, more in (("cells", ("time_ratio", "memory_ratio")), ("start_up", ("start_ratio",))):
        for entry in found[name]:
            if not isinstance(entry, dict) or not {"spread", "first_result_s", *more} <= set(entry):
                return f"{name} has an incomplete cell"
            if wrong := _unlike(entry, _CELL):
                return wrong
            if any(entry.get(key) is not None and not _is(entry[key], kinds) for key, kinds in _MAYBE.items()):
                return f"{name} has figures that are no numbers"
    if not all(isinstance(note, str) for note in found["notes"]):
        return "a note is no text"
    return next(filter(None, (_unlike(cost, _COST) for cost in found["line_tables"])), "")


def _unlike(found: Any, wanted: dict[str, Any]) -> str:
    if not isinstance(found, dict):
        return "a part is no object"
    return next((f"{name} is missing or odd" for name, kinds in wanted.items() if not _is(found.get(name), kinds)), "")


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def delete_flow_tables(store: Store, numbers: tuple[int, ...]) -> None:
    """Forget tables."""
    with store.transaction() as connection:
        connection.executemany("DELETE FROM flow_tables WHERE id = ?", [(number,) for number in numbers])
