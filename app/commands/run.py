"""`kernelglass run SRC`: compile a graph, run it on random inputs in a child process, time it and check it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from app.commands.options import Dims, json_option, source_argument
from app.errors import CheckFailed, CompilationFailed
from app.output import print_json
from app.tables import seconds, size, table

if TYPE_CHECKING:
    import numpy as np

    from app.checking import OutputCheck
    from app.sources import Source
    from profiler.launch.outcome import Outcome
    from profiler.store import Store


@click.command("run")
@source_argument
@click.option("--device", default="cpu", metavar="cpu|cuda:N", show_default=True)
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option(
    "--repeat",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Time exactly N calls, not until the median is known.",
)
@click.option("--dim", "dims", multiple=True, type=Dims(), help="The size of a symbolic dim; repeat for more.")
@click.option("--seed", default=0, type=click.IntRange(min=0), metavar="S", show_default=True)
@click.option("--check", is_flag=True, help="Compare with the NumPy reference; a difference exits with 5.")
@click.option("--stages", is_flag=True, help="Check unfused, fused -O0 and fused -O3 too, node by node.")
@click.option("--flow", default="all-kernel", type=click.Choice(("per-kernel", "all-kernel")), show_default=True)
@click.option("-O", "opt_level", default=3, type=click.IntRange(0, 3), metavar="N", show_default=True)
@click.option("--debug", default="none", type=click.Choice(("none", "line-tables")), show_default=True)
@click.option("--width", default=1.0, type=click.FloatRange(0.01, 100), metavar="PERCENT", show_default=True,
              help="Stop when the median is known to plus or minus this much.")  # fmt: skip
@click.option("--budget", default=2.0, type=click.FloatRange(0.01, 3600), metavar="S", show_default=True,
              help="Seconds to spend on timing at most.")  # fmt: skip
@click.option("--processes", default=5, type=click.IntRange(1, 1000), metavar="N", show_default=True,
              help="Share the timing between N new processes: each may run a little faster or slower.")  # fmt: skip
@click.option("--time-limit", default=120.0, type=click.FloatRange(0.1), metavar="S", show_default=True,
              help="End a run that takes longer.")  # fmt: skip
@click.option("--warm", is_flag=True, help="Use the same buffers for every call, so that data may stay in cache.")
@click.option("--tag", metavar="TAG", help="Put a tag on the run.")
@click.option("--note", metavar="TEXT", help="Write a note on the run.")
@click.option("--no-db", is_flag=True, help="Keep no record.")
@click.option("--db", metavar="DB", help="Keep the record, with all IR, in this database; the user's own by default.")
@json_option
def command(
    src: str, device: str, threads: int | None, repeat: int | None, dims: tuple[tuple[str, int], ...], seed: int,
    check: bool, stages: bool, flow: str, opt_level: int, debug: str, width: float, budget: float, processes: int,
    time_limit: float, warm: bool, tag: str | None, note: str | None, no_db: bool, db: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Run SRC on random inputs and say how long a call takes."""
    from app.compilation import device_index
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from profiler.records import RunRequest

    if no_db and (db or tag or note):
        raise click.UsageError("--no-db keeps no record to tag, note or put into a database")
    index = device_index(device)
    source = load_source(src)
    sizes = graph_sizes(source.graph, source.dims, dict(dims))
    target = "cpu" if index is None else _cuda_target(index)
    inputs = random_inputs(source.graph, sizes, seed)
    request = RunRequest(
        source=src, device=device, threads=threads, dims=sizes, seed=seed, repeat=repeat, width=width / 100,
        budget=budget, rotate=not warm, time_limit=time_limit, target=target, flow=flow, opt_level=opt_level,
        debug=debug, libraries=tuple(str(folder) for folder in source.library_paths), processes=processes,
    )  # fmt: skip
    store = None if no_db else _store(db, needed=bool(db or tag or note))
    try:
        run, outcome = _measure(store, request, source, inputs, texts=db is not None, check=check)
        _annotate(store, run, tag, note)
    finally:
        if store is not None:
            store.close()
    checks = _check(source, outcome, inputs) if check else None
    staged = _check_stages(source, inputs, threads) if stages else None
    document = _document(source, request, run, outcome, checks, staged)
    if as_json:
        print_json(document)
    else:
        click.echo(_text(document, checks))
    wrong = [c for c in checks or () if not c.ok]
    if wrong:
        raise CheckFailed(str(wrong[0]))
    if staged is not None and staged["first"] is not None:
        raise CheckFailed(staged["first"]["words"])


def _cuda_target(index: int) -> str:
    """The compile target for a CUDA device; UnavailableError where there is no such device."""
    from compiler.errors import UnavailableError
    from profiler.devices import cuda_devices

    devices = cuda_devices()
    if index >= len(devices):
        raise UnavailableError(f"there is no device cuda:{index}; this machine has {len(devices)}")
    from profiler.launch.cuda import best_target

    return best_target(int(devices[index].target.removeprefix("sm_")))


def _store(db: str | None, *, needed: bool) -> Store | None:
    """The database to keep the run in. The user's own is not worth failing for: a run is made without it then."""
    from profiler.store import StoreError, open_store

    try:
        return open_store(db)
    except StoreError as error:
        if needed:
            raise
        click.echo(f"kernelglass: note: the run is not kept: {error}", err=True)
        return None


def _measure(
    store: Store | None, request: Any, source: Source, inputs: list[np.ndarray], *, texts: bool, check: bool
) -> tuple[int | None, Outcome]:
    from compiler.errors import ExecutionError, UnavailableError
    from profiler.capture import graph_text
    from profiler.recording import run_and_record
    from profiler.records import FINISHED

    run, outcome = run_and_record(store, request, graph_text(source.graph), inputs, texts=texts, outputs=check)
    if outcome.error is not None:
        if outcome.compiling and not isinstance(outcome.error, UnavailableError | ExecutionError):
            raise CompilationFailed(outcome.error.message, outcome.error.location)
        raise outcome.error
    if outcome.result.status != FINISHED:
        kept = f" (kept as run {run})" if run is not None else ""
        raise CheckFailed(f"the run failed: it {outcome.result.error}{kept}")
    return run, outcome


def _annotate(store: Store | None, run: int | None, tag: str | None, note: str | None) -> None:
    from profiler.store import writer

    if store is not None and run is not None:
        if tag:
            writer.tag_runs(store, [run], tag)
        if note:
            writer.note_run(store, run, note)


def _check(source: Source, outcome: Outcome, inputs: list[np.ndarray]) -> list[OutputCheck]:
    """The first call's outputs against the reference, which runs on its own copies: a graph may write to its inputs."""
    from app.checking import check_outputs, error_bound
    from compiler import reference

    wanted = reference(source.graph, *(x.copy() for x in inputs))
    return check_outputs(outcome.outputs, wanted, error_bound(source.graph))


def _check_stages(source: Source, inputs: list[np.ndarray], threads: int | None) -> dict[str, Any]:
    from app.checking import error_bound
    from profiler.stagewise import check_stages

    return check_stages(source.graph, inputs, error_bound(source.graph), threads, source.library_paths).document()


def _document(
    source: Source, request: Any, run: int | None, outcome: Outcome, checks: list[OutputCheck] | None, staged: Any
) -> dict[str, Any]:
    from profiler.stats import summarise

    result, compiled = outcome.result, outcome.compilation
    figures = summarise(result.samples, result.blocks, result.processes)
    assert compiled is not None
    launches = [
        asdict(summarise(launch.samples, result.blocks, result.processes))
        | {name: getattr(launch, name) for name in ("kernel", "flops", "bytes", "loads", "stores", "thread_seconds")}
        for launch in result.launches
    ]
    return {
        "source": source.name, "run": run, "device": request.device, "threads": result.conditions.get("threads"),
        "dims": dict(request.dims), "seed": request.seed, "compile_seconds": compiled.seconds,
        "kernels": [kernel.name for kernel in compiled.kernels],
        "outputs": [{"dtype": dtype, "shape": list(shape)} for dtype, shape in outcome.output_types],
        "repeat": figures.count, "processes": figures.processes,
        "seconds": {
            "median": figures.median, "low": figures.low, "high": figures.high, "min": figures.minimum,
            "max": figures.maximum, "outliers": figures.outliers, "all": [x * 1e-9 for x in result.samples],
            "lost": [x * 1e-9 for x in result.lost],
        },
        "launches": launches, "counters": [asdict(counter) for counter in result.counters],
        "memory": {k: v for k, v in result.memory.items() if k not in ("blocks", "steps")},
        "conditions": dict(result.conditions),
        "check": None if checks is None else [asdict(c) | {"ok": c.ok} for c in checks], "stages": staged,
    }  # fmt: skip


def _text(document: dict[str, Any], checks: list[OutputCheck] | None) -> str:
    took = document["seconds"]
    sizes = ", ".join(f"{name}={size}" for name, size in document["dims"].items())
    shapes = ", ".join(f"{y['dtype']}[{'x'.join(map(str, y['shape']))}]" for y in document["outputs"])
    kept = "" if document["run"] is None else f"run {document['run']}: "
    lines = [
        f"{kept}{document['source']} on {document['device']}{f' ({sizes})' if sizes else ''}: "
        f"{len(document['kernels'])} kernels, compiled in {seconds(document['compile_seconds'])}",
        f"per call   median {seconds(took['median'])} ({seconds(took['low'])} to {seconds(took['high'])}), "
        f"{seconds(took['min'])} to {seconds(took['max'])}, {_made(document)}",
        f"outputs    {shapes}",
    ]
    lines += [f"check      {check}" for check in checks or () if check.ok]
    if document["stages"]:
        lines += [f"stage      {line}" for line in document["stages"]["lines"]]
    lines += [f"{word:<10} {words}" for word, words in _meanwhile(document)]
    lines += [f"note       {note}" for note in document["conditions"].get("notes", ())]
    rows = [_launch_row(launch) for launch in document["launches"]]
    if rows:
        header = ("kernel", "median", "GFLOP/s", "GB/s", "loaded", "stored")
        lines += ["", table(header, rows, right=(1, 2, 3, 4, 5))]
    return "\n".join(lines)


def _made(document: dict[str, Any]) -> str:
    """How the times were taken, on one line."""
    took, threads = document["seconds"], document["threads"]
    parts = [f"{document['repeat']} calls", f"{took['outliers']} outliers" if took["outliers"] else "no outliers"]
    if document["processes"] > 1:
        parts.append(f"{document['processes']} processes")
    if threads is not None:  # a GPU has none to speak of
        parts.append(f"{threads} thread{'s' if threads != 1 else ''}")
    return ", ".join(parts)


def _meanwhile(document: dict[str, Any]) -> list[tuple[str, str]]:
    """What else happened: the machine, memory, page faults, context switches, and what the hardware counted."""
    conditions, counters = document["conditions"], {c["name"]: c for c in document["counters"]}
    found: list[tuple[str, str]] = []
    if "load" in conditions:
        clock = f"{conditions['megahertz']} MHz" if conditions.get("megahertz") else "clock not told"
        lost = f", {conditions['lost_share']:.1%} of its time lost" if "lost_share" in conditions else ""
        found.append(("machine", f"load {conditions['load'][0]:g}, {clock}{lost}"))
    card = conditions.get("device") or {}
    if card.get("sm_clock_mhz"):
        found.append(("device", f"{card['sm_clock_mhz']} MHz of {card.get('max_sm_clock_mhz')}, "
                                f"{card.get('temperature_celsius')} C, {card.get('power_watts'):.0f} W"))  # fmt: skip
    named = (("minor page faults", "minor"), ("major page faults", "major page faults"),
             ("voluntary context switches", "voluntary"),
             ("involuntary context switches", "involuntary context switches"))  # fmt: skip
    parts = [f"{counters[name]['value']:,.0f} {words}" for name, words in named if name in counters]
    if parts:
        found.append(("system", ", ".join(parts)))
    resident = counters.get("resident memory, highest")
    if resident and resident["value"]:
        found.append(("memory", f"{size(resident['value'])} resident at most, {_planned(document['memory'])}"))
    elif document["memory"].get("device"):
        held = document["memory"]["device"]
        found.append(("memory", f"{size(held['peak'])} on the device at most, {size(held['free'])} left"))
    return found + _hardware(counters)


def _planned(memory: dict[str, Any]) -> str:
    return f"{size(memory['planned_peak'])} planned for temporaries" if "planned_peak" in memory else "no plan"


def _hardware(counters: dict[str, Any]) -> list[tuple[str, str]]:
    """Hardware counters in a line, or in one line why there are none."""
    events = [c for c in counters.values() if c["unit"] == "events"]
    counted = [f"{c['value']:.4g} {c['name']}" for c in events if c["value"] is not None]
    missing: dict[str, list[str]] = {}
    for counter in events:
        if counter["value"] is None:
            missing.setdefault(counter["note"], []).append(counter["name"])
    lines = [("hardware", ", ".join(counted))] if counted else []
    return lines + [("hardware", f"no {', '.join(names)}: {note}") for note, names in missing.items()]


def _launch_row(launch: dict[str, Any]) -> tuple[str, ...]:
    def rate(amount: int | None) -> str:
        return f"{amount / launch['median'] * 1e-9:.3g}" if amount and launch["median"] else ""

    moved = [size(launch[name]) if launch[name] is not None else "" for name in ("loads", "stores")]
    return launch["kernel"], seconds(launch["median"]), rate(launch["flops"]), rate(launch["bytes"]), *moved
