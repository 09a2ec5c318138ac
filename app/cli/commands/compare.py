"""`kernelglass compare A B`: runs or compilations side by side, with verdicts.

For CI, `--fail-if-slower` ends with 5 when one got slower, with 6 when that cannot be told.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.cli import completing
from app.cli.options import json_option, out_option, store_option
from app.cli.output import complain, print_json, say, write_out
from app.cli.progress import by_parts, progress_line
from app.cli.terminal import is_terminal
from app.errors import CannotTell, CheckFailed
from app.files import check_place

if TYPE_CHECKING:
    from profiler.analysis.comparison import Comparison, Side
    from profiler.store import Store


class Share(click.ParamType):
    """A percentage, as in 5%."""

    name = "PERCENT"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share behind it."""
        if not isinstance(value, str):
            return value
        try:
            share = float(value.rstrip("%")) / 100
        except ValueError:
            self.fail(f"{value!r} is not a percentage, as in 5%", param, ctx)
        if not 0 <= share < 100:
            self.fail(f"{value!r} is not a percentage of 0 or more", param, ctx)
        return share


@click.command("compare")
@click.argument("items", nargs=-1, required=True, metavar="A B...", shell_complete=completing.runs)
@click.option(
    "--format", "kind", default="text", type=click.Choice(("text", "md", "html", "csv", "json")), show_default=True
)
@out_option
@click.option(
    "--fail-if-slower", "limit", type=Share(),
    help="Exit with 5 if one is measurably slower by more than this, with 6 if that cannot be told, also not by "
    "measuring both again in turns.",
)  # fmt: skip
@click.option("--again", is_flag=True, help="Make both runs again, in turns: the sharpest comparison there is.")
@click.option("--pairs", default=8, type=click.IntRange(8, 500), metavar="N", show_default=True,
              help="Pairs of new processes for --again.")  # fmt: skip
@click.option("--unlike", is_flag=True, help="Compare runs of unlike machines all the same with --fail-if-slower.")
@store_option
@json_option
def command(
    items: tuple[str, ...],
    kind: str,
    out: Path | None,
    limit: float | None,
    again: bool,
    pairs: int,
    unlike: bool,
    db: str | None,
    as_json: bool,
) -> None:
    """Compare runs (12, latest, latest~1, baseline, a tag) or compilations (c12); the first is the measure."""
    from profiler.report.write import export_comparison
    from profiler.store import open_store

    if len(items) < 2:
        raise click.UsageError("compare takes at least two runs or compilations")
    if out is not None:
        check_place(out)
    with open_store(db, create=False) as store:
        comparison = _compared(store, items, again, pairs)
        ending = None if limit is None else _ending(comparison, limit, unlike)
        if isinstance(ending, CannotTell) and not again and (more := _more(store, comparison, ending, pairs)):
            comparison = more
            ending = _ending(comparison, limit or 0.0, unlike)
    if as_json:
        print_json(json.loads(export_comparison(comparison, "json")))
        kind = "json" if kind == "text" else kind
    if out is not None or not as_json:
        write_out(export_comparison(comparison, kind), out)
    if ending is not None:
        raise ending


def _compared(store: Store, items: tuple[str, ...], again: bool, pairs: int) -> Comparison:
    """What is asked for, from what is stored, or measured again."""
    from compiler.errors import ExecutionError
    from profiler.analysis.compare import compare_compilations, compare_runs
    from profiler.store import queries

    numbers = [queries.find_compilation(store, words) for words in items]
    if again:
        return _again(store, _runs(store, items), pairs)
    if all(number is not None for number in numbers):
        return compare_compilations(store, [number for number in numbers if number is not None])
    if any(number is not None for number in numbers):
        raise ExecutionError("a run and a compilation cannot be compared; give two of a kind")
    return compare_runs(store, _runs(store, items))


def _runs(store: Store, items: tuple[str, ...]) -> list[int]:
    """The runs that are meant; plain `baseline` is that of the first run it is compared with."""
    from profiler.store import queries

    known = {words: queries.find_run(store, words) for words in items if words != "baseline"}
    if "baseline" in items and known:
        known["baseline"] = queries.find_baseline(store, next(iter(known.values())))
    return [known[words] if words in known else queries.find_run(store, words) for words in items]


def _ending(comparison: Comparison, limit: float, unlike: bool) -> CheckFailed | CannotTell | None:
    """How a gate ends: with one that is slower, with what cannot be told, or well."""
    from profiler.analysis.gate import gate

    if len({side.machine["fingerprint"] for side in comparison.sides}) > 1 and not unlike:
        words = "these runs are from unlike machines, so none can be called slower; --unlike does it all the same"
        return CannotTell(words)
    found = gate(comparison, limit)
    if found.slower:
        return CheckFailed(found.slower[0])
    return CannotTell(found.untold[0]) if found.untold else None


def _more(store: Store, comparison: Comparison, ending: CannotTell, pairs: int) -> Comparison | None:
    """Both runs measured again in turns, for a gate that cannot tell from what is stored; None where that cannot be."""
    from compiler.errors import CompilerError

    runs = [side.run for side in comparison.sides if side.run is not None]
    if len(runs) != 2 or store.readonly or not all(_is_near(side) for side in comparison.sides):
        return None
    complain(f"{ending.message}; measuring both again, in turns", "note")
    try:
        return _again(store, [run["id"] for run in runs], pairs)
    except CompilerError as error:
        complain(f"they cannot be measured again: {error.message}", "note")
        return None


def _is_near(side: Side) -> bool:
    """Whether a run can be made again where it was: on this machine, or on one behind a scheduler."""
    from compiler.errors import CompilerError
    from profiler.measure.machine import machine_with

    assert side.run is not None
    try:
        here = machine_with(str(side.run["device"])).fingerprint
    except CompilerError:  # the device it ran on is not here
        here = ""
    return "remote" in side.run["conditions"] or side.machine["fingerprint"] == here


def _again(store: Store, runs: list[int], pairs: int) -> Comparison:
    """Make two stored runs again, in turns, keep the new ones and compare them; they are compared wherever they are."""
    from app.stored.again import contenders
    from profiler.analysis.compare import compare_runs
    from profiler.keeping import open_kept
    from profiler.measure.in_turns import turned

    if len(runs) != 2:
        raise click.UsageError("--again takes two runs")
    with contenders(store, runs) as sides, progress_line() as step:
        told = (
            by_parts(step, pairs) if is_terminal(sys.stderr) else lambda words: say(f"kernelglass: {words}", err=True)
        )
        made = turned(store, sides, pairs, progress=told)
    if not made.kept.note:
        return compare_runs(store, made.kept.runs)
    complain(made.kept.note, "note")
    place, numbers = open_kept(made.kept, made.begun, made.outcomes)
    with place:
        return compare_runs(place, numbers)
