"""What goes into the store. Each function is one transaction; a run is begun before it is made and finished after."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from compiler.errors import CompilerError
from compiler.processes.identity import process_mark
from profiler import records
from profiler.store.connection import Store, StoreError, translated
from profiler.store.sampled import put_sampling
from profiler.store.samples import pack
from profiler.store.texts import drop_unreferred, drop_unused, pack_nodes, put_text, texts_of

if TYPE_CHECKING:
    from profiler.analysis.statistics import Summary


_of_pass = attrgetter(*records.PASS_COLUMNS)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _insert(store: Store, table: str, replace: bool = False, **columns: Any) -> int:
    """Add a row, perhaps in place of one with the same key; its number."""
    marks = ", ".join("?" * len(columns))
    sql = f"INSERT{' OR REPLACE' * replace} INTO {table} ({', '.join(columns)}) VALUES ({marks})"
    return store.connection.execute(sql, tuple(columns.values())).lastrowid or 0


def put_machine(store: Store, machine: records.Machine) -> int:
    """The id of a machine, which is added if it is new."""
    with store.transaction() as connection:
        found = connection.execute("SELECT id FROM machines WHERE fingerprint = ?", (machine.fingerprint,)).fetchone()
        if found is not None:
            return found[0]
        return _insert(
            store, "machines", fingerprint=machine.fingerprint, name=machine.name,
            description=json.dumps(dict(machine.description)), first_seen=_now(),
        )  # fmt: skip


def add_compilation(store: Store, record: records.CompilationRecord, machine: records.Machine) -> int:
    """Keep a compilation; its IR follows with `add_stages` where it is wanted."""
    with store.transaction():
        number = _insert(
            store, "compilations", created=_now(), source=record.source, graph=_put_graph(store, record),
            machine=put_machine(store, machine), target=record.target, flow=record.flow, opt_level=record.opt_level,
            debug=record.debug, options=json.dumps(dict(record.options)), versions=json.dumps(dict(record.versions)),
            seconds=record.seconds, stats=json.dumps(dict(record.stats)),
        )  # fmt: skip
        columns = ", ".join(("compilation", "position", *records.PASS_COLUMNS))
        store.connection.executemany(
            f"INSERT INTO passes ({columns}) VALUES (?, ?{', ?' * len(records.PASS_COLUMNS)})",
            ((number, at, *_of_pass(each)) for at, each in enumerate(record.passes)),
        )
        for at, kernel in enumerate(record.kernels):
            _insert(
                store, "kernels", compilation=number, position=at, name=kernel.name, key=kernel.key,
                nodes=json.dumps(kernel.nodes), slots=json.dumps(kernel.slots), source=put_text(store, kernel.source),
            )  # fmt: skip
        for at, decision in enumerate(record.decisions):
            _insert(store, "decisions", compilation=number, position=at, **vars(decision))
    return number


def _put_graph(store: Store, record: records.CompilationRecord) -> int:
    digest = hashlib.sha256(record.graph_text.encode("utf-8", "surrogatepass")).hexdigest()
    found = store.connection.execute("SELECT id FROM graphs WHERE hash = ?", (digest,)).fetchone()
    if found is not None:
        return found[0]
    return _insert(store, "graphs", hash=digest, name=record.graph_name, text=put_text(store, record.graph_text))


def add_stages(store: Store, compilation: int, stages: Iterable[records.StageRecord]) -> None:
    """Keep the IR of a compilation; texts that are there already are only referred to."""
    with store.transaction():
        for stage in stages:
            text = put_text(store, stage.text, search=True)
            nodes = put_text(store, pack_nodes(stage.line_nodes))
            _insert(
                store, "stages", True, compilation=compilation, kernel=stage.kernel, stage=stage.stage, text=text,
                line_nodes=nodes,
            )  # fmt: skip


def begin_run(store: Store, request: records.MeasureRequest, machine: records.Machine) -> int:
    """Note that a run has begun; until it is finished or failed it shows as running, or interrupted if we die."""
    with store.transaction():
        return _insert(
            store, "runs", started=_now(), status=records.RUNNING, process=process_mark(), source=request.source,
            machine=put_machine(store, machine), device=request.device, threads=request.threads,
            dims=json.dumps(dict(request.dims)), seed=request.seed, request=records.request_to_json(request),
            conditions="{}", memory="{}",
        )  # fmt: skip


def finish_run(store: Store, run: int, result: records.MeasuredRun, compilation: int | None = None) -> None:
    """Keep what came of a run, good or bad, all at once."""
    whole = _summary(result.samples, result) if result.samples else None
    with store.transaction() as connection:
        figures = (whole.median, whole.low, whole.high, whole.minimum, whole.count) if whole else (None,) * 5
        conditions = {**result.conditions, "blocks": list(result.blocks), "processes": list(result.processes)}
        changed = connection.execute(
            """UPDATE runs SET finished = ?, status = ?, compilation = ?, median = ?, low = ?, high = ?, minimum = ?,
               count = ?, error = ?, signal = ?, kernel = ?, conditions = ?, memory = ? WHERE id = ?""",
            (
                _now(), result.status, compilation, *figures, result.error or None, result.signal or None,
                result.kernel or None, json.dumps(conditions), json.dumps(dict(result.memory)), run,
            ),
        ).rowcount  # fmt: skip
        if not changed:
            raise StoreError(f"run {run} is no longer in {store.path}: it was deleted while it ran")
        if result.samples:
            _add_samples(store, run, records.WHOLE, result.samples)
        for position, lost in ((records.LOST, result.lost), (records.LOST_TRACED, result.lost_traced)):
            if any(lost):
                _add_samples(store, run, position, lost)
        for launch in result.launches:
            _add_launch(store, run, launch, result)
        for counter in result.counters:
            _insert(store, "counters", True, run=run, **vars(counter))
        if result.timeline:
            flat = [moment for thread in result.timeline for pair in thread for moment in pair]
            threads, launches = len(result.timeline), len(result.timeline[0])
            _insert(store, "timelines", run=run, threads=threads, launches=launches, data=pack(flat))
        if result.sampling is not None:
            put_sampling(store, run, result.sampling)


def _summary(samples: Sequence[int], result: records.MeasuredRun) -> Summary:
    from profiler.analysis.statistics import summarise  # it loads NumPy, of which compilations alone need nothing

    return summarise(samples, result.blocks, result.processes)


def _add_samples(store: Store, run: int, position: int, nanoseconds: Sequence[int]) -> None:
    _insert(store, "samples", run=run, position=position, count=len(nanoseconds), data=pack(nanoseconds))


def _add_launch(store: Store, run: int, launch: records.Launch, result: records.MeasuredRun) -> None:
    times = _summary(launch.samples, result)
    known = {name: value for name, value in vars(launch).items() if name != "samples"}
    known |= {name: json.dumps(known[name]) for name in ("nodes", "thread_seconds")}
    figures = {name: getattr(times, name) for name in ("median", "low", "high", "minimum")}
    _insert(store, "launches", run=run, **known, **figures)
    _add_samples(store, run, launch.position, launch.samples)


def put_ceiling(store: Store, machine: records.Machine, ceiling: records.Ceiling) -> None:
    """Keep a measured ceiling of a machine in place of an earlier one."""
    with store.transaction():
        _insert(store, "ceilings", True, machine=put_machine(store, machine), **vars(ceiling), measured=_now())


def _existing(store: Store, runs: Sequence[int]) -> None:
    for run in runs:
        if not store.rows("SELECT 1 FROM runs WHERE id = ?", (run,)):
            raise StoreError(f"there is no run {run} in {store.path}")


def delete_runs(store: Store, runs: Sequence[int]) -> None:
    """Forget runs, and compilations and texts that only they referred to. A pinned run has to be unpinned first."""
    with store.transaction() as connection:
        _existing(store, runs)
        for run in runs:
            row = store.rows("SELECT pinned, compilation FROM runs WHERE id = ?", (run,))[0]
            if row["pinned"]:
                raise StoreError(f"run {run} is pinned; unpin it first")
            connection.execute("DELETE FROM runs WHERE id = ?", (run,))
            compilation = row["compilation"]
            if compilation and not store.rows("SELECT 1 FROM runs WHERE compilation = ?", (compilation,)):
                _delete_compilation(store, compilation)


def delete_compilations(store: Store, compilations: Sequence[int]) -> None:
    """Forget compilations that no run refers to; those of runs go with their runs."""
    with store.transaction():
        for number in compilations:
            rows = store.rows("SELECT id FROM runs WHERE compilation = ? ORDER BY id LIMIT 1", (number,))
            if rows:
                raise StoreError(f"compilation {number} belongs to run {rows[0]['id']}; delete its runs")
            _delete_compilation(store, number)


def _delete_compilation(store: Store, compilation: int) -> None:
    """Forget a compilation, its graph if no other has it, and the texts that only it referred to."""
    connection = store.connection
    texts = texts_of(store, compilation)
    graphs = store.rows(
        """SELECT graphs.id, graphs.text AS number FROM graphs JOIN compilations ON compilations.graph = graphs.id
           WHERE compilations.id = ?""",
        (compilation,),
    )
    connection.execute("DELETE FROM compilations WHERE id = ?", (compilation,))
    for graph in graphs:
        if not store.rows("SELECT 1 FROM compilations WHERE graph = ? LIMIT 1", (graph["id"],)):
            connection.execute("DELETE FROM graphs WHERE id = ?", (graph["id"],))
            texts.add(graph["number"])
    drop_unreferred(store, texts)


def check_tag(tag: str, *, taken: bool = True) -> None:
    """Raise for what cannot be a tag; `taken` also for words that mean something else where a run is asked for."""
    if not tag or tag.isdigit() or any(c.isspace() for c in tag):
        raise CompilerError(f"{tag!r} is not a tag: use a word that is not a number")
    if taken and re.fullmatch(r"c\d+|latest(~.*)?|baseline(:.*)?", tag):
        raise CompilerError(f"{tag!r} is not a tag: it means a run or a compilation already")


def tag_runs(store: Store, runs: Sequence[int], tag: str, *, remove: bool = False) -> None:
    """Put a tag on runs, or take it off."""
    check_tag(tag, taken=not remove)
    with store.transaction() as connection:
        _existing(store, runs)
        sql = (
            "DELETE FROM tags WHERE run = ? AND tag = ?"
            if remove
            else "INSERT OR IGNORE INTO tags (run, tag) VALUES (?, ?)"
        )
        connection.executemany(sql, [(run, tag) for run in runs])


def keep_check(store: Store, run: int, ok: bool, lines: Sequence[str]) -> None:
    """Keep what the check of a run's results found: whether all are within the bound, and a line for each."""
    with store.transaction() as connection:
        _existing(store, [run])
        sql = "UPDATE runs SET conditions = json_set(conditions, '$.check', json(?)) WHERE id = ?"
        connection.execute(sql, (json.dumps({"ok": ok, "lines": list(lines)}), run))


def note_run(store: Store, run: int, note: str) -> None:
    """Write a note on a run in place of an earlier one."""
    with store.transaction() as connection:
        _existing(store, [run])
        connection.execute("UPDATE runs SET note = ? WHERE id = ?", (note, run))


def pin_run(store: Store, run: int, pinned: bool = True) -> None:
    """Make a finished run the baseline of its source, in place of an earlier one; or no longer."""
    with store.transaction() as connection:
        _existing(store, [run])
        row = store.rows("SELECT source, status FROM runs WHERE id = ?", (run,))[0]
        if pinned and row["status"] != records.FINISHED:
            raise StoreError(f"run {run} is {row['status']}; only a finished run can be a baseline")
        if pinned:
            connection.execute("UPDATE runs SET pinned = 0 WHERE source = ? AND pinned", (row["source"],))
        connection.execute("UPDATE runs SET pinned = ? WHERE id = ?", (int(pinned), run))


def vacuum(store: Store) -> tuple[int, int]:
    """Drop what nothing refers to and give the space back; the file's size before and after."""
    before = store.path.stat().st_size
    found = store.rows("PRAGMA integrity_check(1)")[0]["integrity_check"]
    if found != "ok":  # rewriting a damaged file would make what can still be saved of it less
        raise StoreError(f"{store.path} is damaged ({' '.join(found.split())}); nothing was changed. Restore a backup")
    with store.transaction() as connection:
        connection.execute("DELETE FROM graphs WHERE id NOT IN (SELECT graph FROM compilations)")
        drop_unused(store)
    with translated(store.path):
        store.connection.execute("VACUUM")
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.connection.execute("PRAGMA optimize")
    return before, store.path.stat().st_size
