"""The passes of one kernel, or of a whole compilation, as rows to step through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.trace import PassRecord

LLVM_STAGE = "llvm"


@dataclass(frozen=True)
class PassStep:
    """One pass. Sizes are -1 where they were not counted; `step` is where its text can be had, -1 for nowhere.

    `before` is the step it is compared with; -1 for the first text of a stage.
    """

    stage: str
    name: str
    scope: str
    kernel: str
    seconds: float
    ops_before: int = -1
    ops_after: int = -1
    bytes_before: int = -1
    bytes_after: int = -1
    changed: bool = True
    step: int = -1
    before: int = -1

    @property
    def ops(self) -> str:
        """Operations before and after, as a table shows them."""
        return arrow(self.ops_before, self.ops_after)

    @property
    def llvms(self) -> bool:
        """Whether it is a pass of LLVM's own."""
        return self.stage == "llvm-pass" or (self.stage == LLVM_STAGE and self.before >= 0)


def arrow(before: int, after: int, show=lambda n: f"{n:,}") -> str:
    """Two sizes as one text; nothing is said twice, and nothing where nothing is known."""
    if before < 0 and after < 0:
        return ""
    if before == after or before < 0:
        return show(after)
    return f"{show(before)} \u2192 {show(after)}" if after >= 0 else show(before)


def trace_steps(rows: Iterable[PassRecord], kernel: str = "") -> tuple[PassStep, ...]:
    """What a compilation itself recorded; `kernel` keeps the passes of that kernel and of the whole model.

    A pass whose operations were not counted may have changed them.
    """
    return tuple(
        PassStep(
            row.stage, row.name, "", row.kernel, row.seconds, row.ops_before, row.ops_after, -1, row.bytes_after,
            row.ops_before < 0 or row.ops_before != row.ops_after,
        )
        for row in rows
        if not kernel or row.kernel in ("", kernel)
    )  # fmt: skip
