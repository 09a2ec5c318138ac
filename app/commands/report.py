"""`kernelglass report ID -o FILE.html`: one file to send to a colleague."""

from __future__ import annotations

from pathlib import Path

import click

from app.commands.options import json_option
from app.commands.runs import store_option
from app.output import print_json, write_out


@click.command("report")
@click.argument("run", metavar="ID")
@click.option("-o", "out", required=True, type=click.Path(path_type=Path), metavar="FILE.html")
@click.option("--ceilings", is_flag=True, help="Measure this machine's ceilings first, for the roofline.")
@store_option
@json_option
def command(run: str, out: Path, ceilings: bool, db: str | None, as_json: bool) -> None:
    """Write the report of a run: one HTML file (or .md) that needs no network."""
    from profiler.report.write import export_run
    from profiler.store import open_store, queries

    with open_store(db, create=False) as store:
        number = queries.find_run(store, run)
        if ceilings:
            from profiler.ceilings import measured_ceilings

            threads = queries.run_row(store, number)["conditions"].get("threads")
            measured_ceilings(store, threads=threads, progress=lambda words: click.echo(f"measuring {words}", err=True))
        text = export_run(store, number, "md" if out.suffix == ".md" else "html")
    write_out(text, out)
    if as_json:
        print_json({"run": number, "out": str(out), "bytes": len(text.encode())})
