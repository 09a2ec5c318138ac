"""What can be asked of the store. Every question is answered from an index; see tests/profiler for the bound."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from compiler.trace import PassRecord
from profiler.records import PASS_COLUMNS, Ceiling, CompiledKernel, Decision, StageRecord
from profiler.store.connection import Store, StoreError
from profiler.store.samples import unpack
from profiler.store.shapes import SHAPES, misfit, read_json
from profiler.store.texts import get_text, unpack_nodes

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class RunFilter:
    """Which runs to list; empty fields do not matter."""

    source: str = ""
    status: str = ""
    tag: str = ""
    device: str = ""
    pinned: bool = False
    since: str = ""
    limit: int = 100


_CHANGES = ", ".join(
    f"CASE WHEN json_valid(compilations.options) THEN json_array_length(compilations.options, '$.{what}') END AS {name}"
    for what, name in (("force_cut", "cuts"), ("force_fuse", "fusions"), ("sources", "edits"))
)
"""How many edges a user cut and fused, and how many kernels were edited."""


_EVERY = RunFilter()


def list_runs(store: Store, chosen: RunFilter = _EVERY) -> list[dict[str, Any]]:
    """Runs, newest first, with their tags and how they were compiled."""
    wheres, values = ["1"], []
    if chosen.source:  # a file is kept by its whole path, and may be asked for by a part of it
        wheres.append("source IN (?, ?)")
        values += [chosen.source, os.path.abspath(chosen.source)]
    for column in ("status", "device"):
        if getattr(chosen, column):
            wheres.append(f"{column} = ?")
            values.append(getattr(chosen, column))
    if chosen.pinned:
        wheres.append("pinned")
    if chosen.since:
        wheres.append("started >= ?")
        values.append(chosen.since)
    if chosen.tag:
        wheres.append("id IN (SELECT run FROM tags WHERE tag = ?)")
        values.append(chosen.tag)
    # Which runs, from indexes alone; only for those are the other tables read.
    table = "runs INDEXED BY runs_pinned" if chosen.pinned else "runs"
    picked = f"SELECT id FROM {table} WHERE {' AND '.join(wheres)} ORDER BY id DESC LIMIT ?"
    rows = store.rows(
        f"""SELECT runs.id, runs.started, runs.finished, runs.status, runs.source, runs.compilation, runs.device,
            runs.threads, runs.dims, runs.seed, runs.median, runs.low, runs.high, runs.minimum, runs.count, runs.error,
            runs.signal, runs.kernel, runs.note, runs.pinned, compilations.flow, compilations.opt_level,
            compilations.debug, compilations.seconds AS compile_seconds, machines.name AS machine,
            compilations.target AS compiled_for, {_CHANGES},
            CASE WHEN json_valid(runs.conditions) THEN json_extract(runs.conditions, '$.check.ok') END AS check_ok,
            CASE WHEN json_valid(runs.conditions) THEN json_extract(runs.conditions, '$.commit') END AS "commit",
            (SELECT group_concat(tag, ' ') FROM tags WHERE tags.run = runs.id) AS tags
            FROM runs JOIN machines ON machines.id = runs.machine
            LEFT JOIN compilations ON compilations.id = runs.compilation
            WHERE runs.id IN ({picked}) ORDER BY runs.id DESC""",
        (*values, chosen.limit),
    )
    return [_plain(row) for row in rows]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """JSON columns read, tags as a list, pinned as a bool."""
    for name in SHAPES:
        if name in row:
            row[name] = _json(row[name], name)
    if "tags" in row:
        row["tags"] = (row["tags"] or "").split()
    if "pinned" in row:
        row["pinned"] = bool(row["pinned"])
    if "check_ok" in row:
        row["check_ok"] = None if row["check_ok"] is None else bool(row["check_ok"])
    return row


def _json(text: Any, name: str) -> Any:
    """The object or list in a column; anything else there is damage, not a crash."""
    try:
        found = read_json(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"the database is damaged: {name} does not read ({error})") from None
    kind = list if isinstance(SHAPES[name], list) else dict
    wrong = misfit(found, SHAPES[name], name) if isinstance(found, kind) else f"{name} is not what it should be"
    if wrong:
        raise StoreError(f"the database is damaged: {wrong}; nothing was changed")
    return found


def run_row(store: Store, run: int) -> dict[str, Any]:
    """Everything about one run but its launches and samples."""
    row = _must(store.rows("SELECT * FROM runs WHERE id = ?", (run,)), store, f"run {run}")
    tags = store.rows("SELECT tag FROM tags WHERE run = ? ORDER BY tag", (run,))
    return _plain(row | {"tags": " ".join(each["tag"] for each in tags)})


def yardsticks(store: Store, runs: Sequence[int]) -> dict[int, Any]:
    """What is noted of a fixed piece of work that was timed beside each of these runs."""
    rows = store.rows(
        """SELECT id, json_extract(conditions, '$.yardstick') AS took FROM runs
           WHERE id IN (SELECT value FROM json_each(?)) AND json_valid(conditions)""",
        (json.dumps(list(runs)),),
    )
    return {row["id"]: row["took"] for row in rows}


def machine_row(store: Store, machine: int) -> dict[str, Any]:
    """A machine and its description."""
    rows = store.rows("SELECT * FROM machines WHERE id = ?", (machine,))
    if not rows:
        raise StoreError(f"{store.path} is damaged: it has lost machine {machine}")
    return _plain(rows[0])


def launches(store: Store, run: int) -> list[dict[str, Any]]:
    """The launches of a run in order."""
    return [_plain(row) for row in store.rows("SELECT * FROM launches WHERE run = ? ORDER BY position", (run,))]


def run_samples(store: Store, run: int) -> dict[int, np.ndarray]:
    """Nanoseconds of every launch by position; those of the whole model under `WHOLE`."""
    rows = store.rows("SELECT position, count, data FROM samples WHERE run = ?", (run,))
    return {row["position"]: unpack(row["data"], row["count"]) for row in rows}


def counters(store: Store, run: int) -> list[dict[str, Any]]:
    """The counters of a run."""
    return store.rows("SELECT name, value, unit, note FROM counters WHERE run = ? ORDER BY name", (run,))


def timeline(store: Store, run: int) -> np.ndarray | None:
    """Begin and end (ns) of one traced call, [threads, launches, 2]; None where there is none."""
    rows = store.rows("SELECT threads, launches, data FROM timelines WHERE run = ?", (run,))
    if not rows:
        return None
    shape = (rows[0]["threads"], rows[0]["launches"], 2)
    return unpack(rows[0]["data"], shape[0] * shape[1] * 2).reshape(shape)


def list_compilations(store: Store, source: str = "", limit: int = 100) -> list[dict[str, Any]]:
    """Compilations, newest first."""
    where, values = ("WHERE source = ?", [source]) if source else ("", [])
    return store.rows(
        f"""SELECT id, created, source, target, flow, opt_level, debug, seconds, {_CHANGES},
            (SELECT count(*) FROM kernels WHERE kernels.compilation = compilations.id) AS kernels
            FROM compilations {where} ORDER BY id DESC LIMIT ?""",
        (*values, limit),
    )


def compilation_row(store: Store, compilation: int) -> dict[str, Any]:
    """A compilation with its graph's name, hash and text."""
    rows = store.rows(
        """SELECT compilations.*, graphs.name AS graph_name, graphs.hash AS graph_hash, graphs.text AS graph_text
           FROM compilations JOIN graphs ON graphs.id = compilations.graph WHERE compilations.id = ?""",
        (compilation,),
    )
    row = _must(rows, store, f"compilation {compilation}")
    return _plain(row | {"graph_text": get_text(store, row["graph_text"])})


def passes(store: Store, compilation: int) -> list[PassRecord]:
    """The passes of a compilation in order."""
    rows = store.rows("SELECT * FROM passes WHERE compilation = ? ORDER BY position", (compilation,))
    return [PassRecord(**{name: row[name] for name in PASS_COLUMNS}) for row in rows]


def kernels(store: Store, compilation: int) -> list[CompiledKernel]:
    """The kernels of a compilation in order."""
    rows = store.rows("SELECT * FROM kernels WHERE compilation = ? ORDER BY position", (compilation,))
    return [
        CompiledKernel(r["name"], r["key"], tuple(r["nodes"]), tuple(r["slots"]), get_text(store, r["source"]))
        for r in map(_plain, rows)
    ]


def decisions(store: Store, compilation: int) -> list[Decision]:
    """The fusion ledger of a compilation."""
    rows = store.rows("SELECT * FROM decisions WHERE compilation = ? ORDER BY position", (compilation,))
    return [
        Decision(r["producer"], r["consumer"], bool(r["accepted"]), r["rule"], r["reason"], r["bytes_saved"])
        for r in rows
    ]


def stage_index(store: Store, compilation: int) -> dict[tuple[str, str], int]:
    """(kernel, stage) -> the id of its text. Equal ids are equal texts: comparing reads none."""
    rows = store.rows("SELECT kernel, stage, text FROM stages WHERE compilation = ?", (compilation,))
    return {(row["kernel"], row["stage"]): row["text"] for row in rows}


def stage(store: Store, compilation: int, kernel: str, name: str) -> StageRecord | None:
    """One stage's text with the nodes of its lines, if it was kept."""
    rows = store.rows(
        "SELECT text, line_nodes FROM stages WHERE compilation = ? AND kernel = ? AND stage = ?",
        (compilation, kernel, name),
    )
    if not rows:
        return None
    nodes = unpack_nodes(get_text(store, rows[0]["line_nodes"]))
    return StageRecord(name, kernel, get_text(store, rows[0]["text"]), nodes)


def stages(store: Store, compilation: int) -> list[StageRecord]:
    """Every stage that was kept."""
    rows = store.rows("SELECT kernel, stage FROM stages WHERE compilation = ? ORDER BY kernel, stage", (compilation,))
    found = [stage(store, compilation, row["kernel"], row["stage"]) for row in rows]
    return [item for item in found if item is not None]


def ceilings(store: Store, fingerprint: str) -> list[Ceiling]:
    """The measured ceilings of a machine."""
    rows = store.rows(
        """SELECT ceilings.name, ceilings.threads, value, unit, low, high FROM ceilings
           JOIN machines ON machines.id = ceilings.machine WHERE machines.fingerprint = ? ORDER BY ceilings.name""",
        (fingerprint,),
    )
    return [Ceiling(**row) for row in rows]


def find_run(store: Store, words: str) -> int:
    """The run meant by `12`, `latest`, `latest~1`, `baseline`, `baseline:SOURCE` or a tag (its newest run)."""
    if re.fullmatch(r"\d{1,18}", words):
        return _must(store.rows("SELECT id FROM runs WHERE id = ?", (int(words),)), store, f"run {words}")["id"]
    if match := re.fullmatch(r"latest(?:~(\d{1,6}))?", words):
        sql = "SELECT id FROM runs WHERE status = 'finished' ORDER BY id DESC LIMIT 1 OFFSET ?"
        return _must(store.rows(sql, (int(match[1] or 0),)), store, f"finished run {words}")["id"]
    if words == "baseline" or words.startswith("baseline:"):
        source = words.partition(":")[2]
        sql = """SELECT id FROM runs INDEXED BY runs_pinned WHERE pinned AND (? = '' OR source IN (?, ?))
                 ORDER BY id DESC LIMIT 1"""
        pinned = store.rows(sql, (source, source, os.path.abspath(source)))
        return _must(pinned, store, "pinned run; pin one with `kernelglass runs pin ID`")["id"]
    rows = store.rows("SELECT max(run) AS id FROM tags WHERE tag = ?", (words,))
    return _must([row for row in rows if row["id"] is not None], store, f"run or tag {words!r}")["id"]


def find_baseline(store: Store, run: int) -> int:
    """The pinned run that a run is compared with: that of its source, or where it has none, one of the same graph.

    One of another graph would say nothing of it, so it has to be asked for by name.
    """
    source = run_row(store, run)["source"]
    try:
        return find_run(store, f"baseline:{source}")
    except StoreError:
        other = find_run(store, "baseline")
    sql = """SELECT runs.id FROM runs INDEXED BY runs_pinned JOIN compilations ON compilations.id = runs.compilation
             WHERE pinned AND compilations.graph = (
               SELECT graph FROM compilations JOIN runs ON compilations.id = runs.compilation WHERE runs.id = ?)
             ORDER BY runs.id DESC LIMIT 1"""
    if alike := store.rows(sql, (run,)):
        return alike[0]["id"]
    raise StoreError(
        f"{source} has no baseline, and run {other}, that of {run_row(store, other)['source']}, is of another graph; "
        f"pin one of its runs with `kernelglass runs pin ID`, or compare with {other} by its number"
    )


def find_compilation(store: Store, words: str) -> int | None:
    """The compilation meant by `c12`; None where the words mean something else."""
    match = re.fullmatch(r"c(\d{1,18})", words)
    if not match:
        return None
    rows = store.rows("SELECT id FROM compilations WHERE id = ?", (int(match[1]),))
    return _must(rows, store, f"compilation {words}")["id"]


def _must(rows: Sequence[dict[str, Any]], store: Store, what: str) -> dict[str, Any]:
    if not rows:
        raise StoreError(f"there is no {what} in {store.path}")
    return rows[0]


def totals(store: Store) -> dict[str, int]:
    """How many of each thing the store holds."""
    names = ("machines", "graphs", "compilations", "kernels", "texts", "runs", "launches")
    return {name: store.rows(f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in names}
