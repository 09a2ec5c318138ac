"""`kernelglass flows SRC`: per-kernel against all-kernel, each measured in fresh processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli import options as shared
from app.cli.output import print_json, say, write_out
from app.cli.progress import by_number, progress_line
from app.errors import INTERRUPTED
from app.files import check_place
from compiler.importers.llama.graph_choice import with_graph
from compiler.options import DEBUG_LEVELS, OPT_LEVELS

if TYPE_CHECKING:
    from app.flows.cells import Cell, Measured, Request
    from app.sources import Source

FORMATS = ("text", "md", "csv", "json")


class Listed(click.ParamType):
    """Several values with commas between them."""

    def __init__(self, *known: str) -> None:
        self.known = known
        self.name = "LIST"

    def convert(
        self, value: str | tuple[str, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """Each value once, in the order given."""
        if isinstance(value, tuple):
            return value
        found = tuple(dict.fromkeys(part.strip() for part in value.split(",")))
        unknown = [part for part in found if part not in self.known]
        if unknown:
            self.fail(f"{unknown[0]!r} is not one of {', '.join(self.known)}", param, ctx)
        return found


@click.command("flows")
@shared.source_argument
@shared.graph_option
@shared.target_option
@click.option("-O", "levels", default="3", type=Listed(*map(str, OPT_LEVELS)), metavar="2,3", show_default=True)
@click.option(
    "--debug",
    "debugs",
    default="none,line-tables",
    type=Listed(*DEBUG_LEVELS),
    metavar="LEVELS",
    show_default=True,
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Processes for LLVM; all usable cores by default."
)
@click.option("--repeat", default=3, type=click.IntRange(1, 1000), metavar="N", show_default=True)
@click.option("--start-up/--no-start-up", default=True, help="Also the time to the first result (CPU only).")
@shared.library_option
@shared.scheduler_option
@click.option("--format", "form", default="text", type=click.Choice(FORMATS), show_default=True)
@shared.out_option
@shared.json_option
@click.pass_context
def command(
    ctx: click.Context,
    src: str,
    graph: str | None,
    target: str,
    levels: tuple[str, ...],
    debugs: tuple[str, ...],
    jobs: int | None,
    repeat: int,
    start_up: bool,
    libraries: tuple[Path, ...],
    scheduler: str | None,
    form: str,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compile SRC in both flows, in fresh processes, and compare time and memory."""
    from app.flows import tables as flow_tables
    from app.flows.cells import Request, cells
    from app.sources import load_source
    from compiler.options import CompileOptions
    from compiler.targets import get_target

    src = with_graph(src, graph)
    source = load_source(src)  # what is wrong with it is said once, here
    unsized = sorted(name for name in source.graph.symbols if name not in source.dims)
    if unsized and start_up:
        say(f"no first result: the source gives no size for {', '.join(unsized)}", err=True)
        start_up = False
    if out is not None:
        check_place(out)
    wanted = cells([int(level) for level in levels], debugs, start_up=start_up and get_target(target).name == "cpu")
    request = Request(src, CompileOptions(target, jobs=jobs), tuple(map(str, libraries)))
    with progress_line() as step:
        told = by_number(step, len(wanted) * repeat)
        measured, machine, cores = _measured(scheduler, source, request, wanted, repeat, told)
    found = flow_tables.document(measured, machine, cores)
    if not found["cells"] and not found["start_up"]:
        raise KeyboardInterrupt
    if as_json:
        print_json(found)
        form = "json" if form == "text" else form
    if out is not None or not as_json:
        write_out(flow_tables.WRITERS[form](found), out)
    if measured.interrupted:
        ctx.exit(INTERRUPTED)


def _measured(
    scheduler: str | None,
    source: Source,
    request: Request,
    wanted: list[Cell],
    repeat: int,
    told: Callable[[str], None],
) -> tuple[Measured, str, int]:  # fmt: skip
    """The cells measured here or by a worker of a cluster, with that machine's name and cores."""
    if scheduler is None:
        from app.flows.cells import measure
        from compiler.backend.runtime import default_threads
        from profiler.measure.machine import this_machine

        return measure(request, wanted, repeat, told), this_machine().name, default_threads()
    from app.cluster.joining import joined
    from app.flows.elsewhere import measure_there

    with joined(scheduler, 1) as cluster:
        found = measure_there(cluster, source, request, wanted, repeat, told)
    return found.measured, found.where.machine, found.where.cores
