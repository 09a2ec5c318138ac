"""Tables of flows in the store: kept as the documents they are, listed, read again, forgotten."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from profiler.store.connection import Store, StoreError
from profiler.store.shapes import FLAG, NUMBER, TEXT, Maybe, Whole, misfit, read_json


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
    if wrong := misfit(found, _TABLE, "it"):
        raise StoreError(f"{store.path} is damaged: table of flows {number} does not read ({wrong})")
    return found


_CELL = {
    "flow": TEXT, "opt_level": NUMBER, "debug": TEXT, "cache": TEXT, "execute": FLAG, "user_s": NUMBER,
    "system_s": NUMBER, "elapsed_s": NUMBER, "cpu_percent": NUMBER, "peak_bytes": NUMBER, "compile_s": NUMBER,
    "disturbed": FLAG, "spread": Maybe(NUMBER), "first_result_s": Maybe(NUMBER),
}  # fmt: skip
_TABLE = Whole({
    "source": TEXT, "target": TEXT, "kernels": NUMBER, "machine": TEXT, "cores": NUMBER, "jobs": NUMBER,
    "repeat": NUMBER, "interrupted": FLAG, "notes": [TEXT],
    "base": Whole({"cpu_s": NUMBER, "elapsed_s": NUMBER, "peak_bytes": NUMBER}),
    "cells": [Whole(_CELL | {"time_ratio": Maybe(NUMBER), "memory_ratio": Maybe(NUMBER)})],
    "start_up": [Whole(_CELL | {"start_ratio": Maybe(NUMBER)})],
    "line_tables": [Whole({"flow": TEXT, "opt_level": NUMBER, "time": NUMBER, "memory": NUMBER})],
})  # fmt: skip


def delete_flow_tables(store: Store, numbers: tuple[int, ...]) -> None:
    """Forget tables."""
    with store.transaction() as connection:
        connection.executemany("DELETE FROM flow_tables WHERE id = ?", [(number,) for number in numbers])
