"""One file of HTML that opens anywhere: no network, everything escaped, IR panes whose lines know their graph nodes.

All that can be read is in the page itself; the script only adds the panes, the links between them and the filters.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup, escape

from compiler.printable import printable_lines
from profiler import units
from profiler.analysis.aggregation import BY, grouped, uneven_words
from profiler.records import History, StageRecord
from profiler.report import figures, heat, plots, words

MOST_BYTES = 2_000_000
# What goes first when a report would grow past its bound: stages that another one shows almost as well.
_DROPPED = ("kgen", "llvm", "kernel", "mogg", "llvm-opt", "asm", "mgp")


def _resource(name: str) -> str:
    return files("resources").joinpath("report", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """With the templates that it has compiled, which takes longer than filling them in."""
    made = Environment(loader=FunctionLoader(_resource), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(
        seconds=words.seconds, size=units.size, number=units.count, figure=units.figure, percent=units.percent,
        moment=words.moment, short=words.short, exact=words.exact, interval=words.interval, text=_text,
    )  # fmt: skip
    made.globals.update(style=Markup(_resource("report.css")), script=Markup(_resource("report.js")), plots=plots)
    return made


def run_html(
    document: dict[str, Any], stages: list[StageRecord], notes: list[str], comparison: dict[str, Any] | None = None,
    history: History | None = None,
) -> str:  # fmt: skip
    """The report of a run. Where IR would take it past two megabytes, whole stages are left out and named."""
    template = _environment().get_template("run.html.j2")
    compilation = document["compilation"]
    kept = _with_sources(stages, compilation or {})
    whole = document["times"]["median"] if document["times"] else None
    gathered = {
        "total": figures.totals(document),
        "percentiles": figures.percentiles(document["times"]["samples_ns"]) if document["times"] else [],
        "funnel": figures.funnel(compilation, stages) if compilation else [],
        "elapsed": figures.elapsed(compilation) if compilation else [],
        "rules": figures.rules(compilation["decisions"]) if compilation else [],
        "comparison": comparison,
        "history": history,
        "groups": {by: grouped(document["launches"], by, whole) for by in BY if by != "launch"},
        "uneven": uneven_words(document["launches"]),
        "heat": heat.heat_document(document) if "sampling" in document else None,
    }
    hot = max(document["launches"], key=lambda launch: launch["median"], default={"kernel": ""})["kernel"]
    left_out: list[str] = []
    while True:
        said = [*notes, *([f"left out for size: {', '.join(left_out)}"] if left_out else [])]
        links = embedded(_links(kept) | {"hot": hot})
        page = printable_lines(template.render(doc=document, notes=said, texts=kept, ir=links, **gathered))
        waiting = [stage for stage in _DROPPED if any(record.stage == stage for record in kept)]
        if len(page.encode("utf-8", "replace")) < MOST_BYTES or not waiting:
            return page.encode("utf-8", "replace").decode()
        left_out.append(waiting[0])
        kept = [record for record in kept if record.stage != waiting[0]]


def comparison_html(document: dict[str, Any]) -> str:
    """The report of a comparison."""
    page = printable_lines(_environment().get_template("comparison.html.j2").render(doc=document, comparison=document))
    return page.encode("utf-8", "replace").decode()


def _with_sources(stages: list[StageRecord], compilation: dict[str, Any]) -> list[StageRecord]:
    found = list(stages)
    there = {record.kernel for record in stages if record.stage == "source"}
    for kernel in compilation.get("kernels", ()):
        if kernel["name"] in there:
            continue
        lines = len(kernel["source"].splitlines())
        found.append(StageRecord("source", kernel["name"], kernel["source"], (tuple(kernel["nodes"]),) * lines))
    return sorted(found, key=lambda record: (figures.stage_order(record.stage), record.kernel))


def _links(stages: Sequence[StageRecord]) -> dict[str, Any]:
    """What the script needs besides the texts: for each line of each, the number of its set of nodes."""
    nodes: dict[str, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    texts = []
    for record in stages:
        lines = []
        for names in record.line_nodes:
            numbers = tuple(sorted(nodes.setdefault(name, len(nodes)) for name in names))
            lines.append(sets.setdefault(numbers, len(sets)))
        texts.append({"stage": record.stage, "kernel": record.kernel, "lines": lines})
    return {"nodes": list(nodes), "sets": [list(numbers) for numbers in sets], "texts": texts}


def _text(content: str) -> Markup:
    """A text for a `pre`: escaped, and with the carriage returns and nulls that a browser would change kept visible."""
    return Markup(str(escape(content)).replace("\r", "␍").replace("\0", "␀"))


def embedded(data: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
