"""Generating text inside a worker: once for each flow, in a process of its own, kept as the command line keeps it."""

from __future__ import annotations

from dataclasses import replace

from app.generate.generation import generate
from app.generate.keeping import keep_generation
from app.viewmodels.requests import Report
from app.viewmodels.runs.serving import GenerateProgress, GenerateRequest, Served
from profiler.store import StoreError, open_store


def generate_text(request: GenerateRequest, report: Report) -> tuple[Served, ...]:
    """What each flow made. Text is told as it becomes certain."""
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
        run, note = 0, ""
        try:
            with open_store(None) as store:
                run = keep_generation(store, asked, made)
        except StoreError as error:
            note = f"the run is not kept: {error}"
        served.append(Served(flow, run, replace(made, compilation=None), note))
    return tuple(served)
