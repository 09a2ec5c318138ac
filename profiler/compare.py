"""Two or more runs, or compilations, side by side: what differs around them, then each kernel by what it computes.

Kernels are matched by the hash of their graph ops, so names and edited sources do not matter. Where fusion made other
kernels of the same graph, those that share nodes are put together and their times added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from profiler.records import FINISHED, WHOLE, KernelRecord
from profiler.stats import BUSY_FLOOR, FLOOR, SAME, Summary, Verdict, compare_times, stated_test, summarise
from profiler.store import Store, queries

STAGES = ("source", "kgen", "kernel", "llvm", "llvm-opt", "asm")
MODEL_STAGES = ("mo", "mogg", "mgp")


@dataclass(frozen=True)
class Side:
    """One of the things compared; `run` is None when compilations are."""

    label: str
    run: Mapping[str, Any] | None
    compilation: Mapping[str, Any] | None
    machine: Mapping[str, Any]


@dataclass(frozen=True)
class Difference:
    """Something that is not the same on every side."""

    what: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class KernelComparison:
    """Kernels that compute the same: names and times on each side (None where it has none), verdicts against side 0.

    `matched` says by what: "what it computes", "shared nodes" or "one side only". `differs_at` is the first stage at
    which the IR of side 0 and the last side differs; empty if none does, None if it was not kept.
    """

    names: tuple[tuple[str, ...], ...]
    nodes: tuple[str, ...]
    matched: str
    times: tuple[Summary | None, ...]
    verdicts: tuple[Verdict | None, ...]
    differs_at: str | None


@dataclass(frozen=True)
class Comparison:
    """All of it. `break_even` is one line for each side after the first."""

    sides: tuple[Side, ...]
    differences: tuple[Difference, ...]
    warnings: tuple[str, ...]
    whole: tuple[Summary | None, ...]
    verdicts: tuple[Verdict | None, ...]
    kernels: tuple[KernelComparison, ...]
    stage_seconds: tuple[Mapping[str, float], ...]
    model_differs_at: str | None
    break_even: tuple[str, ...]
    test: str


def compare_runs(store: Store, runs: Sequence[int], *, floor: float | None = None) -> Comparison:
    """Finished runs side by side; the first is what the others are measured against."""
    if len(runs) < 2:
        raise ExecutionError("comparing takes at least two runs")
    sides = tuple(_run_side(store, run) for run in runs)
    times = [_Times(store, side) for side in sides]
    if floor is None:
        floor = max(_floor(side) for side in sides)
    verdicts = (
        None,
        *(compare_times(times[0].whole, t.whole, times[0].blocks, t.blocks, floor=floor) for t in times[1:]),
    )
    kernels = _kernels(store, sides, times, floor)
    return Comparison(
        sides, _differences(sides), _warnings(sides, times), tuple(t.summary for t in times), verdicts, kernels,
        tuple(_stage_seconds(store, side) for side in sides), _model_stage(store, sides),
        tuple(_break_even(sides[0], side, verdict) for side, verdict in zip(sides[1:], verdicts[1:])),
        stated_test(floor) + (" (a machine was busy)" if floor > FLOOR else ""),
    )  # fmt: skip


def compare_compilations(store: Store, compilations: Sequence[int]) -> Comparison:
    """Compilations side by side: options, time by stage, and where the IR first differs."""
    if len(compilations) < 2:
        raise ExecutionError("comparing takes at least two compilations")
    sides = tuple(_compilation_side(store, number) for number in compilations)
    nothing = (None,) * len(sides)
    return Comparison(
        sides, _differences(sides), (), nothing, nothing, _kernels(store, sides, None, FLOOR),
        tuple(_stage_seconds(store, side) for side in sides), _model_stage(store, sides), (), "",
    )  # fmt: skip


def _run_side(store: Store, run: int) -> Side:
    row = queries.run_row(store, run)
    if row["status"] != FINISHED:
        raise ExecutionError(
            f"run {run} is {row['status']}{': ' + row['error'] if row['error'] else ''}; it has no times"
        )
    compiled = queries.compilation_row(store, row["compilation"]) if row["compilation"] else None
    return Side(f"run {run}", row, compiled, queries.machine_row(store, row["machine"]))


def _compilation_side(store: Store, number: int) -> Side:
    row = queries.compilation_row(store, number)
    return Side(f"c{number}", None, row, queries.machine_row(store, row["machine"]))


class _Times:
    """The samples of a run, by launch and by kernel."""

    def __init__(self, store: Store, side: Side) -> None:
        assert side.run is not None
        run = side.run["id"]
        samples = queries.run_samples(store, run)
        self.blocks = tuple(side.run["conditions"].get("blocks", ()))
        self.whole = samples.get(WHOLE, np.zeros(0))
        if not self.whole.size:
            raise ExecutionError(f"run {run} has no samples")
        self.summary = summarise(self.whole, self.blocks)
        self.launches = queries.launches(store, run)
        self._samples = samples

    def of(self, names: Sequence[str]) -> np.ndarray | None:
        """Time a call of the model spends in these kernels."""
        chosen = [self._samples[x["position"]] for x in self.launches if x["kernel"] in names]
        return np.sum(chosen, axis=0) if chosen else None


def _differences(sides: Sequence[Side]) -> tuple[Difference, ...]:
    """Options, machine, versions, sizes: whatever is not equal everywhere."""
    tables = [_facts(side) for side in sides]
    names = dict.fromkeys(name for table in tables for name in table)
    found = []
    for name in names:
        values = tuple(table.get(name, "none") for table in tables)
        if len(set(values)) > 1:
            found.append(Difference(name, values))
    return tuple(found)


def _facts(side: Side) -> dict[str, str]:
    facts = {"machine": f"{side.machine['name']} ({side.machine['fingerprint']})"}
    if side.run is not None:
        run = side.run
        facts |= {name: str(run[name]) for name in ("source", "device", "seed")}
        facts["threads"] = str(run["conditions"].get("threads", run["threads"]))
        facts |= {f"dim {name}": str(size) for name, size in run["dims"].items()}
        facts["buffer sets"] = str(run["conditions"].get("buffer_sets", "?"))
    if side.compilation is not None:
        compiled = side.compilation
        facts |= {name: str(compiled[name]) for name in ("target", "flow", "opt_level", "debug")}
        facts["graph"] = f"{compiled['graph_name']} {compiled['graph_hash'][:8]}"
        hits = compiled["stats"].get("cache", {}).get("hits")
        facts["kernels taken from the cache"] = "?" if hits is None else str(hits)
        facts |= {f"version of {name}": text for name, text in compiled["versions"].items()}
        for name, value in compiled["options"].items():
            facts[name] = f"{len(value)} edited" if name == "sources" and value else str(value)
    return facts


def _warnings(sides: Sequence[Side], times: Sequence[_Times]) -> tuple[str, ...]:
    found = []
    if len({side.machine["fingerprint"] for side in sides}) > 1:
        found.append("these runs are from unlike machines: verdicts tell the machines apart, not the programs")
    for name in ("dims", "threads", "device"):
        if len({str(side.run[name]) for side in sides if side.run}) > 1:
            found.append(f"these runs differ in {name}: their times are of different work")
    for side, taken in zip(sides, times):
        assert side.run is not None
        found += [f"{side.label}: {note}" for note in _busy(side)]
        if len(taken.blocks) < 5:
            found.append(f"{side.label}: only {len(taken.whole)} calls were timed; more repeats would tell more")
    return tuple(found)


def _busy(side: Side) -> list[str]:
    """The notes that say that other programs ran meanwhile."""
    notes = side.run["conditions"].get("notes", ()) if side.run else ()
    return [note for note in notes if "busy" in note or "other programs" in note]


def _floor(side: Side) -> float:
    """The smallest difference to call: none that other programs could have made by taking the processor away."""
    assert side.run is not None
    share = side.run["conditions"].get("processor_share", 1.0)
    busy = BUSY_FLOOR if _busy(side) else FLOOR
    return max(busy, 1 / max(share, 0.1) - 1) if share < 0.9 else busy


def _kernels(
    store: Store, sides: Sequence[Side], times: Sequence[_Times] | None, floor: float
) -> tuple[KernelComparison, ...]:
    tables = [queries.kernels(store, s.compilation["id"]) if s.compilation else [] for s in sides]
    indexes = [queries.stage_index(store, s.compilation["id"]) if s.compilation else {} for s in sides]
    found = []
    for group, matched in _groups(tables):
        names = tuple(tuple(kernel.name for kernel in part) for part in group)
        summaries, verdicts = [], []
        first = times[0].of(names[0]) if times else None
        for number, part in enumerate(names):
            taken = times[number].of(part) if times and part else None
            summaries.append(summarise(taken, times[number].blocks) if times and taken is not None else None)
            if times and number and taken is not None and first is not None:
                verdicts.append(compare_times(first, taken, times[0].blocks, times[number].blocks, floor=floor))
            else:
                verdicts.append(None)
        nodes = tuple(dict.fromkeys(node for part in group for kernel in part for node in kernel.nodes))
        differs = _first_stage(store, group, indexes) if matched == "what it computes" else None
        found.append(KernelComparison(names, nodes, matched, tuple(summaries), tuple(verdicts), differs))
    return tuple(found)


Group = tuple[list[KernelRecord], ...]


def _groups(tables: Sequence[list[KernelRecord]]) -> list[tuple[Group, str]]:
    """Kernels that belong together: the same key on every side, then what is left by shared nodes."""
    found: list[tuple[Group, str]] = []
    left = [list(table) for table in tables]
    for key in dict.fromkeys(kernel.key for table in tables for kernel in table):
        group = tuple([kernel for kernel in table if kernel.key == key] for table in tables)
        if all(group):
            found.append((group, "what it computes"))
            left = [[kernel for kernel in table if kernel.key != key] for table in left]
    while any(left):
        seed = next(kernel for table in left for kernel in table)
        nodes = set(seed.nodes)
        while True:  # grow until no further kernel shares a node
            taken = [[kernel for kernel in table if nodes & set(kernel.nodes)] for table in left]
            grown = nodes.union(*(kernel.nodes for part in taken for kernel in part))
            if grown == nodes:
                break
            nodes = grown
        if not nodes:
            taken = [[seed] if seed in table else [] for table in left]
        group = tuple(taken)
        found.append((group, "shared nodes" if all(group) else "one side only"))
        left = [[kernel for kernel in table if kernel not in part] for table, part in zip(left, taken)]
    return found


def _first_stage(store: Store, group: Group, indexes: Sequence[dict[tuple[str, str], int]]) -> str | None:
    """The first stage at which the kernel's IR differs between the first and the last side."""
    one, two = group[0][0], group[-1][0]
    seen = False
    for stage in STAGES:
        if stage == "source":
            if one.source.replace(one.name, "kernel") != two.source.replace(two.name, "kernel"):
                return "source"
            continue
        first, second = indexes[0].get((one.name, stage)), indexes[-1].get((two.name, stage))
        if first is None or second is None:
            continue
        seen = True
        if first != second and not (one.name != two.name and _same_but_name(store, first, one, second, two)):
            return stage
    return "" if seen else None


def _same_but_name(store: Store, first: int, one: KernelRecord, second: int, two: KernelRecord) -> bool:
    from profiler.store.texts import get_text

    return get_text(store, first).replace(one.name, "kernel") == get_text(store, second).replace(two.name, "kernel")


def _model_stage(store: Store, sides: Sequence[Side]) -> str | None:
    first, last = sides[0].compilation, sides[-1].compilation
    if first is None or last is None:
        return None
    if first["graph_hash"] != last["graph_hash"]:
        return "graph"
    one, two = queries.stage_index(store, first["id"]), queries.stage_index(store, last["id"])
    known = [stage for stage in MODEL_STAGES if ("", stage) in one and ("", stage) in two]
    for stage in known:
        if one["", stage] != two["", stage]:
            return stage
    return "" if known else None


def _stage_seconds(store: Store, side: Side) -> dict[str, float]:
    if side.compilation is None:
        return {}
    totals: dict[str, float] = {}
    for record in queries.passes(store, side.compilation["id"]):
        totals[record.stage] = totals.get(record.stage, 0.0) + record.seconds
    return totals


def _break_even(a: Side, b: Side, verdict: Verdict | None) -> str:
    """After how many calls longer compiling has paid off."""
    if a.compilation is None or b.compilation is None or a.run is None or b.run is None or verdict is None:
        return "no compilations to weigh against the runs"
    extra = b.compilation["seconds"] - a.compilation["seconds"]
    saved = a.run["median"] - b.run["median"]
    if verdict.verdict == SAME:
        return "no measurable difference per call, so compile time decides: " + (
            f"{a.label} compiles {extra:.3g} s faster" if extra > 0 else f"{b.label} compiles {-extra:.3g} s faster"
        )
    if extra > 0 and saved > 0:
        return _even(b, extra, saved)
    if extra < 0 and saved < 0:
        return _even(a, -extra, -saved)
    winner = b if saved > 0 else a
    return f"{winner.label} compiles no slower and runs faster: it pays from the first call"


def _even(side: Side, extra: float, saved: float) -> str:
    words = f"{side.label} compiles {extra:.3g} s longer and saves {saved:.3g} s a call"
    return f"{words}: even after {extra / saved:,.0f} calls"


def slower_than(comparison: Comparison, share: float) -> list[str]:
    """What a CI job should stop at: sides measurably slower than the first by more than `share`, in words."""
    found = []
    for side, verdict in zip(comparison.sides[1:], comparison.verdicts[1:]):
        if verdict is not None and verdict.verdict == "slower" and verdict.ratio > 1 + share:
            words = f"{side.label} is {verdict.ratio - 1:.1%} slower than {comparison.sides[0].label}"
            found.append(f"{words} (interval {verdict.low - 1:+.1%} to {verdict.high - 1:+.1%})")
    return found
