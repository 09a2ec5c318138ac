"""The passes of one kernel inside a worker: snapshots made once when asked for, their texts handed out one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.viewmodels.compilation import LineText
from app.viewmodels.requests import Progress, Report
from app.viewmodels.text.passes import LLVM_STAGE, PassStep, trace_steps
from app.viewmodels.text.text_document import line_text
from compiler.errors import CompilerError


class PassSteps:
    """A model's kernels, each with its snapshots once somebody asked for them."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._snapshots: dict[str, tuple[Any, ...]] = {}

    def steps(self, kernel: str, report: Report = lambda _: None) -> tuple[PassStep, ...]:
        """Every pass in order: the ones that changed the IR with a text, then LLVM's that changed nothing."""
        report(Progress(f"passes of {kernel}: running them one by one", 0.1))
        snapshots = self._of(kernel)
        report(Progress(f"passes of {kernel}: reading what changed", 0.8))
        whole = trace_steps(row for row in self._model.trace.passes if row.stage in ("mo", "mogg"))
        found = [replace(step, changed=step.ops_before != step.ops_after) for step in whole]
        last: dict[str, int] = {}
        for number, shot in enumerate(snapshots):
            before = last.get(shot.stage, -1)
            changed = before < 0 or shot.text is not snapshots[before].text
            found.append(
                PassStep(
                    shot.stage, shot.name, shot.scope, kernel, shot.seconds, shot.ops_before, shot.ops_after,
                    shot.bytes_before, shot.bytes_after, changed, number, before,
                )
            )  # fmt: skip
            last[shot.stage] = number
        named = {shot.name for shot in snapshots}
        for timed in self._model.kernel(kernel).unit.pass_times:
            if timed.name not in named and timed.name.endswith("Pass"):
                found.append(PassStep("llvm-pass", timed.name, "", kernel, timed.seconds, changed=False))
        return tuple(found)

    def text(self, kernel: str, step: int) -> LineText:
        """The text after a pass, with the nodes of each line where the text tells them."""
        snapshots = self._of(kernel)
        if not 0 <= step < len(snapshots):
            raise CompilerError(f"{kernel} has no pass {step}; it has {len(snapshots)}")
        shot = snapshots[step]
        return line_text(shot.text, self._nodes(kernel, shot))

    def _of(self, kernel: str) -> tuple[Any, ...]:
        if kernel not in self._snapshots:
            self._snapshots[kernel] = self._model.snapshot(kernel)
        return self._snapshots[kernel]

    def _nodes(self, kernel: str, shot: Any) -> tuple[tuple[str, ...], ...]:
        owner = self._model.kernel(kernel)
        lines = shot.provenance
        if shot.stage == LLVM_STAGE:
            from compiler.backend.provenance import line_provenance

            lines = line_provenance(shot.text, LLVM_STAGE)
        return owner.with_nodes(shot.text, list(lines)).nodes
