"""What a measured process does: load a source, compile it once, perhaps run it once, and say what it took."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from app.flow_cells import Task, Told
from compiler.errors import CompilerError
from compiler.processes.frames import Channel, Unreadable
from compiler.processes.messages import refusal

KNOWN = {"Task": Task}


def serve(channel: Channel) -> None:
    """Do one task; the parent measures this process from outside."""
    task: Task = channel.receive().value
    threading.Thread(target=_end_with_parent, args=(channel,), daemon=True).start()
    try:
        channel.send(_done(task))
    except CompilerError as error:
        channel.send(refusal(error))


def _done(task: Task) -> Told:
    from app.compilation import compile_source, execute
    from app.inputs import graph_sizes, random_inputs
    from app.sources import load_source
    from compiler.statistics import funnel_of

    source = load_source(task.source)
    if task.options is None:
        return Told()
    inputs = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 0) if task.execute else []
    start = time.perf_counter()
    compiled = compile_source(source, task.options, tuple(map(Path, task.libraries)))
    if task.execute:
        execute(compiled, inputs, None)
    return Told(
        len(compiled.model.kernels),
        compiled.seconds,
        time.perf_counter() - start if task.execute else 0.0,
        compiled.imports,
        {step.stage: step.seconds for step in funnel_of(compiled.model.trace.passes)},
    )


def _end_with_parent(channel: Channel) -> None:
    """The parent keeps its end open as long as it lives. It may be killed, and then nobody waits for our answer."""
    try:
        channel.receive()
    except (EOFError, OSError, Unreadable):
        os.killpg(os.getpgrp(), signal.SIGKILL)  # this process leads a group: its own workers end with it
