"""`kernelglass hot ID`: the hottest lines of a run that was sampled, of any stage."""

from __future__ import annotations

from typing import Any

import click

from app.cli import completing
from app.cli.options import json_option, store_option
from app.cli.output import print_json, say
from compiler.options import KERNEL_STAGES
from profiler.sampled import PLACES

_NODES = "nodes"
_STAGES = (PLACES, _NODES, "source", *KERNEL_STAGES)


@click.command("hot")
@click.argument("run", metavar="ID", shell_complete=completing.runs)
@click.option("--stage", default=PLACES, type=click.Choice(_STAGES), show_default=True, metavar="S",
              help=f"Whose lines: {PLACES} (of the kernel language), {_NODES} (of the graph), source, "
                   f"{', '.join(KERNEL_STAGES)}.")  # fmt: skip
@click.option("--kernel", default="", metavar="K", help="Of one kernel only.")
@click.option("--most", default=20, type=click.IntRange(1, 100_000), metavar="N", show_default=True)
@click.option("--listing", is_flag=True, help="In the order of the text, not hottest first.")
@store_option
@json_option
def command(run: str, stage: str, kernel: str, most: int, listing: bool, db: str | None, as_json: bool) -> None:
    """Show which lines of a run sampled with `run --sample` the time goes into."""
    from dataclasses import asdict

    from app.cli.run_text import counted_lines
    from compiler.errors import ExecutionError
    from compiler.printable import printable
    from profiler.analysis.advice import advice
    from profiler.report import heat
    from profiler.report.document import run_document
    from profiler.store import open_store, queries
    from profiler.store.sampled import sampling

    with open_store(db, create=False) as store:
        number = queries.find_run(store, run)
        row = queries.run_row(store, number)
        taken = sampling(store, number)
        document = run_document(store, number) if taken is not None else {}
        findings = advice(document) if taken is not None else []
    if taken is None:
        words = f"`kernelglass run {row['source']} --sample` makes one that is"
        raise ExecutionError(f"run {number} was not sampled; {words}")
    stage = "asm" if stage == "ptx" else stage  # one text under two names
    found = asdict(taken) | {"mapped": taken.mapped}
    if kernel and taken.kernel(kernel) is None:
        known = ", ".join(each.kernel for each in taken.kernels) or "none"
        raise ExecutionError(f"run {number} has no samples in a kernel {kernel!r}; kernels with samples: {known}")
    if as_json:
        told = _document(number, row["source"], found, stage, kernel, most)
        print_json(told | {"findings": [asdict(finding) for finding in findings]})
        return
    lines = [f"run {number}: {printable(row['source'])}: {heat.sampling_words(found)}"]
    if found["inside"]:
        lines += ["", *_text(found, stage, kernel, most, listing=listing)]
    lines += counted_lines(document)
    said = [printable(words) for words in heat.finding_words(findings)]
    lines += [f"{'' if at else chr(10)}finding: {words}" for at, words in enumerate(said)]
    say("\n".join(lines))


def _text(found: dict[str, Any], stage: str, kernel: str, most: int, *, listing: bool) -> list[str]:
    from app.text_tables import table
    from compiler.printable import printable
    from profiler.report import heat
    from profiler.units import percent

    if stage == _NODES:
        return [table(("samples", "node"), [(percent(share), n) for n, share in heat.hot_nodes(found)[:most]])]
    if listing:
        shown: list[str] = []
        for each in found["kernels"]:
            if kernel in ("", each["kernel"]) and (lines := heat.annotated(each, stage, found["inside"])):
                shown += [f"{each['kernel']}:", *lines, ""]
        return [printable(line) for line in shown[:-1]] or [_nothing(stage)]
    rows = [
        (percent(x["share"]), x["kernel"], x["where"], x["text"]) for x in heat.hot_lines(found, stage, most, kernel)
    ]
    return [table(("samples", "kernel", "line", "it says"), rows)] if rows else [_nothing(stage)]


def _nothing(stage: str) -> str:
    return f"no sample was mapped to a line of {stage}"


def _document(run: int, source: str, found: dict[str, Any], stage: str, kernel: str, most: int) -> dict[str, Any]:
    from profiler.report import heat

    lines: list[Any] = []
    if found["inside"]:
        nodes = [{"node": node, "share": share} for node, share in heat.hot_nodes(found)]
        lines = nodes if stage == _NODES else heat.hot_lines(found, stage, None, kernel)
    about = {name: value for name, value in found.items() if name != "kernels"}
    return {"run": run, "source": source, "stage": stage, "sampling": about, "lines": lines[:most]}
