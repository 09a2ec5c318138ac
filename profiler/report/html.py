"""One file of HTML that opens anywhere: no network, everything escaped, IR panes whose lines know their graph nodes."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from profiler import units
from profiler.records import StageRecord
from profiler.report import plots

MOST_BYTES = 2_000_000
_ORDER = ("mo", "mogg", "mgp", "source", "kgen", "kernel", "llvm", "llvm-opt", "asm", "ptx", "sass")
# What goes first when a report would grow past its bound: stages that another one shows almost as well.
_DROPPED = ("kgen", "llvm", "kernel", "mogg", "llvm-opt", "asm", "mgp")


def _resource(name: str) -> str:
    return files("resources").joinpath("report", name).read_text(encoding="utf-8")


def _environment() -> Environment:
    made = Environment(loader=FunctionLoader(_resource), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(
        seconds=units.seconds, size=units.size, number=units.count, figure=units.figure, percent=units.percent
    )
    made.globals.update(style=Markup(_resource("report.css")), script=Markup(_resource("report.js")), plots=plots)
    return made


def run_html(document: dict[str, Any], stages: list[StageRecord], notes: list[str]) -> str:
    """The report of a run. Where IR would take it past two megabytes, whole stages are left out and named."""
    template = _environment().get_template("run.html.j2")
    compilation = document["compilation"] or {}
    kept = _with_sources(stages, compilation)
    left_out: list[str] = []
    while True:
        said = [*notes, *([f"left out for size: {', '.join(left_out)}"] if left_out else [])]
        page = template.render(doc=document, notes=said, ir=embedded(_ir(kept)))
        waiting = [stage for stage in _DROPPED if any(record.stage == stage for record in kept)]
        if len(page.encode()) < MOST_BYTES or not waiting:
            return page
        left_out.append(waiting[0])
        kept = [record for record in kept if record.stage != waiting[0]]


def comparison_html(document: dict[str, Any]) -> str:
    """The report of a comparison."""
    return _environment().get_template("comparison.html.j2").render(doc=document)


def _with_sources(stages: list[StageRecord], compilation: dict[str, Any]) -> list[StageRecord]:
    found = list(stages)
    for kernel in compilation.get("kernels", ()):
        lines = len(kernel["source"].splitlines())
        found.append(StageRecord("source", kernel["name"], kernel["source"], (tuple(kernel["nodes"]),) * lines))
    return sorted(
        found, key=lambda record: (_ORDER.index(record.stage) if record.stage in _ORDER else 99, record.kernel)
    )


def _ir(stages: list[StageRecord]) -> dict[str, Any]:
    """Texts and, for each line, the number of its set of nodes: what the page's script shows and links."""
    nodes: dict[str, int] = {}
    sets: dict[tuple[int, ...], int] = {}
    texts = []
    for record in stages:
        lines = []
        for names in record.line_nodes:
            numbers = tuple(sorted(nodes.setdefault(name, len(nodes)) for name in names))
            lines.append(sets.setdefault(numbers, len(sets)))
        texts.append({"stage": record.stage, "kernel": record.kernel, "text": record.text, "lines": lines})
    return {"nodes": list(nodes), "sets": [list(numbers) for numbers in sets], "texts": texts}


def embedded(data: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
