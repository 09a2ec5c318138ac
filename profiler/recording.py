"""Runs and compilations into the store: a run is begun before it is made, so that a killed program leaves its mark."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from compiler.cache import producer_versions
from compiler.errors import CompilerError
from profiler.measure.machine import this_machine
from profiler.measure.outcome import Outcome
from profiler.model_records import compilation_record, compiled, stage_records
from profiler.records import Machine, StageRecord
from profiler.store import Store, StoreError, queries, writer

if TYPE_CHECKING:
    from compiler.model import Model


def keep_outcome(store: Store, run: int, outcome: Outcome, machine: Machine) -> None:
    """Keep what came of a run that was begun, with its compilation where it got so far."""
    with store.transaction():
        number = None
        if outcome.compilation is not None:
            number = writer.add_compilation(store, outcome.compilation, machine)
            writer.add_stages(store, number, outcome.stages)
        writer.finish_run(store, run, outcome.result, number)


def ending_words(error: BaseException) -> str:
    """Why a run came to no end, for its record."""
    return "interrupted by the user" if isinstance(error, KeyboardInterrupt) else str(error) or repr(error)


def record_compilation(store: Store, model: Model, source: str, seconds: float, libraries: Sequence[str] = ()) -> int:
    """Keep a compilation made in this process: its trace. `keep_stages` adds the IR."""
    return writer.add_compilation(store, compilation_record(model, source, seconds, libraries), this_machine())


def keep_stages(store: Store, compilation: int, model: Model) -> None:
    """Make the IR of every stage and keep it; that costs about as much as compiling did."""
    writer.add_stages(store, compilation, stage_records(model))


def ensure_stages(store: Store, compilation: int) -> tuple[list[StageRecord], str]:
    """The IR of a stored compilation, compiled again where it was not kept, and a note on how; kept then if it can be.

    Only the version that made a compilation can make its IR again; another would show its own.
    """
    kept = queries.stages(store, compilation)
    if kept:
        return kept, ""
    row = queries.compilation_row(store, compilation)
    if row["versions"] != producer_versions():
        return [], "the IR was not kept, and another version compiled it"
    try:
        stages = stage_records(compile_again(row))
    except CompilerError as error:
        return [], f"the IR was not kept, and compiling again fails: {error}"
    if not store.readonly:
        with contextlib.suppress(StoreError):  # a store that cannot be written is no reason to have no report
            writer.add_stages(store, compilation, stages)
    return stages, "the IR was not kept; it was made again for this report"


def compile_again(row: dict) -> Model:
    """The model behind a stored compilation, compiled now with the same options."""
    import msgspec

    from compiler.importers.mlir_text import parse_graph
    from compiler.options import CompileOptions
    from compiler.processes.known_types import readable

    options = dict(row["options"])
    libraries = options.pop("libraries", ())
    columns = {name: row[name] for name in ("target", "flow", "opt_level", "debug")}
    chosen = msgspec.convert(options | columns, readable(CompileOptions))
    return compiled(parse_graph(row["graph_text"], row["source"]), chosen, libraries)[0]
