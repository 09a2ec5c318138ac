"""`kernelglass cache info|clear`: what compilations left behind for later ones."""

from __future__ import annotations

import click

from app.cli.options import json_option
from app.cli.output import print_json, say
from app.text_tables import size, table
from compiler.printable import printable

_HELD = {
    "model": "whole models: fused graph and objects",
    "ir": "kernels as LLVM IR, before optimisation",
    "object": "compiled kernels and shared functions",
    "methods": "of records, which loading the compiler would compile again",
    "modules": "where those of the compiler lie, which loading it would look for again",
    "weights": "digests of weights, and large constants that had no file",
}


@click.group("cache", invoke_without_command=True, subcommand_metavar="info|clear")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show or clear the compilation cache."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError("cache needs a second word: info or clear")


@command.command("info")
@json_option
def info(as_json: bool) -> None:
    """Say where the cache is and what it holds."""
    from compiler.cache import default_cache

    cache = default_cache()
    found = cache.info()
    if as_json:
        kinds = {kind.kind: {"entries": kind.entries, "bytes": kind.bytes} for kind in found.kinds}
        print_json(
            {
                "path": str(found.path),
                "limit": found.limit,
                "entries": found.entries,
                "bytes": found.bytes,
                "kinds": kinds,
                "refused": cache.refusal or None,
            }
        )
        return
    rows = [(kind.kind, str(kind.entries), size(kind.bytes), _HELD[kind.kind]) for kind in found.kinds]
    rows.append(
        ("all", str(found.entries), size(found.bytes), f"at most {size(found.limit)}, least recently used go first")
    )
    say(f"{printable(found.path)}\n")
    if cache.refusal:
        say(f"not used: {printable(cache.refusal)}\n")
    say(table(("kind", "entries", "bytes", ""), rows, right=(1, 2)))


@command.command("clear")
@json_option
def clear(as_json: bool) -> None:
    """Drop every entry."""
    from compiler.cache import default_cache

    cache = default_cache()
    dropped = cache.clear()
    if as_json:
        print_json({"path": str(cache.path), "dropped": dropped})
    else:
        say(f"dropped {dropped} entr{'y' if dropped == 1 else 'ies'} from {printable(cache.path)}")
