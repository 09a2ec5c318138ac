"""Flows as they are measured: which cells are wanted, which are done, and the document that tables are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.flows import tables as flow_tables
from app.flows.cells import BASE, Cell, Measured, Request, Sample, cells
from app.viewmodels.frame.event import Event
from app.viewmodels.requests import FlowsRequest

WAITING, RUNNING, DONE, STOPPED = "waiting", "running", "done", "stopped"
DISTURBED = "disturbed"  # done, while something else took the machine
FIGURES = ("user_s", "system_s", "elapsed_s", "cpu_percent", "peak_bytes", "spread", "compile_s", "first_result_s")
COMPILED, FIRST_RESULT = "compiled", "first result"
ENDS = (COMPILED, FIRST_RESULT)
"""Up to where a process is measured: until its model is compiled, or until that has run once."""


@dataclass(frozen=True)
class FlowRow:
    """One cell and what is known of it; `figures` is empty until it has been measured once.

    `time_ratio` is of user + system time; of a cell that runs, of the time to the first result.
    """

    cell: Cell
    state: str
    taken: int
    wanted: int
    figures: dict[str, Any]
    time_ratio: float | None = None
    memory_ratio: float | None = None

    @property
    def progress(self) -> str:
        """How far it is, in words."""
        if self.state in (DONE, DISTURBED):
            return f"{self.taken}\u00d7" + (f", {DISTURBED}" if self.state == DISTURBED else "")
        return self.state if not self.taken else f"{self.state}, {self.taken} of {self.wanted}"


class FlowsModel:
    """Cells in the order they were asked for; measuring one again replaces its samples and leaves the others."""

    def __init__(self) -> None:
        self.changed = Event()
        self.request: FlowsRequest | None = None
        self.machine, self.cores = "", 1
        self.running: Cell | None = None
        self.active = False
        self.interrupted = False
        self._base: Sample | None = None
        self._samples: dict[Cell, list[Sample]] = {}
        self._repeats: dict[Cell, int] = {}
        self._round: tuple[Cell, ...] = ()
        self._fresh: set[Cell] = set()
        self._disturbed: set[Cell] = set()
        self._stored: dict[str, Any] | None = None  # a table that was measured before, and kept

    def begin(self, request: FlowsRequest) -> None:
        """Cells will be measured. Those of another source or target are forgotten, others are kept beside them."""
        self._stored = None
        same = self.request is not None and (self.request.source, self.request.options.target) == (
            request.source, request.options.target,
        )  # fmt: skip
        if not same:
            self._samples, self._base = {}, None
        self.request, self.active, self.interrupted, self._round = request, True, False, request.cells
        for cell in request.cells:
            self._repeats[cell] = request.repeat
            if cell not in self._samples:
                self._samples[cell] = []
        self._fresh = set(request.cells)
        self._disturbed -= self._fresh
        self.changed.emit()

    def disturb(self) -> None:
        """Something else takes the machine now: the cell that is being measured is marked."""
        if self.running is not None and self.running not in self._disturbed:
            self._disturbed.add(self.running)
            self.changed.emit()

    def take(self, cell: Cell, sample: Sample | None) -> None:
        """A cell began (no sample) or ended; the base comes first."""
        if cell == BASE:
            self._base = sample
        elif sample is None:
            self.running = cell
        else:
            if cell in self._fresh:  # what was measured before stays on show until its successor is there
                self._fresh.discard(cell)
                self._samples[cell] = []
            self._samples[cell].append(sample)
        self.changed.emit()

    def end(self, interrupted: bool = False) -> None:
        """Nothing more comes; what is finished stays."""
        self.running, self.active, self.interrupted = None, False, interrupted
        self.changed.emit()

    def load(self, document: dict[str, Any]) -> None:
        """Show a table that was kept in place of what was measured here."""
        self._samples, self._base, self._disturbed, self.running, self.active = {}, None, set(), None, False
        self._stored, self.request, self.interrupted = document, None, bool(document.get("interrupted"))
        self.changed.emit()

    def rows(self) -> list[FlowRow]:
        """Every cell that was asked for, in the order of its settings."""
        document = self.document() or {"cells": (), "start_up": ()}
        found = {_key(entry): entry for entry in (*document["cells"], *document["start_up"])}
        if self._stored is not None:
            return [_stored_row(cell, entry) for cell, entry in sorted(found.items(), key=lambda item: _order(item[0]))]
        rows = []
        for cell, samples in sorted(self._samples.items(), key=lambda item: _order(item[0])):
            entry = found.get(cell)
            figures = {name: entry[name] for name in FIGURES} if entry and samples else {}
            ratios = (_time_ratio(entry), entry.get("memory_ratio")) if entry else (None, None)
            rows.append(FlowRow(cell, self._state(cell), len(samples), self._repeats[cell], figures, *ratios))
        return rows

    def document(self) -> dict[str, Any] | None:
        """What was measured so far, as `kernelglass flows --json` gives it; None while there is nothing."""
        if self._stored is not None:
            return self._stored
        if self._base is None or self.request is None or not any(self._samples.values()):
            return None
        measured = Measured(
            Request(self.request.source, self.request.options), self.request.repeat,
            self._base, dict(sorted(self._samples.items(), key=lambda item: _order(item[0]))), self.interrupted,
        )  # fmt: skip
        return flow_tables.document(measured, self.machine, self.cores, self._disturbed)

    def text(self, kind: str) -> str:
        """The table in one of the formats of the command line: text, md, csv, json."""
        found = self.document()
        if found is None:
            return ""
        made = flow_tables.WRITERS[kind](found)
        return made if made.endswith("\n") else made + "\n"

    def _state(self, cell: Cell) -> str:
        if self.active and cell == self.running:
            return RUNNING
        taken = len(self._samples[cell])
        done = DISTURBED if cell in self._disturbed else DONE
        if taken >= self._repeats[cell] and not (self.active and cell in self._fresh):
            return done
        if self.active and cell in self._round:
            return WAITING
        return done if taken else STOPPED


def wanted_cells(
    levels: Sequence[int], debugs: Sequence[str], caches: Sequence[str], ends: Sequence[str]
) -> list[Cell]:
    """The cells of `kernelglass flows` for these choices."""
    listed = cells(levels, debugs, start_up=FIRST_RESULT in ends)
    return [cell for cell in listed if cell.cache in caches and (cell.execute or COMPILED in ends)]


def no_first_result(target: str, unsized: Sequence[str]) -> str:
    """Why what is compiled cannot be run at once, and what to do about it; empty where it can."""
    if target != "cpu":
        return f"code for {target} has no first result here: choose until code, or the CPU"
    if unsized:
        sizes = ", ".join(f'"{name}": 256' for name in unsized)
        return f"there is no first result without sizes: write them into the source, as in DIMS = {{{sizes}}}"
    return ""


def _key(entry: dict[str, Any]) -> Cell:
    return Cell(entry["flow"], entry["opt_level"], entry["debug"], entry["cache"], entry["execute"])


def _stored_row(cell: Cell, entry: dict[str, Any]) -> FlowRow:
    state, repeats = DISTURBED if entry.get("disturbed") else DONE, int(entry.get("repeats") or 1)
    figures = {name: entry.get(name) for name in FIGURES}
    return FlowRow(cell, state, repeats, repeats, figures, _time_ratio(entry), entry.get("memory_ratio"))


def _time_ratio(entry: dict[str, Any]) -> float | None:
    return entry["start_ratio"] if entry["execute"] else entry["time_ratio"]


def _order(cell: Cell) -> tuple[bool, int, bool, bool, bool]:
    """What only compiles first, then flows beside each other."""
    return cell.execute, cell.opt_level, cell.debug != "none", cell.cache != "cold", cell.flow != "per-kernel"
