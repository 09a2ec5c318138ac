"""`kernelglass run SRC`: compile a graph, run it on random inputs in a child process, time it and check it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli import options as shared
from app.cli.keeping import begin_run, keep_run
from app.cli.output import complain, note_refused_cache, print_json, say
from app.cli.progress import by_parts, progress_line
from app.errors import CheckFailed, CompilationFailed
from compiler.importers.llama.graph_choice import with_graph
from profiler.analysis.aggregation import BY

if TYPE_CHECKING:
    import numpy as np

    from app.checking import OutputCheck
    from app.cluster.devices import RemoteDevice
    from app.sources import Source
    from profiler.keeping import Begun
    from profiler.measure.outcome import Outcome
    from profiler.records import Ceiling
    from profiler.sampled import Sampling


@click.command("run")
@shared.source_argument
@shared.graph_option
@click.option(
    "--device",
    default="cpu",
    metavar="cpu|cuda:N",
    show_default=True,
    shell_complete=completing.devices,
    help="Where it runs; tcp://HOST:PORT/cpu and .../cuda:0 are a cluster worker's.",
)
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option(
    "--repeat",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Time exactly N calls, not until the median is known.",
)
@click.option("--dim", "dims", multiple=True, type=shared.Dims(), help="The size of a symbolic dim; repeat for more.")
@click.option("--seed", default=0, type=click.IntRange(0, 2**63 - 1), metavar="S", show_default=True)
@click.option("--check", is_flag=True, help="Compare with the NumPy reference; a difference exits with 5.")
@click.option("--stages", is_flag=True, help="Check unfused, fused -O0 and fused -O3 too, node by node.")
@shared.plain_option
@shared.tuned_option
@shared.library_option
@shared.flow_option
@shared.level_option
@shared.debug_option
@click.option("--width", default=1.0, type=shared.Finite(0.01, 100), metavar="PERCENT", show_default=True,
              help="Stop when the median is known to plus or minus this much.")  # fmt: skip
@click.option("--budget", default=2.0, type=shared.Finite(0.01, 3600), metavar="S", show_default=True,
              help="Seconds to spend on timing at most.")  # fmt: skip
@click.option("--processes", default=5, type=click.IntRange(1, 1000), metavar="N", show_default=True,
              help="Share the timing between N new processes: each may run a little faster or slower.")  # fmt: skip
@click.option("--time-limit", default=120.0, type=shared.Finite(0.1), metavar="S", show_default=True,
              help="End a run that takes longer.")  # fmt: skip
@click.option("--pin/--no-pin", default=None, help="Give each thread a processor of its own, or leave that to the "
              "system; by default where there is a thread for every processor.")  # fmt: skip
@click.option("--sample", is_flag=True, help="Make the calls once more and see where they are; `hot` shows the lines.")
@click.option("--warm", is_flag=True, help="Use the same buffers for every call, so that data may stay in cache.")
@click.option("--by", type=click.Choice(BY), help="Put launches together; by kernel where they are many.")
@click.option("--tag", metavar="TAG", help="Put a tag on the run.", shell_complete=completing.tags)
@click.option("--note", metavar="TEXT", help="Write a note on the run.")
@click.option("--no-db", is_flag=True, help="Keep no record.")
@click.option("--db", type=shared.Database(), metavar="DB", help="Keep the record, with all IR, in this database.")
@shared.json_option
def command(
    src: str, graph: str | None, device: str, threads: int | None, repeat: int | None,
    dims: tuple[tuple[str, int], ...], seed: int, check: bool, stages: bool, flow: str, opt_level: int, debug: str,
    width: float, budget: float, processes: int, time_limit: float, pin: bool | None, sample: bool, warm: bool,
    by: str | None, tag: str | None, note: str | None, no_db: bool, db: str | None, no_recognise: bool,
    no_tuned: bool, libraries: tuple[Path, ...], as_json: bool,
) -> None:  # fmt: skip
    """Run SRC on random inputs and say how long a call takes."""
    from app.compilation import device_index, device_target
    from app.inputs import graph_sizes, opaque_inputs, random_inputs
    from app.sources import load_source, stored_name
    from compiler.errors import UnavailableError
    from compiler.options import CompileOptions
    from compiler.temporary import clear_abandoned
    from profiler.keeping import give_up
    from profiler.records import MeasureRequest
    from profiler.store.writer import check_tag
    from profiler.tuning.kept import library_of, with_kept

    if no_db and (db or tag or note):
        raise click.UsageError("--no-db keeps no record to tag, note or put into a database")
    if tag is not None:
        check_tag(tag)
    clear_abandoned()  # what runs that were killed left behind
    note_refused_cache()
    there = _elsewhere(device)
    device = device if there is None else there.device
    index = None if there is not None else device_index(device)
    src = with_graph(src, graph)
    source = load_source(src)
    source = replace(source, library_paths=(*source.library_paths, *libraries))
    sizes = graph_sizes(source.graph, source.dims, shared.sizes_of(dims))
    target = there.target if there is not None else device_target(index)
    if source.options is not None and source.options.target != target and (there is not None or index is not None):
        raise UnavailableError(
            f"{src} is compiled for {source.options.target}; {device} needs {target}: compile it for that"
        )
    inputs = random_inputs(source.graph, sizes, seed, source.library_paths)
    if held := opaque_inputs(source.graph):
        if stages:
            raise click.UsageError("--stages compares tensors, and this graph takes opaque values; use --check")
        complain(f"{', '.join(held)}: all zeros, as only kernels make such values", "note")
    request = MeasureRequest(
        source=stored_name(src), device=device, threads=threads, dims=sizes, seed=seed, repeat=repeat,
        width=width / 100, budget=budget, rotate=not warm, time_limit=time_limit,
        options=source.options or CompileOptions(target, flow, opt_level, debug, recognise=not no_recognise),
        artifact=source.artifact,
        libraries=tuple(str(folder) for folder in source.library_paths), processes=processes,
        pin=pin, sample=sample,
    )  # fmt: skip
    if not no_tuned and there is None and source.options is None:
        folders = source.library_paths
        request = replace(request, options=with_kept(request.options, lambda: library_of(folders), device, db))
    needed = any(asked is not None for asked in (db, tag, note))
    begun = None if no_db else begin_run(db, request, needed=needed, machine=there and there.machine)
    outcome, kept = None, False
    try:
        outcome = _measure(begun, request, source, inputs, there, texts=db is not None, check=check)
        checks = _check(source, outcome, inputs) if check else None
        staged = _check_stages(source, inputs, threads) if stages else None
        ceilings = _ceilings(begun, request, outcome)
        document = _document(source, request, begun.run if begun else None, outcome, checks, staged, ceilings)
        try:  # what was measured is told before it is kept, and kept also where nobody reads it
            if as_json:
                print_json(document)
            else:
                from app.cli.run_text import run_text

                say(run_text(document, checks, by))
        finally:
            kept = True
            keep_run(begun, outcome, tag, note, checks)
    except BaseException as error:
        if outcome is not None and not kept:  # it was measured; only what was asked beside it failed
            keep_run(begun, outcome, tag, note)
        elif begun is not None:
            give_up(begun, error)
        raise
    finally:
        if begun is not None:
            begun.close()
    wrong = [c for c in checks or () if not c.ok]
    if wrong:
        raise CheckFailed(str(wrong[0]))
    if staged is not None and staged["first"] is not None:
        raise CheckFailed(staged["first"]["words"])


def _elsewhere(device: str) -> RemoteDevice | None:
    """The device of another machine, until the command ends; None for one of this."""
    if "://" not in device:
        return None
    from app.cluster.devices import remote_device

    return click.get_current_context().with_resource(remote_device(device))


def _measure(
    begun: Begun | None, request: Any, source: Source, inputs: list[np.ndarray], there: RemoteDevice | None, *,
    texts: bool, check: bool,
) -> Outcome:  # fmt: skip
    """What came of it, if it came to a good end; a run that did not is kept all the same."""
    from compiler.errors import ExecutionError, UnavailableError
    from profiler.measure.cpu.timing import BLOCKS
    from profiler.measure.measuring import measure
    from profiler.measure.processes import process_requests
    from profiler.records import FINISHED

    with progress_line() as step:
        told = by_parts(step, len(process_requests(request)), BLOCKS)
        made = measure if there is None else there.measure
        outcome = made(request, source.graph, inputs, texts=texts, outputs=check, progress=told)
    if outcome.error is not None or outcome.result.status != FINISHED:
        run = keep_run(begun, outcome)
        if outcome.error is None:
            kept = f" (kept as run {run})" if run is not None else ""
            raise CheckFailed(f"the run failed: it {outcome.result.error}{kept}")
        if outcome.compiling and not isinstance(outcome.error, UnavailableError | ExecutionError):
            raise CompilationFailed(outcome.error.message, outcome.error.location)
        raise outcome.error
    return outcome


def _ceilings(begun: Begun | None, request: Any, outcome: Outcome) -> list[Ceiling]:
    """What the device was measured to be able to, if it was: `report --ceilings` and the window do that."""
    from profiler.measure.ceilings.measured import ceiling_threads, stored_ceilings
    from profiler.store import StoreError

    if begun is None or begun.store is None:
        return []
    threads = ceiling_threads(request.device, outcome.result.conditions.get("threads"))
    try:
        return stored_ceilings(begun.store, begun.machine.fingerprint, threads)
    except StoreError:  # the run says itself what is the matter with the database, when it is kept
        return []


def _check(source: Source, outcome: Outcome, inputs: list[np.ndarray]) -> list[OutputCheck]:
    """The first call's outputs against the reference."""
    from app.checking import check_against_reference

    with progress_line() as step:
        step("checking against the reference", None)
        return check_against_reference(source.graph, inputs, outcome.outputs, source.library_paths)


def _check_stages(source: Source, inputs: list[np.ndarray], threads: int | None) -> dict[str, Any]:
    from app.checking import error_bound
    from profiler.analysis.stagewise import check_stages

    with progress_line() as step:
        bound = error_bound(source.graph)
        found = check_stages(source.graph, inputs, bound, threads, source.library_paths, progress=step)
    return found.document()


def _document(
    source: Source, request: Any, run: int | None, outcome: Outcome, checks: list[OutputCheck] | None, staged: Any,
    ceilings: list[Ceiling],
) -> dict[str, Any]:  # fmt: skip
    from profiler.analysis.aggregation import grouped, uneven_launches
    from profiler.analysis.roofline import kernel_dtype, roofline
    from profiler.analysis.statistics import summarise

    result, compiled = outcome.result, outcome.compilation
    figures = summarise(result.samples, result.blocks, result.processes)
    assert compiled is not None
    launches = [
        asdict(summarise(launch.samples, result.blocks, result.processes))
        | {name: getattr(launch, name) for name in _LAUNCH}
        for launch in result.launches
    ]
    dtypes = {k.name: kernel_dtype(k.source) for k in compiled.kernels}
    counted = result.sampling.counted if result.sampling is not None else ()
    points = roofline(launches, ceilings, dtypes, counted)
    names = (*_POINT, "measured") if counted else _POINT
    launches = [launch | {name: getattr(point, name) for name in names} for launch, point in zip(launches, points)]
    return {
        "source": source.name, "run": run, "device": request.device, "threads": result.conditions.get("threads"),
        "dims": dict(request.dims), "seed": request.seed, "compile_seconds": compiled.seconds,
        "import_seconds": compiled.stats.get("imports", 0.0),
        "from_cache": 0 if request.artifact else compiled.stats.get("cache", {}).get("hits", 0),
        "from_file": bool(request.artifact),
        "kernels": [kernel.name for kernel in compiled.kernels],
        "tuned": compiled.options.get("tuned", {}),
        "outputs": [{"dtype": dtype, "shape": list(shape)} for dtype, shape in outcome.output_types],
        "repeat": figures.count, "processes": figures.processes,
        "seconds": {
            "median": figures.median, "low": figures.low, "high": figures.high, "min": figures.minimum,
            "max": figures.maximum, "outliers": figures.outliers, "coverage": figures.coverage,
            "all": [x * 1e-9 for x in result.samples],
            "lost": [x * 1e-9 for x in result.lost],
        },
        "launches": launches, "uneven": [launches[at]["position"] for at, _ in uneven_launches(launches)],
        "groups": {
            by: [asdict(group) for group in grouped(launches, by, figures.median)] for by in BY if by != "launch"
        },
        "ceilings": [asdict(ceiling) for ceiling in ceilings],
        "counters": [asdict(counter) for counter in result.counters],
        "memory": {k: v for k, v in result.memory.items() if k not in ("blocks", "steps")},
        "conditions": dict(result.conditions),
        "check": None if checks is None else [asdict(c) | {"ok": c.ok} for c in checks], "stages": staged,
        **_sampled(result.sampling),
    }  # fmt: skip


def _sampled(found: Sampling | None) -> dict[str, Any]:
    """A field of the document where there is something to tell in it."""
    return {} if found is None else {"sampling": asdict(found) | {"mapped": found.mapped}}


_LAUNCH = ("position", "kernel", "key", "nodes", "flops", "bytes", "loads", "stores", "thread_seconds")
_POINT = ("intensity", "gflops", "gbytes", "roof", "share", "bound", "dtype", "peak")
