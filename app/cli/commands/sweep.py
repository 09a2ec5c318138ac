"""`kernelglass sweep SPEC.toml`: many compilations and runs from one file, each kept, and a table of them."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli.head_start import sweep_nursery
from app.cli.options import json_option, scheduler_option, store_option

if TYPE_CHECKING:
    from app.sweep.engine import Workers


@click.command("sweep")
@click.argument("spec", metavar="SPEC.toml", type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Compile so many cells at a time.")
@scheduler_option
@click.option("--retry", is_flag=True, help="Do cells that failed again.")
@click.option("--table", "only_table", is_flag=True, help="Do nothing; show what is there.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV on stdout.")
@store_option
@json_option
def command(
    spec: Path, jobs: int | None, scheduler: str | None, retry: bool, only_table: bool, as_csv: bool, db: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Do every cell of a sweep that is not done yet, and show them all.

    Killed or interrupted, it goes on where it was when it is called again.
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json are two forms of the same; give one")
    # First of all: processes load the compiler while we read what to do. They end while we tell of it.
    with nullcontext() if only_table else _workers(jobs, scheduler) as workers:
        from app.cli.output import print_json, say
        from app.cli.progress import progress_line
        from app.sweep.engine import Progress, run_cells
        from app.sweep.outcomes import FAILED_CELL, MISSING, outcomes
        from app.sweep.spec import read_spec
        from app.sweep.tables import sweep_csv, sweep_document, sweep_text
        from profiler.store import open_store

        asked = read_spec(spec)
        with open_store(db) as store:
            if workers is not None:
                wanted = {MISSING, FAILED_CELL} if retry else {MISSING}
                todo = [each.cell for each in outcomes(store, asked) if each.status in wanted]
                with progress_line() as step:

                    def told(progress: Progress) -> None:
                        step(str(progress), progress.share)

                    run_cells(store, asked, todo, workers, told)
            found = outcomes(store, asked)
        if as_json:
            print_json(sweep_document(asked.name, found))
        else:
            say(sweep_csv(found).rstrip("\n") if as_csv else sweep_text(asked.name, found))


def _workers(jobs: int | None, scheduler: str | None) -> AbstractContextManager[Workers]:
    """Who compiles cells: processes here, or a cluster's workers."""
    nursery = sweep_nursery(spread=scheduler is not None)
    if scheduler is not None:
        from compiler.collector_pauses import rare_collection

        with rare_collection():
            from app.sweep.spread import cluster_workers

        return cluster_workers(scheduler, jobs, nursery)
    from app.sweep.processes import local_processes
    from compiler.backend.runtime import default_threads

    return local_processes(jobs or default_threads(), nursery)
