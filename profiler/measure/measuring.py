"""Measuring a request on the device it names, in as many processes as it asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from compiler.graph.graph import Graph
from profiler.measure.commit import source_commit
from profiler.measure.cpu import measuring as cpu
from profiler.measure.outcome import Outcome, with_conditions
from profiler.measure.processes import measure_in_processes
from profiler.records import MeasureRequest

if TYPE_CHECKING:
    from profiler.measure.cpu.timing import Turn

Progress = Callable[[str], None]


def measure(
    request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False, outputs: bool = False,
    progress: Progress = lambda words: None, cancelled: Callable[[], bool] = lambda: False,
) -> Outcome:  # fmt: skip
    """Compile `graph` and run it on `arrays` in child processes. `texts` asks for the IR of all stages."""

    def once(each: MeasureRequest, number: int) -> Outcome:
        first = number == 0
        say = progress if first else lambda words: progress(f"process {number + 1}, {words}")
        return measure_once(
            each, graph, arrays, texts=texts and first, outputs=outputs and first, brief=not first, progress=say,
            cancelled=cancelled,
        )  # fmt: skip

    commit = source_commit(request.source)
    outcome = measure_in_processes(request, once)
    return with_conditions(outcome, commit=commit) if commit else outcome


def measure_once(
    request: MeasureRequest, graph: Graph, arrays: Sequence[np.ndarray], *, texts: bool = False, outputs: bool = False,
    brief: bool = False, progress: Progress = lambda words: None, cancelled: Callable[[], bool] = lambda: False,
    turn: Turn | None = None,
) -> Outcome:  # fmt: skip
    """Measure in one child process, whatever number of them the request asks for; `brief` asks for times only. On a CPU
    `turn` says when a block of calls may be timed."""
    if request.device == "cpu":
        return cpu.measure_once(
            request, graph, arrays, texts=texts, outputs=outputs, brief=brief, progress=progress, cancelled=cancelled,
            turn=turn,
        )  # fmt: skip
    from profiler.measure.cuda.measuring import measure_cuda_once

    return measure_cuda_once(request, graph, arrays, texts=texts, brief=brief, progress=progress, cancelled=cancelled)
