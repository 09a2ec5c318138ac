"""`kernelglass compile SRC`: compile a graph and show what came of it, or one stage of it."""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from app.cli import options as shared
from app.cli.output import note_refused_cache, print_json, say, write_out
from app.cli.progress import Step, by_number, progress_line
from app.cli.terminal import is_terminal
from app.text_tables import seconds, size, table
from compiler.errors import CompilerError
from compiler.importers.llama.graph_choice import with_graph
from compiler.options import EMITTED, CompileOptions
from compiler.printable import printable

if TYPE_CHECKING:
    from app.compilation import Compiled
    from app.viewmodels.requests import Progress
    from compiler.trace import Watch


_PAUSE = 0.1  # seconds between two lines of progress: a kernel has many passes, and the terminal takes its time


@click.command("compile")
@shared.source_argument
@shared.graph_option
@shared.target_option
@shared.flow_option
@shared.level_option
@shared.debug_option
@click.option("--emit", type=click.Choice(EMITTED), help="Print this instead of the summary.")
@click.option("--kernel", metavar="K", help="Only this kernel, with --emit.")
@click.option("-o", "out", type=click.Path(), metavar="OUT",
              help="Write there what --emit asks for (FOLDER/: a file a kernel), or all as FILE.kgx.")  # fmt: skip
@click.option("--weights", type=click.Choice(("inline", "reference")), default="inline", show_default=True,
              help="In FILE.kgx: weights copied, or only where they lie.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes.")
@shared.scheduler_option
@click.option("--no-cache", is_flag=True, help="Compile everything anew.")
@click.option("--repeat", type=click.IntRange(2, 1000), metavar="N",
              help="Compile N times in new processes, each with an empty cache, and say how long.")  # fmt: skip
@shared.plain_option
@shared.tuned_option
@shared.library_option
@shared.db_option
@shared.json_option
def command(
    src: str,
    graph: str | None,
    target: str,
    flow: str,
    opt_level: int,
    debug: str,
    emit: str | None,
    kernel: str | None,
    out: str | None,
    weights: str,
    jobs: int | None,
    scheduler: str | None,
    no_cache: bool,
    repeat: int | None,
    no_recognise: bool,
    no_tuned: bool,
    libraries: tuple[Path, ...],
    db: str | None,
    as_json: bool,
) -> None:
    """Compile SRC and show its kernels, or emit one stage."""
    src = with_graph(src, graph)
    whole = Path(out) if emit is None and out is not None and out.endswith(".kgx") else None
    if emit is None and (kernel is not None or (out is not None and whole is None)):
        raise click.UsageError("--kernel needs --emit" if kernel is not None else "-o needs --emit, or a FILE.kgx")
    if repeat is not None:
        if any(asked is not None for asked in (emit, out, db, scheduler)):
            raise click.UsageError("--repeat measures; it goes with none of --emit, -o, --db and --scheduler")
        found = _repeated(src, CompileOptions(target, flow, opt_level, debug, jobs), libraries, repeat)
        return print_json(found) if as_json else say(_repeated_text(found))
    from app.compilation import compile_source, emit_each
    from app.compilation import emit as emit_stage
    from app.sources import load_source, stored_name

    options = CompileOptions(target, flow, opt_level, debug, jobs, not no_cache, recognise=not no_recognise)
    if options.cache:
        note_refused_cache()
    with progress_line() as step:
        step("reading the source", None)
        source = load_source(src)
        if not no_tuned:
            from profiler.tuning.kept import library_of, with_kept

            folders = (*source.library_paths, *libraries)
            options = with_kept(options, lambda: library_of(folders), database=db)
        with _llvm_at(scheduler, jobs) as slots:
            compiled = compile_source(source, replace(options, jobs=slots), libraries, _watch(step))
    with ExitStack() as last:  # what is asked for is told before it is kept: the database may not take it
        if db is not None:
            last.callback(_keep, compiled, stored_name(src), db)
        if emit is not None:
            folder = out is not None and (out.endswith(("/", os.sep)) or Path(out).is_dir())
            if folder:
                carried = _written(emit_each(compiled, emit, kernel), Path(out or ""))
            elif as_json:
                carried = _carried(emit_stage(compiled, emit, kernel), Path(out) if out else None)
            else:
                carried = {}
                write_out(emit_stage(compiled, emit, kernel), Path(out) if out else None)
            if as_json:
                print_json(_described(compiled) | {"stage": emit, "kernel": kernel} | carried)
            return
        if whole is not None:
            compiled.model.save(whole, weights=weights, source=src)
        if as_json:
            print_json(summary(compiled) | ({"out": str(whole), "bytes": whole.stat().st_size} if whole else {}))
        else:
            say(summary_text(compiled))


@contextmanager
def _llvm_at(scheduler: str | None, jobs: int | None) -> Iterator[int | None]:
    """Where LLVM's tasks are done, and for how many jobs they are cut: this machine's processes, or a cluster's."""
    if scheduler is None:
        yield jobs
        return
    from app.cluster.farm import GRAIN, farmed
    from app.cluster.joining import joined

    with joined(scheduler, jobs) as cluster, farmed(cluster):
        yield GRAIN


def _watch(step: Step) -> Watch | None:
    """What a terminal is told of the passes as they begin; elsewhere nothing is made for that."""
    if not is_terminal(sys.stderr):
        return None
    from app.worker.compile_progress import CompileProgress

    last = [0.0]

    def told(progress: Progress) -> None:
        if monotonic() - last[0] > _PAUSE:
            step(progress.stage, progress.done)
            last[0] = monotonic()

    return CompileProgress(told)


def _repeated(src: str, options: CompileOptions, libraries: tuple[Path, ...], repeat: int) -> dict[str, Any]:
    """Cold compilations in processes of their own: what compiling takes, and what starting and importing do."""
    from app.flows.cells import Cell, Request, measure
    from profiler.analysis.statistics import summarise

    cell = Cell(options.flow, options.opt_level, options.debug, "cold")
    request = Request(src, options, tuple(map(str, libraries)))
    with progress_line() as step:
        measured = measure(request, [cell], repeat, by_number(step, repeat))
    if measured.interrupted:  # fewer repeats than were asked for are no answer
        raise KeyboardInterrupt
    samples = measured.samples[cell]
    parts = {
        "compile": [sample.told.compile_seconds for sample in samples],
        "imports": [sample.told.imports for sample in samples],
        "start_and_end": [s.elapsed - s.told.compile_seconds - s.told.imports for s in samples],
    }
    figures = {name: summarise([max(round(x * 1e9), 0) for x in values]) for name, values in parts.items()}
    names = ("median", "low", "high", "minimum", "maximum", "coverage")
    return {
        "source": src, "target": options.target, "flow": options.flow, "opt_level": options.opt_level,
        "debug": options.debug, "repeats": len(samples), "notes": list(measured.notes),
        "peak_bytes": max(sample.peak_bytes for sample in samples),
        "seconds": {name: {key: getattr(found, key) for key in names} for name, found in figures.items()},
    }  # fmt: skip


def _repeated_text(found: dict[str, Any]) -> str:
    """The same as a person reads it."""
    words = {"compile": "compile", "imports": "imports", "start_and_end": "start and end"}
    rows = [
        (words[name], seconds(took["median"]), f"{seconds(took['minimum'])} to {seconds(took['maximum'])}")
        for name, took in found["seconds"].items()
    ]
    how = f"({found['flow']}, -O{found['opt_level']}, debug {found['debug']})"
    title = f"{printable(found['source'])} for {found['target']} {how}"
    lines = [f"{title}: {found['repeats']} cold compilations, {size(found['peak_bytes'])} at most", ""]
    lines.append(table(("part", "median", "range"), rows, right=(1,)))
    return "\n".join([*lines, *(f"note: {note}" for note in found["notes"])])


def _keep(compiled: Compiled, src: str, db: str) -> None:
    """Keep the compilation and the IR of all its stages."""
    from profiler.recording import keep_stages, record_compilation
    from profiler.store import open_store

    with open_store(db) as store:
        folders = [str(folder) for folder in compiled.folders]
        number = record_compilation(store, compiled.model, src, compiled.seconds, folders)
        keep_stages(store, number, compiled.model)


def _written(files: dict[str, str | bytes], folder: Path) -> dict[str, Any]:
    """Files put into a folder, which is made where there is none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CompilerError(f"{folder} cannot be made: {problem.strerror}") from None
    for name, content in files.items():
        write_out(content, folder / name)
    return {"out": str(folder), "files": list(files)}


def _carried(content: str | bytes, out: Path | None) -> dict[str, Any]:
    """The emitted thing inside a JSON document, or where it was written."""
    if out is not None:
        write_out(content, out)
        return {"out": str(out), "bytes": len(content if isinstance(content, bytes) else content.encode())}
    if isinstance(content, bytes):
        return {"base64": base64.b64encode(content).decode()}
    return {"text": content}


def _described(compiled: Compiled) -> dict[str, Any]:
    options = compiled.options
    return {
        "source": compiled.source.name,
        "target": options.target,
        "flow": options.flow,
        "opt_level": options.opt_level,
        "debug": options.debug,
        "seconds": compiled.seconds,
        "import_seconds": compiled.imports,
    }


def summary(compiled: Compiled) -> dict[str, Any]:
    """The compilation as one document."""
    from app.compilation import kernel_rows, stats

    tuned = compiled.model.tuned if compiled.options.tuned else {}
    return _described(compiled) | {"kernels": kernel_rows(compiled), "tuned": tuned, "stats": stats(compiled)}


def summary_text(compiled: Compiled) -> str:
    """The compilation as a person reads it."""
    from profiler.tuning.records import tuned_words

    document, options = summary(compiled), compiled.options
    kernels, figures = document["kernels"], document["stats"]
    took, held = figures["seconds"], figures["bytes"]
    stages = [
        (stage, seconds(took[stage]), size(held[stage]) if stage in held else "") for stage in took if stage != "total"
    ]
    taken, left, hits, peak = *figures["fusion"].values(), figures["cache"]["hits"], figures["peak_memory"]
    return "\n".join(
        [
            f"{printable(compiled.source.name)} for {options.target}: {len(kernels)} kernel{'s' * (len(kernels) != 1)} "
            f"in {seconds(compiled.seconds)} ({options.flow}, -O{options.opt_level}, debug {options.debug})",
            "",
            table(("kernel", "nodes"), [(kernel["name"], " ".join(kernel["nodes"])) for kernel in kernels]),
            "",
            table(("stage", "time", "IR"), stages, right=(1, 2)),
            "",
            f"fusion       {taken} taken, {left} not",
            f"memory peak  {_peak(peak, compiled)}",
            f"cache        {hits} of {len(kernels)} kernels",
            f"imports      {seconds(compiled.imports)}, not part of the compile time",
            *([f"tuned        {tuned_words(document['tuned'])}"] if document["tuned"] else []),
        ]
    )


def _peak(peak: int | None, compiled: Compiled) -> str:
    if peak is None:
        return "depends on the sizes"
    sizes = ", ".join(f"{name}={compiled.source.dims[name]}" for name in sorted(compiled.model.symbols))
    return f"{size(peak)}{f' at {sizes}' if sizes else ''}"
