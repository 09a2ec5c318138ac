"""`kernelglass export ID --format ...`: a run for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from app.cli import completing
from app.cli.options import json_option, store_option
from app.cli.output import print_json, write_out
from app.cli.progress import progress_line
from app.files import write_whole


@click.command("export")
@click.argument("run", metavar="ID", shell_complete=completing.runs)
@click.option(
    "--format", "kind", required=True, type=click.Choice(("perfetto", "csv", "json", "md", "html", "script")),
    help="script: a Python file that makes the run again.",
)  # fmt: skip
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="FILE")
@store_option
@json_option
def command(run: str, kind: str, out: Path | None, db: str | None, as_json: bool) -> None:
    """Write a run as a Perfetto trace, CSV, JSON, Markdown, HTML or a script that makes it again."""
    from profiler.report.write import export_run
    from profiler.store import open_store, queries

    with open_store(db, create=False) as store:
        number = queries.find_run(store, run)
        with progress_line() as step:
            step("writing the run", None)  # it may have to make the IR again
            text = export_run(store, number, kind)
    if out is not None:
        write_whole(out, text)
    elif not as_json:
        write_out(text, None)
    if as_json:
        held = {"out": str(out)} if out is not None else {"text": text}
        print_json({"run": number, "format": kind, "bytes": len(text.encode()), **held})
