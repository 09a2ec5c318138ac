"""`kernelglass tune SRC`: try what the kernels of a model leave to choose, on this device, and keep what is faster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli.options import Dims, Finite, json_option, library_option, plain_option, sizes_of, store_option
from app.cli.output import complain, note_refused_cache, print_json, say
from app.cli.progress import progress_line
from app.text_tables import table
from compiler.errors import ExecutionError
from profiler.tuning import BUDGET

if TYPE_CHECKING:
    from app.sources import Source
    from profiler.records import MeasureRequest
    from profiler.store.tuned import TunedRow
    from profiler.tuning.records import Row, State


@click.command("tune")
@click.argument("src", metavar="SRC", required=False, shell_complete=completing.sources)
@click.option("--device", default="cpu", metavar="cpu|cuda:N", show_default=True, shell_complete=completing.devices,
              help="Where it runs, and what the results are kept for.")  # fmt: skip
@click.option("--budget", default=BUDGET, type=Finite(1, 86400), metavar="SECONDS", show_default=True,
              help="The time that all of it may take.")  # fmt: skip
@click.option("--kernel", default="", metavar="NAME", help="Only this kernel, however little time it takes.")
@click.option("--threads", type=click.IntRange(1, 1024), metavar="N", help="CPU threads; all usable cores by default.")
@click.option("--dim", "dims", multiple=True, type=Dims(), help="The size of a symbolic dim; repeat for more.")
@click.option("--list", "listed", is_flag=True, help="Show what is kept: all of it, or that of SRC.")
@click.option("--forget", is_flag=True, help="Drop what is kept: all of it, or that of SRC, or of --kernel.")
@plain_option
@library_option
@store_option
@json_option
def command(
    src: str | None, device: str, budget: float, kernel: str, threads: int | None, dims: tuple[tuple[str, int], ...],
    listed: bool, forget: bool, no_recognise: bool, libraries: tuple[Path, ...], db: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Try what the kernels of SRC leave to choose (tiles, blocks, ways), and keep what is measurably faster here.

    `compile`, `run` and the window use what is kept on the same device; --no-tuned has them do without. Ctrl+C ends it
    with what was proved by then.
    """
    if listed or forget:
        return _listed(src, kernel, db, forget=forget, as_json=as_json)
    if src is None:
        raise click.UsageError("Missing argument 'SRC'.")
    from app.sources import load_source

    note_refused_cache()
    source = load_source(src)
    source = replace(source, library_paths=(*source.library_paths, *libraries))
    request = _request(src, source, device, threads, sizes_of(dims), recognise=not no_recognise)
    state, interrupted = _tuned(source, request, budget, kernel, db)
    if as_json:
        print_json(_document(source, request, state, interrupted))
    else:
        say(_text(source, request, state, interrupted))
    if interrupted:
        raise KeyboardInterrupt


def _request(
    src: str, source: Source, device: str, threads: int | None, dims: dict[str, int], *, recognise: bool
) -> MeasureRequest:
    from app.compilation import device_index, device_target
    from app.inputs import graph_sizes
    from app.sources import stored_name
    from compiler.options import CompileOptions
    from profiler.records import MeasureRequest

    if source.artifact:
        raise ExecutionError(f"{src} is compiled; tune the source that it was compiled from")
    options = CompileOptions(device_target(device_index(device)), recognise=recognise)
    return MeasureRequest(
        source=stored_name(src), device=device, threads=threads, dims=graph_sizes(source.graph, source.dims, dims),
        options=options, libraries=tuple(str(folder) for folder in source.library_paths),
    )  # fmt: skip


def _tuned(source: Source, request: MeasureRequest, budget: float, kernel: str, db: str | None) -> tuple[State, bool]:
    """What came of it, and whether it was stopped."""
    from app.worker.tuning import subject_of
    from profiler.tuning.kept import tune_and_keep
    from profiler.tuning.search import Tuning

    tuning, notes = Tuning(subject_of(source, request), budget, kernel), []
    try:
        with progress_line() as step:
            for state in tune_and_keep(tuning, request, db, notes.append):
                step(state.words, state.share)
        return tuning.state, False
    except KeyboardInterrupt:
        if not tuning.state.rows:
            raise
        return tuning.state, True
    finally:
        for note in notes:
            complain(note, "note")


def _text(source: Source, request: MeasureRequest, state: State, interrupted: bool) -> str:
    found = sum(row.faster for row in state.rows)
    stopped = "stopped: " if interrupted else ""
    words = f"{found} of {len(state.rows)} kernels that leave something to choose can be faster"
    lines = [f"{stopped}{source.name} on {request.device}: {words}"]
    if state.rows:
        lines += ["", table(_HEADER, [_cells(row) for row in state.rows], right=(3, 4))]
    lines += [f"dropped: {row.tunable.kernel} with {words}" for row in state.rows for words in row.dropped]
    return "\n".join(lines)


_HEADER = ("kernel", "by itself", "best", "tried", "of its time", "verdict")


def _cells(row: Row) -> tuple[str, ...]:
    from app.worker.tuning import row_of

    told = row_of(row)
    ratio = "" if told.ratio is None else f"{told.ratio:.3f} ({told.interval})"
    return told.kernel, told.usual, told.best or "the same", str(told.tried), ratio, told.words


def _document(source: Source, request: MeasureRequest, state: State, interrupted: bool) -> dict[str, Any]:
    return {
        "source": source.name, "device": request.device, "target": request.options.target,
        "dims": dict(request.dims), "stopped": interrupted, "kernels": [_row_document(row) for row in state.rows],
    }  # fmt: skip


def _row_document(row: Row) -> dict[str, Any]:
    verdict = row.verdict
    return {
        "kernel": row.tunable.kernel, "problem": row.tunable.problem, "default": dict(row.tunable.defaults),
        "best": dict(row.best) if row.faster else None, "faster": row.faster, "tried": row.tried,
        "dropped": list(row.dropped), "words": row.words,
        "ratio": verdict and {"value": verdict.ratio, "low": verdict.low, "high": verdict.high},
        "verdict": verdict.verdict if verdict else None,
    }  # fmt: skip


# What is kept


def _listed(src: str | None, kernel: str, db: str | None, *, forget: bool, as_json: bool) -> None:
    from app.sources import stored_name
    from profiler.measure.machine import this_machine
    from profiler.store import default_path, open_store
    from profiler.store.tuned import forget_tuned, tuned_rows
    from profiler.tuning.kept import is_current, library_of

    if db is None and not default_path().is_file():
        rows: list[TunedRow] = []
    else:
        with open_store(db, create=False) as store:
            rows = [
                row for row in tuned_rows(store)
                if src in (None, row.source) or (src and stored_name(src) == row.source)
            ]  # fmt: skip
            rows = [row for row in rows if kernel in ("", row.kernel)]
            if forget:
                forget_tuned(store, [(row.problem, row.fingerprint) for row in rows])
    if forget:
        words = f"{len(rows)} tuned kernel{'s' * (len(rows) != 1)} forgotten"
        return print_json({"forgotten": len(rows)}) if as_json else say(words)
    library, here = library_of(()), this_machine().fingerprint
    current = [is_current(row, library) for row in rows]
    if as_json:
        return print_json([vars(row) | {"current": known} for row, known in zip(rows, current)])
    if not rows:
        return say("nothing is tuned; `kernelglass tune SRC` does that")
    cells = [_kept_cells(row, known, here) for row, known in zip(rows, current)]
    return say(table(("kernel", "of", "target", "tuned to", "of its time", "measured", "on", ""), cells, right=(4,)))


def _kept_cells(row: TunedRow, current: bool, here: str) -> tuple[str, ...]:
    from profiler.tuning.records import choice_words

    place = "this machine" if row.fingerprint == here else row.machine
    ratio = f"{row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})"
    stale = "" if current else "not used: the kernel has changed"
    return row.kernel, row.source, row.target, choice_words(row.choices), ratio, row.measured, place, stale
