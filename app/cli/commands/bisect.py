"""`kernelglass bisect A B`: which fusion or pass makes run B wrong, or slower than run A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from app.cli import completing
from app.cli.options import Finite, json_option, store_option
from app.cli.output import print_json, say
from app.errors import INTERRUPTED
from app.stored.bisecting import KINDS
from compiler.printable import printable

if TYPE_CHECKING:
    from profiler.bisecting import Found, Subject

_LINES = 40


@click.command("bisect")
@click.argument("a", metavar="A", shell_complete=completing.runs)
@click.argument("b", metavar="B", shell_complete=completing.runs)
@click.option("--kind", default="either", type=click.Choice(KINDS), show_default=True,
              help="Look for what makes results wrong, or for what makes it slower than A.")  # fmt: skip
@click.option("--bound", type=Finite(1e-30, 1e30), metavar="X",
              help="The relative error from which a result is wrong; by the graph's dtypes by default.")  # fmt: skip
@click.option("--most", default=12, type=click.IntRange(2, 1000), metavar="N", show_default=True,
              help="Compilations to make at most.")  # fmt: skip
@store_option
@json_option
@click.pass_context
def command(
    ctx: click.Context, a: str, b: str, kind: str, bound: float | None, most: int, db: str | None, as_json: bool
) -> None:
    """Find the fusion, kernel pass or LLVM pass that makes run B wrong, or slower than run A.

    Half of them are left out at a time. Ctrl+C ends it with what is known by then.
    """
    from app.stored.bisecting import search, subject_of, trial_words, why_not_slower
    from profiler.store import open_store, queries

    with open_store(db, create=False) as store:
        runs = [queries.find_run(store, words) for words in (a, b)]
        subject = subject_of(store, runs[1], bound)
        not_slower = why_not_slower(store, runs) if kind != "wrong" else ""
    found: Found | None = None
    interrupted, told = False, 0
    try:
        for found in search(subject, runs, kind, not_slower=not_slower, most=most):
            if not as_json and len(found.trials) > told:
                say(printable(trial_words(found)), err=True)
            told = len(found.trials)
    except KeyboardInterrupt:
        if found is None:
            raise
        interrupted = True
    assert found is not None
    _tell(found, subject, runs, as_json=as_json, interrupted=interrupted)
    if interrupted:
        ctx.exit(INTERRUPTED)


def _tell(found: Found, subject: Subject, runs: list[int], *, as_json: bool, interrupted: bool) -> None:
    from difflib import unified_diff

    from profiler.bisecting import difference

    before, after, kernel = "", "", ""
    if len(found.suspects) == 1 and not interrupted:
        before, after, kernel = difference(subject, found.suspects[0])
    if as_json:
        print_json(_document(found, runs, interrupted) | {"kernel": kernel, "before": before, "after": after})
        return
    say(printable(("stopped: " if interrupted else "") + found.words))
    if kernel:
        changed = list(unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=1, lineterm=""))
        say("\n".join([f"\nwhat it does to {printable(kernel)}:", *changed[:_LINES]]))
        if len(changed) > _LINES:
            say(f"... {len(changed) - _LINES} lines more; --json has both texts whole")


def _document(found: Found, runs: list[int], interrupted: bool) -> dict[str, Any]:
    return {
        "runs": runs, "kind": found.kind, "found": [switch.name for switch in found.suspects], "sure": found.sure,
        "words": found.words, "stopped": interrupted, "compilations": len(found.trials),
        "trials": [vars(trial) for trial in found.trials],
    }  # fmt: skip
