"""`kernelglass cluster`: workers on this machine and elsewhere, and who they are."""

from __future__ import annotations

import signal
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli import options as shared
from app.cli.output import print_json, say
from app.cli.progress import progress_line
from app.errors import TERMINATED

if TYPE_CHECKING:
    from app.cluster.joining import Worker
    from compiler.graph.graph import Graph
    from compiler.language.library import Library
    from compiler.options import CompileOptions


@click.group("cluster")
def command() -> None:
    """Work on other machines, through Dask: pip install 'kernelglass[cluster]'.

    A scheduler and its workers run code that they are sent. Join only those that you trust.
    """


@command.command("local")
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Worker processes; one a core by default.")
@click.option("--port", default=8786, type=click.IntRange(0, 65535), show_default=True, help="0: any that is free.")
def local(workers: int | None, port: int) -> None:
    """Start a scheduler and workers here, on the loopback address, until Ctrl+C."""
    from app.cluster.joining import LOCAL, joined

    # Only noted, and heeded once they are there: ended halfway, nobody would take down what multiprocessing made.
    terminated = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    with joined(LOCAL, workers, port) as cluster:
        if not terminated.is_set():
            count = len(cluster.workers())
            say(f"{cluster.address} with {count} workers, until Ctrl+C: use it with --scheduler {cluster.address}")
        terminated.wait()
    click.get_current_context().exit(TERMINATED)


@command.command("status")
@click.argument("scheduler", metavar="tcp://HOST:PORT")
@shared.json_option
def status(scheduler: str, as_json: bool) -> None:
    """Say who works for a scheduler: each worker's machine, processor and cards."""
    from app.cluster.joining import joined
    from app.text_tables import table

    with joined(scheduler) as cluster:
        found = cluster.workers()
    if as_json:
        told = [asdict(worker) | {"refusal": worker.refusal} for worker in found]
        return print_json({"scheduler": scheduler, "workers": told})
    if not found:
        return say(f"{scheduler} has no workers; start some with: dask worker {scheduler} --nthreads 1")
    rows = [(worker.address, worker.name, str(worker.threads), *_machine(worker)) for worker in found]
    say(table(("worker", "name", "tasks", "machine", "triple", "cards", ""), rows, right=(2,)))


def _machine(worker: Worker) -> tuple[str, str, str, str]:
    found = worker.fingerprint
    if found is None:
        return "", "", "", f"not used: {worker.refusal}"
    cards = ", ".join(f"cuda:{card.index} {card.name} ({card.target})" for card in found.cards)
    return found.machine.name, found.triple, cards, f"not used: {worker.refusal}" if worker.refusal else ""


@command.command("ceilings")
@click.argument("device", metavar="tcp://HOST:PORT/DEVICE")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@shared.store_option
@shared.json_option
def ceilings(device: str, threads: int | None, db: str | None, as_json: bool) -> None:
    """Measure what a worker's device can do, and keep it with the worker's machine, for the rooflines of runs there."""
    from app.cluster.devices import remote_device
    from app.text_tables import table
    from profiler.measure.ceilings.measured import keep_ceilings
    from profiler.store import open_store

    with open_store(db) as store, remote_device(device) as there:
        with progress_line() as step:
            step(f"measuring {device}", None)
            found = there.ceilings(threads)
        if as_json:  # told before it is kept, as the database may not take it
            print_json({"device": device, "ceilings": [asdict(each) for each in found]})
        else:
            rows = [(each.name, f"{each.value:.4g}", each.unit) for each in found]
            say(table(("ceiling", "value", "unit"), rows, right=(1,)))
        keep_ceilings(store, there.machine, found)


@command.command("plan")
@shared.source_argument
@shared.target_option
@shared.flow_option
@shared.level_option
@shared.library_option
@click.option("--latency", default=0.5, type=shared.Finite(0, 10_000), metavar="MS", show_default=True,
              help="Milliseconds that a message takes.")  # fmt: skip
@click.option("--bandwidth", default=1000.0, type=shared.Finite(0.001, 1e6), metavar="MBIT", show_default=True,
              help="Megabits a second of each worker's line.")  # fmt: skip
@click.option("--cores", type=click.IntRange(1, 100_000), metavar="N",
              help="Cores that all workers share; by default each has one of its own.")  # fmt: skip
@click.option("--measure", "counts", metavar="1,2,4", help="Also measure with so many workers on this machine.")
@shared.json_option
def plan(
    src: str, target: str, flow: str, opt_level: int, libraries: tuple[Path, ...], latency: float, bandwidth: float,
    cores: int | None, counts: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Compile SRC once here and predict what a farm of 1 to 1,024 workers would take."""
    from app.cluster.plan import WORKERS, Farm, limit_words, observed, plan_document, predicted
    from app.sources import load_source
    from app.text_tables import seconds, table
    from compiler import load_library
    from compiler.options import CompileOptions

    wanted = _numbers(counts)
    source = load_source(src)
    folders = (*source.library_paths, *libraries)
    options = CompileOptions(target, flow, opt_level)
    library = load_library(*folders) if folders else None
    with progress_line() as step:
        step("compiling once, in one process", None)
        work = observed(source.graph, options, library)
        measured = {}
        for count in wanted:
            step(f"compiling with {count} workers", None)
            measured[count] = _measured(source.graph, options, library, count)
    farms = [Farm(count, latency / 1e3, bandwidth * 1e6 / 8, cores) for count in sorted({*WORKERS, *wanted})]
    found = [predicted(work, farm) for farm in farms]
    told = plan_document(work, found, measured)
    if as_json:
        return print_json(told)
    rows = [
        (str(row["workers"]), seconds(row["seconds"]), f"{row['times_as_fast']:.2f}", f"{row['busy']:.0%}",
         f"{row['scheduler']:.0%}", seconds(row["measured"]) if row["measured"] is not None else "")
        for row in told["farms"]
    ]  # fmt: skip
    header = ("workers", "predicted", "times as fast", "workers busy", "scheduler busy", "measured")
    say(table(header, rows, right=(0, 1, 2, 3, 4, 5)))
    say("\n".join(["", *limit_words(work, farms[0])]))


def _numbers(text: str | None) -> list[int]:
    try:
        found = sorted({int(part) for part in (text or "").split(",") if part})
    except ValueError:
        raise click.UsageError(f"--measure takes numbers with commas between them, not {text!r}") from None
    if found and not 1 <= found[0] <= found[-1] <= 64:
        raise click.UsageError("--measure takes from 1 to 64 workers")
    return found


def _measured(graph: Graph, options: CompileOptions, library: Library | None, workers: int) -> float:
    """Seconds of a cold compilation whose LLVM tasks are done by so many workers here, which are ready before."""
    from time import perf_counter

    from app.cluster.farm import GRAIN, farmed
    from app.cluster.joining import LOCAL, joined
    from compiler.pipeline import compile_graph

    with joined(LOCAL, workers) as cluster, farmed(cluster):
        begun = perf_counter()
        compile_graph(graph, replace(options, jobs=GRAIN, cache=False), library)
        return perf_counter() - begun
