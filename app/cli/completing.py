"""What a shell can complete: samples and files, targets, runs with their tags, devices. Quick, and never an error."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem


def _items(found: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(value, help=words) for value, words in found if value.startswith(incomplete)]


def sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Samples by name; whatever else is begun is a file."""
    from app.sources import samples

    known = _items([(f"sample:{sample.name}", sample.description) for sample in samples()], incomplete)
    return known if known and incomplete else [*known, CompletionItem(incomplete, type="file")]


def targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Targets to compile for."""
    from compiler.targets import known_targets

    return _items([(name, "") for name in known_targets()], incomplete)


def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Runs: their numbers, newest first, their tags, and the words that mean one."""
    known = [(str(row["id"]), f"{row['source']}, {row['started'][:16].replace('T', ' ')}") for row in _rows(ctx)]
    words = [("latest", "the newest run"), ("baseline", "the pinned run of the same source")]
    return _items([*words, *_tags(ctx), *known], incomplete)


def tags(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Tags that runs have."""
    return _items(_tags(ctx), incomplete)


def devices(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What can be run on, without asking the driver."""
    return _items([("cpu", ""), ("cuda:0", "")], incomplete)


def _tags(ctx: click.Context) -> list[tuple[str, str]]:
    return [(tag, "a tag") for tag in dict.fromkeys(tag for row in _rows(ctx) for tag in row["tags"])]


def _rows(ctx: click.Context) -> list[dict]:
    """The newest runs of the database that the command line names, or the user's own; none where it does not read."""
    from profiler.store import StoreError, open_store, queries

    named = ctx.params.get("db") or (ctx.parent.params.get("db") if ctx.parent is not None else None)
    try:
        with open_store(named, create=False, readonly=True) as store:
            return queries.list_runs(store, queries.RunFilter(limit=50))
    except (StoreError, OSError):
        return []
