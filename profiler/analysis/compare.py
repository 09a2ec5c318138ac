"""Two or more runs, or compilations, side by side: what differs around them, then each kernel by what it computes.

Kernels are matched by the hash of their graph ops, so names and edited sources do not matter. Where fusion made other
kernels of the same graph, those that share nodes are put together and their times added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from compiler.errors import ExecutionError
from compiler.options import LLVM_PASS
from profiler.analysis.comparison import Comparison, Difference, KernelComparison, Side
from profiler.analysis.comparison_warnings import kernel_warnings, run_warnings
from profiler.analysis.heat import changed_lines
from profiler.analysis.matching import first_stage, groups, model_stage
from profiler.analysis.statistics import summarise
from profiler.analysis.undisturbed import Times, yardsticks_of
from profiler.analysis.verdicts import CANNOT_TELL, SAME, Verdict, compare_family, compare_times, stated
from profiler.records import FINISHED, LOST, LOST_TRACED, WHOLE
from profiler.store import Store, queries
from profiler.store.finished import finished_samples
from profiler.store.sampled import sampling


def compare_runs(store: Store, runs: Sequence[int]) -> Comparison:
    """Finished runs side by side; the first is what the others are measured against."""
    if len(runs) < 2:
        raise ExecutionError("comparing takes at least two runs")
    sides = tuple(_run_side(store, run) for run in runs)
    times = [_Times(store, side, side.machine["fingerprint"] == sides[0].machine["fingerprint"]) for side in sides]
    turns = [_turns(sides[0], side) for side in sides]
    verdicts = (
        None,
        *(compare_times(times[0].whole, t.whole, **turn) for t, turn in zip(times[1:], turns[1:])),
    )
    kernels = _kernels(store, sides, times, turns)
    taken = [(t.summary, len(t.blocks)) for t in times]
    warnings = (*run_warnings(sides, taken, verdicts), *kernel_warnings(sides, kernels))
    return Comparison(
        sides, _differences(sides), warnings, tuple(t.summary for t in times), verdicts,
        kernels, tuple(_stage_seconds(store, side) for side in sides), model_stage(store, sides),
        tuple(_break_even(sides[0], side, verdict) for side, verdict in zip(sides[1:], verdicts[1:])),
        stated([verdict.method for verdict in verdicts if verdict]),
        changed_lines([sampling(store, run) for run in runs]),
    )  # fmt: skip


def _turns(a: Side, b: Side) -> dict[str, bool]:
    """Whether two runs were measured alternately, process by process, and whether those took turns block by block: as
    what compares them takes it."""
    said = [side.run["conditions"].get("turns", {}) if side.run else {} for side in (a, b)]
    turns = "session" in said[0] and said[0]["session"] == said[1].get("session")
    return {"turns": turns, "rounds": turns and all(each.get("rounds", False) for each in said)}


def compare_compilations(store: Store, compilations: Sequence[int]) -> Comparison:
    """Compilations side by side: options, time by stage, and where the IR first differs."""
    if len(compilations) < 2:
        raise ExecutionError("comparing takes at least two compilations")
    sides = tuple(_compilation_side(store, number) for number in compilations)
    nothing = (None,) * len(sides)
    return Comparison(
        sides, _differences(sides), (), nothing, nothing, _kernels(store, sides, None, ()),
        tuple(_stage_seconds(store, side) for side in sides), model_stage(store, sides), (), "",
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
    """The samples of a run, by launch and by kernel; `measured_alike` tells whether yardsticks mean something: between
    unlike machines they differ as all else does."""

    def __init__(self, store: Store, side: Side, measured_alike: bool) -> None:
        assert side.run is not None
        run = side.run["id"]
        self.launches = queries.launches(store, run)
        samples = finished_samples(store, side.run, self.launches)
        conditions = side.run["conditions"]
        self.blocks = tuple(conditions.get("blocks", ()))
        self.processes = tuple(conditions.get("processes", ()))
        self.threads = int(conditions.get("threads") or 1)
        self.yardsticks = yardsticks_of(conditions) if measured_alike else ()
        self.whole = Times(
            samples[WHOLE], self.blocks, self.processes, samples.get(LOST), self.threads, yardsticks=self.yardsticks
        )
        self.summary = summarise(samples[WHOLE], self.blocks, self.processes)
        self._samples = samples

    def of(self, names: Sequence[str]) -> Times | None:
        """Time a call of the model spends in these kernels."""
        chosen = [self._samples[x["position"]] for x in self.launches if x["kernel"] in names]
        if not chosen:
            return None
        taken = np.sum(chosen, axis=0)
        lost = self._samples.get(LOST_TRACED)
        return Times(taken, self.blocks, self.processes, lost, self.threads, self._traced, self.yardsticks)

    @cached_property
    def _traced(self) -> np.ndarray:
        """Time of each traced call, which is what lost time is a share of."""
        return np.sum([self._samples[x["position"]] for x in self.launches], axis=0)


def _differences(sides: Sequence[Side]) -> tuple[Difference, ...]:
    """Options, machine, versions, sizes: whatever is not equal everywhere."""
    tables = [_facts(side) for side in sides]
    names = dict.fromkeys(name for table in tables for name in table)
    found = (Difference(name, tuple(table.get(name, "none") for table in tables)) for name in names)
    return tuple(each for each in found if len(set(each.values)) > 1)


def _facts(side: Side) -> dict[str, str]:
    facts = {"machine": f"{side.machine['name']} ({side.machine['fingerprint']})"}
    if side.run is not None:
        run = side.run
        facts |= {name: str(run[name]) for name in ("source", "device", "seed")}
        facts["threads"] = str(run["conditions"].get("threads", run["threads"]))
        facts |= {f"dim {name}": str(size) for name, size in run["dims"].items()}
        noted = run["conditions"]
        facts |= {name: str(noted[name]) for name in ("nice", "affinity", "governor") if name in noted}
        if "pinned" in noted:
            facts["threads pinned to"] = ", ".join(map(str, noted["pinned"])) or "none"
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


def _kernels(
    store: Store, sides: Sequence[Side], times: Sequence[_Times] | None, turns: Sequence[Mapping[str, bool]]
) -> tuple[KernelComparison, ...]:
    tables = [queries.kernels(store, s.compilation["id"]) if s.compilation else [] for s in sides]
    indexes = [queries.stage_index(store, s.compilation["id"]) if s.compilation else {} for s in sides]
    together = groups(tables)
    names = [tuple(tuple(kernel.name for kernel in part) for part in group) for group, _ in together]
    taken = [[times[at].of(part) if times and part else None for at, part in enumerate(each)] for each in names]
    verdicts = [[None] * len(sides) for _ in together] if times is None else _kernel_verdicts(taken, turns)
    found = []
    for (group, matched), each, row, judged in zip(together, names, taken, verdicts):
        summaries = tuple(summarise(t.values, t.blocks, t.processes) if t is not None else None for t in row)
        nodes = tuple(dict.fromkeys(node for part in group for kernel in part for node in kernel.nodes))
        differs = first_stage(store, group, indexes) if matched == "what it computes" else None
        found.append(KernelComparison(each, nodes, matched, summaries, tuple(judged), differs))
    return tuple(found)


def _kernel_verdicts(
    taken: Sequence[Sequence[Times | None]], turns: Sequence[Mapping[str, bool]]
) -> list[list[Verdict | None]]:
    """Every kernel of every side against side 0; the kernels of one side are a family."""
    found: list[list[Verdict | None]] = [[None] * len(turns) for _ in taken]
    for side in range(1, len(turns)):
        pairs: dict[int, tuple[Times, Times]] = {}
        for number, row in enumerate(taken):
            first, other = row[0], row[side]
            if first is not None and other is not None:
                pairs[number] = first, other
        for number, verdict in zip(pairs, compare_family(list(pairs.values()), **turns[side])):
            found[number][side] = verdict
    return found


def _stage_seconds(store: Store, side: Side) -> dict[str, float]:
    if side.compilation is None:
        return {}
    totals: dict[str, float] = {}
    for record in queries.passes(store, side.compilation["id"]):
        if record.stage == LLVM_PASS:  # part of the stage `machine`
            continue
        totals[record.stage] = totals.get(record.stage, 0.0) + record.seconds
    return totals


def _break_even(a: Side, b: Side, verdict: Verdict | None) -> str:
    """After how many calls longer compiling has paid off."""
    if a.compilation is None or b.compilation is None or a.run is None or b.run is None or verdict is None:
        return "no compilations to weigh against the runs"
    loaded = [side.label for side in (a, b) if _from_file(side)]
    cached = [side.label for side in (a, b) if _from_cache(side) and side.label not in loaded]
    where = [f"{' and '.join(cached)} came from the cache, in part or whole"] if cached else []
    where += [f"{' and '.join(loaded)} came compiled from a file"] if loaded else []
    if where:
        words = f"{', '.join(where)}, so compile times are not compared"
        return f"{words}; `compile --no-cache --repeat 5` measures them"
    extra = b.compilation["seconds"] - a.compilation["seconds"]
    saved = a.run["median"] - b.run["median"]
    if verdict.verdict == CANNOT_TELL:
        return "whether a call takes longer cannot be told, so nothing is weighed against compile time"
    if verdict.verdict == SAME:
        quicker, less = (a, extra) if extra > 0 else (b, -extra)
        words = (
            f"no measurable difference per call, so compile time decides: {quicker.label} compiled {less:.3g} s faster"
        )
        return f"{words}, {_ONCE}"
    if extra > 0 and saved > 0:
        return _even(b, extra, saved)
    if extra < 0 and saved < 0:
        return _even(a, -extra, -saved)
    winner = b if saved > 0 else a
    return f"{winner.label} compiled no slower and runs faster: it pays from the first call ({_ONCE})"


_ONCE = "each compiled once; `compile --no-cache --repeat 5` tells how far that varies"


def _from_cache(side: Side) -> bool:
    """Whether any of a side's kernels was not compiled but found."""
    return bool(side.compilation and side.compilation["stats"].get("cache", {}).get("hits"))


def _from_file(side: Side) -> bool:
    """Whether a side is a saved model, whose seconds are those of reading it."""
    return bool(side.run and side.run["request"].get("artifact"))


def _even(side: Side, extra: float, saved: float) -> str:
    words = f"{side.label} compiled {extra:.3g} s longer and saves {saved:.3g} s a call"
    return f"{words}: even after {extra / saved:,.0f} calls ({_ONCE})"
