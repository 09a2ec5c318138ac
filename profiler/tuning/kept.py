"""What tuning keeps, and what a compilation gets of it: choices for this device, for kernels that are as they were."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.errors import UnavailableError
from compiler.language.library import Library, default_library, definition_digest, load_library
from compiler.options import CompileOptions, Tuned
from compiler.targets import get_target
from profiler.measure.machine import machine_with
from profiler.store import Store, StoreError, default_path, open_store
from profiler.store.tuned import TunedRow, keep_tuned, tuned_rows

if TYPE_CHECKING:
    from profiler.records import MeasureRequest
    from profiler.tuning.records import Row, State
    from profiler.tuning.search import Tuning


def with_kept(
    options: CompileOptions, library: Callable[[], Library], device: str | None = None, database: str | None = None
) -> CompileOptions:
    """Options with the choices that were tuned for their target here. A database that cannot be read has none: whoever
    keeps something in it says what is the matter."""
    with contextlib.suppress(StoreError, UnavailableError):
        return replace(options, tuned=tuned_for(database, device, options.target, library))
    return options


def library_of(folders: Sequence[Path]) -> Library:
    """The library that a source with these folders of kernels is compiled with."""
    return load_library(*folders) if folders else default_library()


def tune_and_keep(
    tuning: Tuning, request: MeasureRequest, database: str | None, note: Callable[[str], object]
) -> Iterator[State]:
    """Tune, and keep what is proved as soon as it is; where that cannot be kept, it is noted once."""
    kept: dict[str, Row] = {}
    refused = False
    for state in tuning.run():
        for row in state.rows:
            if row.faster and kept.get(row.tunable.kernel) is not row and not refused:
                kept[row.tunable.kernel] = row
                try:
                    with open_store(database) as store:
                        keep_row(store, request, row)
                except StoreError as error:
                    refused = True
                    note(f"what was tuned is not kept: {error.message}")
        yield state


def keep_row(store: Store, request: MeasureRequest, row: Row) -> None:
    """Keep what was proved for a kernel on the device that it was measured on."""
    assert row.verdict is not None
    verdict, tunable = row.verdict, row.tunable
    kept = TunedRow(
        tunable.problem, tunable.kernel, request.source, request.options.target, tunable.defaults, row.best,
        row.definitions, request.dims, request.threads, verdict.ratio, verdict.low, verdict.high,
    )  # fmt: skip
    keep_tuned(store, machine_with(request.device), kept)


def tuned_for(
    database: Path | str | None, device: str | None, target: str, library: Callable[[], Library]
) -> tuple[Tuned, ...]:
    """The choices that were tuned on a device for a target, of kernels whose library is still the same.

    Without a device it is the one here that the target is of. Where there is no database there are none; one that
    cannot be read is an error, as it is for whoever runs.
    """
    path = default_path() if database is None else Path(database)
    if not path.is_file():
        return ()
    with open_store(path, create=False, readonly=True) as store:
        rows = tuned_rows(store, target=target)
    if not rows:  # the usual case, in which nobody has to find out what machine this is
        return ()
    here = {machine_with(each).fingerprint for each in ([device] if device else _devices_of(target))}
    mine, made = [row for row in rows if row.fingerprint in here], None
    if mine:
        made = library()
    return tuple(Tuned(row.problem, row.choices) for row in mine if made is not None and is_current(row, made))


def _devices_of(target: str) -> list[str]:
    """The devices here that a target's code is for."""
    if get_target(target).emission.in_process:
        return ["cpu"]
    from compiler.targets.nvptx import best_target
    from profiler.measure.devices import cuda_devices

    return [f"cuda:{number}" for number, card in enumerate(cuda_devices()) if best_target(card.target) == target]


def is_current(row: TunedRow, library: Library) -> bool:
    """Whether the definitions behind a kernel are those that it was tuned with."""
    return all(definition_digest(library, name, False) == digest for name, digest in row.definitions.items())
