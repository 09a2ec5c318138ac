"""Two stored runs as something to be bisected: for the command line and for the window's worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.errors import ExecutionError

if TYPE_CHECKING:
    from profiler.bisecting import Found, Subject
    from profiler.store import Store

EITHER, KINDS = "either", ("either", "wrong", "slow")


class NothingToFind(ExecutionError):
    """Neither of the runs is worse than the other: an answer, for who did not know it."""


def subject_of(store: Store, run: int, bound: float | None = None) -> Subject:
    """A run with the results it should have; `bound` is by its graph's dtypes where none is given."""
    from app.checking import error_bound
    from app.inputs import as_values, graph_sizes, random_inputs
    from compiler import reference
    from compiler.graph.types import OpaqueType
    from profiler.bisecting import Subject
    from profiler.measure.in_turns import stored_contender

    request, graph = stored_contender(store, run)
    if any(isinstance(kind, OpaqueType) for kind in graph.output_types):
        raise ExecutionError(f"run {run} gives opaque values; bisecting compares tensors, `run --check` both")
    arrays = random_inputs(graph, graph_sizes(graph, request.dims, {}), request.seed, request.libraries)
    expected = reference(graph, *as_values(graph, [array.copy() for array in arrays], request.libraries))
    return Subject(request, graph, arrays, expected, error_bound(graph) if bound is None else bound)


def why_not_slower(store: Store, runs: Sequence[int]) -> str:
    """Empty where the last is measurably slower than the first, and of the same graph; else which of it is not so."""
    from profiler.analysis.compare import compare_runs
    from profiler.analysis.verdicts import SLOWER
    from profiler.store import queries

    made = [queries.run_row(store, run)["compilation"] for run in runs]
    if len({number and queries.compilation_row(store, number)["graph_hash"] for number in made}) > 1:
        return f"run {runs[0]} is of another graph than run {runs[-1]}, so which is slower says nothing of a pass"
    verdict = compare_runs(store, runs).verdicts[-1]
    slower = verdict is not None and verdict.verdict == SLOWER
    return "" if slower else f"run {runs[-1]} is not measurably slower than run {runs[0]}"


def search(subject: Subject, runs: Sequence[int], kind: str, *, not_slower: str, most: int) -> Iterator[Found]:
    """What is known after each compilation, of what makes the last run wrong, or else slower than the first.

    `not_slower` says why the latter is not looked for, as of `why_not_slower`.
    """
    from profiler.bisecting import SLOW, WRONG, bisect

    found: Found | None = None
    for looked_for in (WRONG, SLOW) if kind == EITHER else (kind,):
        if looked_for == SLOW and not_slower:
            if kind == SLOW:
                raise ExecutionError(not_slower)
            break
        for found in bisect(subject, looked_for, most):
            yield found
        if found is not None and found.suspects:
            return
    if found is None or (not found.suspects and kind == EITHER and not_slower and found.right):
        raise NothingToFind(f"run {runs[-1]} gives right results now, and {not_slower}: nothing to find")


def trial_words(found: Found) -> str:
    """The latest trial in a line."""
    trial = found.trials[-1]
    out = len(trial.left_out)
    named = f"without {trial.left_out[0] if out == 1 else f'{out} of them'}" if out else "as it is"
    return f"{len(found.trials)}. {named}: {trial.words}; {len(found.suspects)} suspects left"
