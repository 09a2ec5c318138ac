"""`kernelglass compile SRC`: compile a graph and show what came of it, or one stage of it."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli.options import (
    db_option,
    debug_option,
    flow_option,
    json_option,
    level_option,
    library_option,
    source_argument,
    target_option,
)
from app.cli.output import note_refused_cache, print_json, say, write_out
from app.text_tables import seconds, size, table
from compiler.options import EMITTED
from compiler.printable import printable

if TYPE_CHECKING:
    from app.compilation import Compiled


@click.command("compile")
@source_argument
@target_option
@flow_option
@level_option
@debug_option
@click.option("--emit", type=click.Choice(EMITTED), help="Print this instead of the summary.")
@click.option("--kernel", metavar="K", help="Only this kernel, with --emit.")
@click.option("-o", "out", type=click.Path(path_type=Path), metavar="OUT", help="Write there, with --emit.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Worker processes.")
@click.option("--no-cache", is_flag=True, help="Compile everything anew.")
@library_option
@db_option
@json_option
def command(
    src: str,
    target: str,
    flow: str,
    opt_level: int,
    debug: str,
    emit: str | None,
    kernel: str | None,
    out: Path | None,
    jobs: int | None,
    no_cache: bool,
    library: Path | None,
    db: str | None,
    as_json: bool,
) -> None:
    """Compile SRC and show its kernels, or emit one stage."""
    if emit is None and (kernel is not None or out is not None):
        raise click.UsageError(f"{'--kernel' if kernel is not None else '-o'} needs --emit")
    from app.compilation import compile_source
    from app.compilation import emit as emit_stage
    from app.sources import load_source
    from compiler.options import CompileOptions

    options = CompileOptions(target, flow, opt_level, debug, jobs, not no_cache)
    if options.cache:
        note_refused_cache()
    compiled = compile_source(load_source(src), options, library)
    if db is not None:
        _keep(compiled, src, db)
    if emit is not None:
        content = emit_stage(compiled, emit, kernel)
        if as_json:
            print_json(_described(compiled) | {"stage": emit, "kernel": kernel} | _carried(content, out))
        else:
            write_out(content, out)
    elif as_json:
        print_json(summary(compiled))
    else:
        say(summary_text(compiled))


def _keep(compiled: Compiled, src: str, db: str) -> None:
    """Keep the compilation and the IR of all its stages."""
    from profiler.recording import keep_stages, record_compilation
    from profiler.store import open_store

    with open_store(db) as store:
        folders = [str(folder) for folder in compiled.folders]
        number = record_compilation(store, compiled.model, src, compiled.seconds, folders)
        keep_stages(store, number, compiled.model)


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
    }


def summary(compiled: Compiled) -> dict[str, Any]:
    """The compilation as one document."""
    from app.compilation import kernel_rows, stats

    return _described(compiled) | {"kernels": kernel_rows(compiled), "stats": stats(compiled)}


def summary_text(compiled: Compiled) -> str:
    """The compilation as a person reads it."""
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
        ]
    )


def _peak(peak: int | None, compiled: Compiled) -> str:
    if peak is None:
        return "depends on the sizes"
    sizes = ", ".join(f"{name}={compiled.source.dims[name]}" for name in sorted(compiled.model.symbols))
    return f"{size(peak)}{f' at {sizes}' if sizes else ''}"
