"""`kernelglass report ID [BASE...] -o FILE.html`: one file to send to a colleague."""

from __future__ import annotations

from pathlib import Path

import click

from app.commands.options import json_option
from app.commands.runs import store_option
from app.files import write_whole
from app.output import print_json


@click.command("report")
@click.argument("run", metavar="ID")
@click.argument("against", nargs=-1, metavar="[BASE...]")
@click.option("-o", "out", required=True, type=click.Path(path_type=Path), metavar="FILE.html")
@click.option("--ceilings", is_flag=True, help="Measure this machine's ceilings first, for the roofline.")
@store_option
@json_option
def command(run: str, against: tuple[str, ...], out: Path, ceilings: bool, db: str | None, as_json: bool) -> None:
    """Write the report of a run: one HTML file (or .md) that needs no network.

    Where other runs follow, it also says how the run compares with them; the first of them is the measure.
    """
    from profiler.report.write import export_run
    from profiler.store import open_store, queries

    with open_store(db, create=False) as store:
        number = queries.find_run(store, run)
        others = [queries.find_run(store, words) for words in against]
        if number in others:
            raise click.UsageError(f"run {number} cannot be compared with itself")
        if ceilings:
            from profiler.ceilings import measured_ceilings

            threads = queries.run_row(store, number)["conditions"].get("threads")
            measured_ceilings(store, threads=threads, progress=lambda words: click.echo(f"measuring {words}", err=True))
        text = export_run(store, number, "md" if out.suffix == ".md" else "html", others)
    write_whole(out, text)
    if as_json:
        print_json({"run": number, "against": others, "out": str(out), "bytes": len(text.encode())})
