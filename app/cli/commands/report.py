"""`kernelglass report ID [BASE...] -o FILE.html`: one file to send to a colleague."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli import completing
from app.cli.options import json_option, store_option
from app.cli.output import print_json
from app.cli.progress import progress_line
from app.files import check_place, write_whole

if TYPE_CHECKING:
    from profiler.store import Store

_KINDS = {".html": "html", ".htm": "html", ".md": "md", "": "html"}


@click.command("report")
@click.argument("run", metavar="ID", shell_complete=completing.runs)
@click.argument("against", nargs=-1, metavar="[BASE...]", shell_complete=completing.runs)
@click.option("-o", "out", required=True, type=click.Path(path_type=Path), metavar="FILE.html")
@click.option("--ceilings", is_flag=True, help="Measure what the run's device can do first, for the roofline.")
@store_option
@json_option
def command(run: str, against: tuple[str, ...], out: Path, ceilings: bool, db: str | None, as_json: bool) -> None:
    """Write the report of a run: one HTML file (or .md) that needs no network.

    Where other runs follow, it also says how the run compares with them; the first of them is the measure.
    """
    from profiler.report.write import export_run
    from profiler.store import open_store, queries

    kind = _KINDS.get(out.suffix.lower())
    if kind is None:
        raise click.UsageError(f"{out}: a report is .html or .md, and {out.suffix} is neither; name the file so")
    check_place(out)
    with open_store(db, create=False) as store:
        number = queries.find_run(store, run)
        others = [
            queries.find_baseline(store, number) if words == "baseline" else queries.find_run(store, words)
            for words in against
        ]
        if number in others:
            raise click.UsageError(f"run {number} cannot be compared with itself")
        if ceilings:
            _measure(store, number)
        with progress_line() as step:
            step("writing the report", None)  # it may have to make the IR again
            text = export_run(store, number, kind, others)
    write_whole(out, text)
    if as_json:
        print_json({"run": number, "against": others, "out": str(out), "bytes": len(text.encode())})


def _measure(store: Store, run: int) -> None:
    """The ceilings that hold for a run: only the machine that made it can tell them."""
    from compiler.errors import UnavailableError
    from profiler.measure.ceilings.measured import measured_ceilings
    from profiler.measure.machine import machine_with
    from profiler.store import queries

    row = queries.run_row(store, run)
    made_on, here = queries.machine_row(store, row["machine"]), machine_with(row["device"])
    if made_on["fingerprint"] != here.fingerprint:
        words = f"run {run} was made on {made_on['name']}, and this is {here.name}"
        raise UnavailableError(f"{words}: its ceilings can only be measured there")
    with progress_line() as step:
        measured_ceilings(
            store, device=row["device"], threads=row["conditions"].get("threads"),
            progress=lambda words, share: step(f"measuring {words}", share),
        )  # fmt: skip
