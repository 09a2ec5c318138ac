"""`kernelglass bisect A B`: which fusion or pass makes run B wrong, or slower than run A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli.options import json_option, store_option
from app.cli.output import print_json, say

if TYPE_CHECKING:
    from profiler.bisecting import Found, Subject
    from profiler.store import Store

_KINDS = ("either", "wrong", "slow")
_LINES = 40


@click.command("bisect")
@click.argument("a", metavar="A", shell_complete=completing.runs)
@click.argument("b", metavar="B", shell_complete=completing.runs)
@click.option("--kind", default="either", type=click.Choice(_KINDS), show_default=True,
              help="Look for what makes results wrong, or for what makes it slower than A.")  # fmt: skip
@click.option("--bound", type=click.FloatRange(0, min_open=True), metavar="X",
              help="The relative error from which a result is wrong; by the graph's dtypes by default.")  # fmt: skip
@click.option("--most", default=12, type=click.IntRange(2, 1000), metavar="N", show_default=True,
              help="Compilations to make at most.")  # fmt: skip
@store_option
@json_option
def command(a: str, b: str, kind: str, bound: float | None, most: int, db: str | None, as_json: bool) -> None:
    """Find the fusion, kernel pass or LLVM pass that makes run B wrong, or slower than run A.

    Half of them are left out at a time. Ctrl+C ends it with what is known by then.
    """
    from compiler.errors import ExecutionError
    from profiler.bisecting import SLOW, WRONG, bisect
    from profiler.store import open_store, queries

    with open_store(db, create=False) as store:
        runs = [queries.find_run(store, words) for words in (a, b)]
        subject = _subject(store, runs[1], bound)
        slower = kind != "wrong" and _slower(store, runs)
    found: Found | None = None
    interrupted = False
    try:
        for looked_for in (WRONG, SLOW) if kind == "either" else (kind,):
            if looked_for == SLOW and not slower:
                if kind == "slow":
                    raise ExecutionError(f"run {runs[1]} is not measurably slower than run {runs[0]}")
                break
            for found in bisect(subject, looked_for, most):
                if not as_json and found.trials:
                    say(_line(found), err=True)
            if found is not None and found.suspects:
                break
    except KeyboardInterrupt:
        if found is None:
            raise
        interrupted = True
    if found is None or (not found.suspects and kind == "either" and not slower and not interrupted):
        raise ExecutionError(
            f"run {runs[1]} gives right results now and is not measurably slower than run {runs[0]}: nothing to find"
        )
    _tell(found, subject, runs, as_json=as_json, interrupted=interrupted)


def _subject(store: Store, run: int, bound: float | None) -> Subject:
    from app.checking import error_bound
    from app.inputs import graph_sizes, random_inputs
    from compiler import reference
    from profiler.bisecting import Subject
    from profiler.measure.in_turns import stored_contender

    request, graph = stored_contender(store, run)
    arrays = random_inputs(graph, graph_sizes(graph, request.dims, {}), request.seed)
    expected = reference(graph, *[array.copy() for array in arrays])
    return Subject(request, graph, arrays, expected, error_bound(graph) if bound is None else bound)


def _slower(store: Store, runs: list[int]) -> bool:
    """Whether the second is measurably slower than the first."""
    from profiler.analysis.compare import compare_runs
    from profiler.analysis.verdicts import SLOWER

    verdict = compare_runs(store, runs).verdicts[-1]
    return verdict is not None and verdict.verdict == SLOWER


def _line(found: Found) -> str:
    trial = found.trials[-1]
    out = len(trial.left_out)
    named = trial.left_out[0] if out == 1 else f"{out} of them" if out else "nothing"
    return f"{len(found.trials)}. without {named}: {trial.words}; {len(found.suspects)} suspects left"


def _tell(found: Found, subject: Subject, runs: list[int], *, as_json: bool, interrupted: bool) -> None:
    from difflib import unified_diff

    from profiler.bisecting import difference

    before, after, kernel = "", "", ""
    if len(found.suspects) == 1 and not interrupted:
        before, after, kernel = difference(subject, found.suspects[0])
    if as_json:
        print_json(_document(found, runs, interrupted) | {"kernel": kernel, "before": before, "after": after})
        return
    say(("stopped: " if interrupted else "") + found.words)
    if kernel:
        changed = list(unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=1, lineterm=""))
        say("\n".join([f"\nwhat it does to {kernel}:", *changed[:_LINES]]))
        if len(changed) > _LINES:
            say(f"... {len(changed) - _LINES} lines more; --json has both texts whole")


def _document(found: Found, runs: list[int], interrupted: bool) -> dict[str, Any]:
    return {
        "runs": runs, "kind": found.kind, "found": [switch.name for switch in found.suspects], "sure": found.sure,
        "words": found.words, "stopped": interrupted, "compilations": len(found.trials),
        "trials": [vars(trial) for trial in found.trials],
    }  # fmt: skip
