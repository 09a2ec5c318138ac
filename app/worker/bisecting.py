"""A bisection inside a worker: what is known is told after each compilation, so that stopping loses nothing."""

from __future__ import annotations

from app.viewmodels.requests import Progress, Report
from app.viewmodels.runs.bisecting import Bisected, BisectProgress, BisectRequest, Known


def bisect_runs(request: BisectRequest, report: Report) -> Bisected:
    """Find the guilty fusion or pass of the second run, and what it does."""
    from app.stored.bisecting import EITHER, NothingToFind, search, subject_of, trial_words, why_not_slower
    from app.worker.pass_steps import PassSteps
    from profiler.bisecting import guilty_step
    from profiler.store import open_store

    report(Progress("bisecting: computing the results it should have", 0.0))
    with open_store(None, create=False) as store:
        subject = subject_of(store, request.runs[1])
        not_slower = why_not_slower(store, request.runs)
    report(Progress("bisecting: compiling the whole", 0.02))
    known, found = Known("nothing is known yet"), None
    lines: list[str] = []
    try:
        for found in search(subject, request.runs, EITHER, not_slower=not_slower, most=request.most):
            if len(found.trials) > len(lines):
                lines.append(trial_words(found))
            known = Known(found.words, tuple(lines))
            share = min(len(found.trials) / request.most, 0.95)
            report(BisectProgress(f"bisecting: {lines[-1]}" if lines else "bisecting", share, known))
    except NothingToFind as answer:
        return Bisected(Known(answer.message, tuple(lines)))
    if found is None or len(found.suspects) != 1:
        return Bisected(known)
    guilty = found.suspects[0]
    if guilty.edge is not None:
        return Bisected(known, guilty.name, nodes=guilty.edge)
    report(BisectProgress(f"bisecting: what {guilty.name} does", 0.97, known))
    step = guilty_step(subject, guilty)
    if step is None:
        return Bisected(known, guilty.name)
    texts = PassSteps(step.model)
    stage = step.model.snapshot(step.kernel)[step.after].stage
    return Bisected(
        known, guilty.name, step.kernel, stage, texts.text(step.kernel, step.before),
        texts.text(step.kernel, step.after),
    )  # fmt: skip
