"""Two runs measured in turns: in pairs of new processes, and which of the two comes first is drawn for each pair.

A machine gets faster and slower while it is measured. Runs made one after the other cannot tell that from a difference
between the programs; runs made in turns can, because whatever changes, changes for both. On a CPU the processes of a
pair live at the same time and take turns block by block (`rounds`); on a card one comes after the other.
"""

from __future__ import annotations

import json
import secrets
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from compiler.cache import producer_versions
from compiler.errors import ExecutionError
from compiler.graph.graph import Graph
from profiler.keeping import Begun, Kept, begin_together, give_up, keep_together
from profiler.measure.machine import machine_with
from profiler.measure.measuring import measure_once
from profiler.measure.outcome import Outcome, with_conditions
from profiler.measure.processes import MORE, is_steady, joined, process_requests
from profiler.measure.rounds import Measured, measured_by_rounds
from profiler.records import FAILED, FINISHED, INTERRUPTED, Machine, MeasureRequest, request_from_json
from profiler.store import Store, StoreError, queries

_NAMES = ("the first", "the second")
_COPIES = 4
PAIRS = 8
"""Enough for an exact test: by chance all pairs agree in 1 of 128 comparisons."""


@dataclass(frozen=True, eq=False)
class Contender:
    """One side: what to run, on what."""

    request: MeasureRequest
    graph: Graph
    arrays: Sequence[np.ndarray]
    commit: str = ""
    """Of the source that a stored run was made from, where it is known."""
    machine: Machine | None = None
    """Where it runs, if that is not this machine."""
    measure_once: Callable[..., Outcome] = measure_once
    """Measures in one process there, as `measuring.measure_once` does on this machine."""
    by_rounds: bool = True
    """Whether its processes can live beside those of the other side."""


def stored_contender(store: Store, run: int) -> tuple[MeasureRequest, Graph]:
    """What is needed to make a stored run again: its request and its graph."""
    from compiler.importers.mlir_text import parse_graph

    row = queries.run_row(store, run)
    if not row["compilation"]:
        raise ExecutionError(f"run {run} never compiled, so it cannot be made again")
    compiled = queries.compilation_row(store, row["compilation"])
    if compiled["versions"] != producer_versions():
        raise ExecutionError(f"run {run} was compiled by other versions; it cannot be made again here")
    request = request_from_json(json.dumps(row["request"]))
    return request, parse_graph(compiled["graph_text"], request.source)


@dataclass(frozen=True, eq=False)
class Turned:
    """Both runs made in turns, and where they are kept."""

    begun: tuple[Begun, ...]
    outcomes: tuple[Outcome, ...]
    kept: Kept


def run_in_turns(
    store: Store, contenders: tuple[Contender, Contender], pairs: int = PAIRS, *,
    progress: Callable[[str], None] = lambda words: None, cancelled: Callable[[], bool] = lambda: False,
) -> tuple[int, int]:  # fmt: skip
    """Measure both in turns and keep them here; their numbers. Where they are kept aside, the error says so."""
    kept = turned(store, contenders, pairs, progress=progress, cancelled=cancelled).kept
    if kept.note:
        raise StoreError(kept.note)
    return kept.runs[0], kept.runs[1]


def turned(
    store: Store, contenders: tuple[Contender, Contender], pairs: int = PAIRS, *,
    progress: Callable[[str], None] = lambda words: None, cancelled: Callable[[], bool] = lambda: False,
) -> Turned:  # fmt: skip
    """Measure both in `pairs` pairs of processes and keep them as two runs of one session, aside if need be.

    Pairs of which one had no undisturbed calls are made up for, within reason: whether one had says nothing about which
    side is faster. If one fails, both are kept as failed runs and the error says why.
    """
    asked = [replace(side.request, processes=pairs, repeat=None) for side in contenders]
    machines = [side.machine or machine_with(side.request.device) for side in contenders]
    begun = begin_together(store, asked, machines)
    by_rounds = all(side.by_rounds and side.request.device == "cpu" for side in contenders) and _have_room(contenders)
    order: list[int] = []
    steady = 0
    taken: tuple[list[Outcome], list[Outcome]] = [], []
    try:
        parts = [process_requests(request) for request in asked]
        most = MORE * pairs if pairs >= PAIRS else pairs  # fewer are no test, so that more are not worth their time
        while steady < pairs and len(order) < most:
            number, first = len(order), secrets.randbelow(2)
            order.append(first)
            more = f"at most {most}, as {number - steady} were disturbed"
            progress(f"pair {number + 1} of {pairs if number < pairs else more}")
            each = [requests[min(number, pairs - 1)] for requests in parts]
            made = _pair_by_rounds if by_rounds else _pair_by_processes
            for side, outcome in zip((0, 1), made(contenders, each, first, not number, cancelled)):
                taken[side].append(outcome)
            steady += all(is_steady(outcomes[-1].result) for outcomes in taken)
    except BaseException as error:
        status = FAILED if isinstance(error, ExecutionError) and not cancelled() else INTERRUPTED
        for each in begun:
            give_up(each, error, status)
        raise
    session = {"session": uuid.uuid4().hex, "first": order, "rounds": by_rounds}
    known = [{"turns": session} | ({"commit": side.commit} if side.commit else {}) for side in contenders]
    outcomes = tuple(with_conditions(joined(taken[at], asked[at]), **known[at]) for at in (0, 1))
    return Turned(begun, outcomes, keep_together(begun, outcomes))


def _have_room(contenders: Sequence[Contender]) -> bool:
    """Whether both sides fit into what memory there is: each has its inputs, what it was handed, and copies of them."""
    import psutil

    needed = sum(_COPIES * array.nbytes for side in contenders for array in side.arrays)
    return needed < psutil.virtual_memory().available


def _pair_by_processes(
    contenders: tuple[Contender, Contender], each: Sequence[MeasureRequest], first: int, texts: bool,
    cancelled: Callable[[], bool],
) -> list[Outcome]:  # fmt: skip
    """Both sides, one after the other."""
    found: dict[int, Outcome] = {}
    for side in (first, 1 - first):
        made = contenders[side]
        found[side] = made.measure_once(
            each[side], made.graph, made.arrays, texts=texts, brief=not texts, cancelled=cancelled
        )
        _check(found[side], _NAMES[side])
    return [found[0], found[1]]


def _pair_by_rounds(
    contenders: tuple[Contender, Contender], each: Sequence[MeasureRequest], first: int, texts: bool,
    cancelled: Callable[[], bool],
) -> list[Outcome]:  # fmt: skip
    """Both sides, block by block."""

    def measured(side: int) -> Measured:
        made = contenders[side]
        return lambda turn, unwanted: made.measure_once(
            each[side], made.graph, made.arrays, texts=texts, brief=not texts, cancelled=unwanted, turn=turn
        )

    found = measured_by_rounds([measured(0), measured(1)], sum(one.budget for one in each), first, cancelled)
    for outcome, name in zip(found, _NAMES):
        _check(outcome, name)
    return found


def _check(outcome: Outcome, which: str) -> None:
    if outcome.error is not None or outcome.result.status != FINISHED:
        raise ExecutionError(f"{which} run failed: it {outcome.error or outcome.result.error}")
