"""What a measurement gives, on whatever device."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from compiler.errors import CompilerError
from profiler.records import CompilationRecord, MeasuredRun, StageRecord


@dataclass(frozen=True)
class Outcome:
    """Everything a measurement gave, as far as it came. `error` is what the user did wrong, if that was it."""

    result: MeasuredRun
    compilation: CompilationRecord | None = None
    stages: tuple[StageRecord, ...] = ()
    outputs: tuple[np.ndarray, ...] = ()
    output_types: tuple[tuple[str, tuple[int, ...]], ...] = ()
    error: CompilerError | None = None
    compiling: bool = False
    """Whether it failed while compiling."""


def with_conditions(outcome: Outcome, **more: Any) -> Outcome:
    """An outcome whose run was made under these conditions, too."""
    return replace(outcome, result=replace(outcome.result, conditions={**outcome.result.conditions, **more}))
