"""What a measured process does: load a source, compile it once, perhaps run it once, and say what it took."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.flows.cells import Task, Told
from compiler.errors import CompilerError
from compiler.processes.frames import Channel, Unreadable
from compiler.processes.messages import refusal

if TYPE_CHECKING:
    from app.sources import Source
    from compiler.options import CompileOptions

KNOWN = {"Task": Task}


def serve(channel: Channel) -> None:
    """Do one task; the parent measures this process from outside."""
    serve_one(channel, _done)


def serve_one(channel: Channel, work: Callable[[Any], Told]) -> None:
    """Do the one task that arrives, and say what came of it; whoever asked may end this process meanwhile."""
    task = channel.receive().value
    threading.Thread(target=_end_with_parent, args=(channel,), daemon=True).start()
    try:
        channel.send(work(task))
    except CompilerError as error:
        channel.send(refusal(error))


def _done(task: Task) -> Told:
    from app.sources import load_source

    return done(load_source(task.source), task.options, task.libraries, task.execute)


def done(source: Source, options: CompileOptions | None, libraries: Sequence[str], run: bool) -> Told:
    """Compile a source that is loaded, where there are options, and perhaps run it once."""
    from app.compilation import compile_source, execute
    from app.inputs import as_values, graph_sizes, random_inputs

    if options is None:
        return Told()
    folders = (*source.library_paths, *map(Path, libraries))
    inputs = []
    if run:
        arrays = random_inputs(source.graph, graph_sizes(source.graph, source.dims, {}), 0, folders)
        inputs = as_values(source.graph, arrays, folders)
    start = time.perf_counter()
    compiled = compile_source(source, options, tuple(map(Path, libraries)))
    if run:
        execute(compiled, inputs, None)
    return Told(
        len(compiled.model.kernels),
        compiled.seconds,
        time.perf_counter() - start if run else 0.0,
        compiled.imports,
    )


def _end_with_parent(channel: Channel) -> None:
    """The parent keeps its end open as long as it lives. It may be killed, and then nobody waits for our answer."""
    try:
        channel.receive()
    except (EOFError, OSError, Unreadable):
        os.killpg(os.getpgrp(), signal.SIGKILL)  # this process leads a group: its own workers end with it
