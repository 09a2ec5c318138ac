"""Generating text inside a worker: once for each flow, in a process of its own, kept as the command line keeps it."""

from __future__ import annotations

from dataclasses import replace

from app.viewmodels.requests import Report
from app.viewmodels.runs.serving import GenerateProgress, GenerateRequest, Served


def generate_text(request: GenerateRequest, report: Report) -> tuple[Served, ...]:
    """What each flow made. Text is told as it becomes certain."""
    from app.generate.generation import generate
    from app.generate.keeping import begin_generation, keep_generation

    served = []
    for flow in request.flows:
        asked = replace(request.asked, options=replace(request.asked.options, flow=flow))
        report(GenerateProgress(f"generating, {flow}: compiling", -1.0, flow))
        parts = 0

        def tell(text: str, flow: str = flow) -> None:
            nonlocal parts
            parts += 1
            words = f"generating, {flow}: {parts} of at most {request.asked.most} tokens"
            report(GenerateProgress(words, min(parts / request.asked.most, 1.0), flow, text))

        made = generate(asked, tell)
        begun = begin_generation(None, asked, made)
        kept = keep_generation(begun, made)
        run = kept.run if kept.run is not None and kept.path == begun.path else 0  # another database has other numbers
        served.append(Served(flow, run, replace(made, compilation=None), kept.note or begun.note))
    return tuple(served)
