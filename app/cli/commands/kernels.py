"""`kernelglass kernels`: what the kernel library has, and what may be fused into each of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.options import json_option, library_option
from app.cli.output import print_json, say
from app.text_tables import table

if TYPE_CHECKING:
    from compiler.language.kernel import KernelEntry


@click.command("kernels")
@click.argument("name", required=False)
@library_option
@json_option
def command(name: str | None, libraries: tuple[Path, ...], as_json: bool) -> None:
    """List the kernels that graphs can use: op, kind, parameters, what fuses into it, overloads, file and line.

    NAME leaves those whose op or definition has it in its name. With --library the folders' own come first.
    """
    from compiler.language.catalogue import catalogue

    found = [entry for entry in catalogue(*libraries) if name is None or name in entry.op or name in entry.name]
    if as_json:
        print_json([entry.document() for entry in found])
    elif not found:
        say(f"no kernel has {name!r} in its name" if name else "there are no kernels")
    else:
        header = ("op", "kind", "kernel", "inputs", "fuses", "parameters", "only for", "where")
        say(table(header, [_row(entry) for entry in found]))


def _row(entry: KernelEntry) -> tuple[str, ...]:
    words = entry.row
    return (
        entry.op, entry.kind, entry.name, words["inputs"], entry.fuses, words["parameters"], words["only for"],
        f"{entry.file}:{entry.line}",
    )  # fmt: skip
