"""`kernelglass runs`: what the database keeps. Lists, deletes, tags, notes, pins, imports, searches and vacuums."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli.options import json_option, store_option
from app.cli.output import print_json, say
from app.cli.progress import progress_line
from app.text_tables import seconds, size, table
from profiler.units import moment

if TYPE_CHECKING:
    from profiler.store import Store
    from profiler.store.importing import Imported
    from profiler.store.texts import Found


class _Since(click.ParamType):
    """A moment in UTC, or the beginning of one: a year, a month, a day."""

    name = "DATE"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The moment as the database writes it, as far as it was given."""
        whole = value.strip().replace(" ", "T")
        missing = {4: "-01-01", 7: "-01"}.get(len(whole), "")
        try:
            if value:
                datetime.fromisoformat(whole + missing)
        except ValueError:
            self.fail(f"{value!r} is not a date, as in 2026-01-31", param, ctx)
        return whole


class _Group(click.Group):
    """Plain `kernelglass runs` lists."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """An unknown word is an error that names the known ones."""
        if args[0] not in self.commands:
            raise click.UsageError(f"no such command {args[0]!r}; there are {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)


@click.group("runs", cls=_Group, invoke_without_command=True)
@store_option
@click.option("--source", metavar="SRC", default="", help="Only runs of this source.",
              shell_complete=completing.sources)  # fmt: skip
@click.option("--status", default="", type=click.Choice(("", "finished", "failed", "running", "interrupted")))
@click.option("--tag", metavar="TAG", default="", help="Only runs with this tag.", shell_complete=completing.tags)
@click.option("--device", metavar="DEVICE", default="", help="Only runs on this device.")
@click.option("--pinned", is_flag=True, help="Only baselines.")
@click.option("--since", type=_Since(), metavar="DATE", default="", help="Only runs since then, as in 2026-01-31.")
@click.option("--limit", default=100, type=click.IntRange(1), metavar="N", show_default=True)
@click.option("--compilations", is_flag=True, help="List compilations in place of runs.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, db: str | None, source: str, status: str, tag: str, device: str, pinned: bool, since: str,
    limit: int, compilations: bool, as_json: bool,
) -> None:  # fmt: skip
    """List the runs in the database, newest first."""
    ctx.obj = {"db": db, "json": as_json}
    if ctx.invoked_subcommand is not None:
        return
    from profiler.store import default_path, open_store, queries

    if db is None and not default_path().exists():
        rows = []  # nothing has been run yet: that is not an error
    else:
        with open_store(db, create=False) as store:
            if compilations:
                rows = queries.list_compilations(store, source, limit)
            else:
                chosen = queries.RunFilter(source, status, tag, device, pinned, since, limit)
                rows = queries.list_runs(store, chosen)
    if as_json:
        print_json({"compilations" if compilations else "runs": rows})
    else:
        say(_compilations(rows) if compilations else _runs(rows))


def _runs(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no runs"
    lines = [
        (
            f"{row['id']}{'*' if row['pinned'] else ''}", moment(row["started"]), row["source"],
            row["device"],
            f"{row['status']}, CHECK FAILED" if row["check_ok"] is False else row["status"],
            seconds(row["median"]) if row["median"] else "",
            f"{seconds(row['low'])} to {seconds(row['high'])}" if row["median"] else row["error"] or "",
            " ".join([*row["tags"], *([f"({row['note']})"] if row["note"] else [])]),
        )
        for row in rows
    ]  # fmt: skip
    return table(("run", "started", "source", "device", "status", "median", "interval", "tags"), lines, right=(0, 5))


def _compilations(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "no compilations"
    lines = [
        (f"c{row['id']}", moment(row["created"]), row["source"], row["target"], row["flow"],
         f"-O{row['opt_level']}", row["debug"], str(row["kernels"]), seconds(row["seconds"]))
        for row in rows
    ]  # fmt: skip
    header = ("id", "created", "source", "target", "flow", "level", "debug", "kernels", "time")
    return table(header, lines, right=(7, 8))


Said = tuple[str, dict[str, Any]]
"""What a subcommand did, in words and as a document."""


def _with_store(work: Callable[..., Said]) -> Callable[..., None]:
    """A subcommand on the database; the options that all of them have may stand before or after its name."""

    @store_option
    @json_option
    @click.pass_context
    @wraps(work)
    def called(ctx: click.Context, db: str | None, as_json: bool, **arguments: Any) -> None:
        from profiler.store import open_store

        with open_store(db if db is not None else ctx.obj["db"], create=False) as store:
            words, document = work(store, **arguments)
        print_json(document) if as_json or ctx.obj["json"] else say(words)

    return called


runs_argument = click.argument("runs", nargs=-1, required=True, metavar="ID...", shell_complete=completing.runs)


@command.command("delete")
@runs_argument
@_with_store
def delete(store: Store, runs: tuple[str, ...]) -> Said:
    """Forget runs, and compilations that only they used; or compilations without runs (c12).

    A pinned run has to be unpinned first.
    """
    from profiler.store import queries, writer

    numbers, compilations = [], []
    for words in dict.fromkeys(runs):
        found = queries.find_compilation(store, words)
        (numbers if found is None else compilations).append(queries.find_run(store, words) if found is None else found)
    numbers = list(dict.fromkeys(numbers))
    with store.transaction():
        writer.delete_runs(store, numbers)
        writer.delete_compilations(store, compilations)
    named = [*map(str, numbers), *(f"c{number}" for number in compilations)]
    return f"deleted {', '.join(named)}", {"deleted": numbers, "compilations": compilations}


@command.command("tag")
@click.argument("tag", metavar="TAG", shell_complete=completing.tags)
@runs_argument
@click.option("--remove", is_flag=True, help="Take the tag off.")
@_with_store
def tag(store: Store, tag: str, runs: tuple[str, ...], remove: bool) -> Said:
    """Put TAG on runs; `compare TAG ...` then means the newest of them."""
    from profiler.store import queries, writer

    numbers = [queries.find_run(store, words) for words in runs]
    writer.tag_runs(store, numbers, tag, remove=remove)
    words = f"{'took' if remove else 'put'} {tag} {'off' if remove else 'on'} {', '.join(map(str, numbers))}"
    return words, {"tag": tag, "runs": numbers, "removed": remove}


@command.command("note")
@click.argument("run", metavar="ID", shell_complete=completing.runs)
@click.argument("text", metavar="TEXT")
@_with_store
def note(store: Store, run: str, text: str) -> Said:
    """Write a note on a run; an empty one takes it away."""
    from profiler.store import queries, writer

    number = queries.find_run(store, run)
    writer.note_run(store, number, text)
    return f"noted on run {number}", {"run": number, "note": text}


@command.command("pin")
@click.argument("run", metavar="ID", shell_complete=completing.runs)
@click.option("--off", is_flag=True, help="Unpin it.")
@_with_store
def pin(store: Store, run: str, off: bool) -> Said:
    """Make a run the baseline of its source: `compare baseline ...` means it, and it cannot be deleted."""
    from profiler.store import queries, writer

    number = queries.find_run(store, run)
    writer.pin_run(store, number, not off)
    return f"run {number} is {'no longer ' if off else ''}a baseline", {"run": number, "pinned": not off}


@command.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE.db...", type=click.Path(path_type=Path))
@store_option
@json_option
@click.pass_context
def bring_in(ctx: click.Context, files: tuple[Path, ...], db: str | None, as_json: bool) -> None:
    """Add the runs of other databases, each once; those files are only read."""
    from dataclasses import asdict

    from profiler.store import open_store
    from profiler.store.importing import import_runs

    with open_store(db if db is not None else ctx.obj["db"]) as store, progress_line() as step:
        found = []
        for number, file in enumerate(files):
            step(f"reading {file.name}", number / len(files))
            found.append((file, import_runs(store, file)))
    if as_json or ctx.obj["json"]:
        print_json({"imported": [{"file": str(file)} | asdict(what) for file, what in found]})
    else:
        say("\n".join(_imported(file, what) for file, what in found))


def _imported(file: Path, what: Imported) -> str:
    words = f"{file}: {len(what.runs)} runs and {len(what.compilations)} compilations added"
    if what.machines:
        words += f", made on {', '.join(what.machines)}"
    if what.known:
        words += f"; {what.known} runs were here already"
    return words + (f"; {what.running} are still running there and were left out" if what.running else "")


@command.command("search")
@click.argument("words", nargs=-1, required=True)
@click.option("--limit", default=50, type=click.IntRange(1), metavar="N", show_default=True)
@_with_store
def search(store: Store, words: tuple[str, ...], limit: int) -> Said:
    """Find IR that holds all WORDS."""
    from profiler.store.texts import search_texts

    found = search_texts(store, " ".join(words), limit)
    rows = [
        (f"c{hit['compilation']}", hit["source"], hit["kernel"], hit["stage"], size(hit["size"])) for hit in found.hits
    ]
    shown = table(("id", "source", "kernel", "stage", "size"), rows) if rows else "nothing found"
    left_out = _left_out(found)
    counted = {"texts": found.texts, "places": found.places, "left_out": found.left_out}
    return f"{shown}\n\n{left_out}" if left_out else shown, {"hits": list(found.hits), **counted}


def _left_out(found: Found) -> str:
    """What a list of hits does not show, in words."""
    if found.places is None:
        words = f"the newest {len(found.hits)} places; {found.texts:,} texts hold these words"
        return f"{words}, too many to follow: --limit N follows more of them"
    if found.left_out:
        return f"the newest {len(found.hits)} of {found.places:,} places; --limit N shows more"
    return ""


@command.command("vacuum")
@_with_store
def vacuum(store: Store) -> Said:
    """Drop what nothing refers to and give the space back."""
    from profiler.store import writer

    with progress_line() as step:
        step("giving the space back", None)
        before, after = writer.vacuum(store)
    return f"{size(before)} before, {size(after)} after", {"before": before, "after": after}


@command.command("history")
@click.argument("source", metavar="SRC")
@click.option("--by", default="run", type=click.Choice(("run", "commit", "tag")), show_default=True,
              help="Put runs together that have it in common.")  # fmt: skip
@_with_store
def past(store: Store, source: str, by: str) -> Said:
    """The time of a source's runs under the same conditions, and from which run on it changed."""
    from dataclasses import asdict

    from profiler.analysis.history import FALSE_ALARMS, history

    found = history(store, source, by=by)
    changes = {change.at: change for change in found.changes}
    rows = [
        (point.label, moment(point.started), seconds(point.median), f"{seconds(point.low)} to {seconds(point.high)}",
         changes[at].words if at in changes else "")
        for at, point in enumerate(found.moments)
    ]  # fmt: skip
    words = [table((by, "started", "median", "interval", "change"), rows, right=(2,))]
    if found.others:
        words.append(f"{found.others} runs under other conditions{f' or without a {by}' * (by != 'run')} are left out")
    words.append(f"of histories without a change, {FALSE_ALARMS:.0%} are said to have one; it takes about ten runs")
    return "\n".join(words), asdict(found)
