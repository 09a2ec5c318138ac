"""The process that compiles cells of a sweep, one after the other, each with one job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.child import end_with_parent
from compiler.processes.frames import Channel, named
from compiler.processes.messages import Refusal, refusal
from profiler.records import CompilationRecord


@dataclass(frozen=True)
class CompileTask:
    """A source to compile, with more kernels from a folder where one is named."""

    source: str
    options: CompileOptions
    library: str = ""


KNOWN = named(CompileTask)
ANSWERS = named(CompilationRecord, Refusal)


def serve(channel: Channel) -> None:
    """Compile what arrives until the other end closes."""
    end_with_parent()
    with suppress(EOFError, OSError):
        while True:
            task: CompileTask = channel.receive().value
            try:
                channel.send(compiled_record(task))
            except CompilerError as error:
                channel.send(refusal(error))


def compiled_record(task: CompileTask) -> CompilationRecord:
    """Compile in this process, and tell what came of it."""
    from app.compilation import compile_source
    from app.sources import load_source, stored_name
    from profiler.model_records import compilation_record

    more = (Path(task.library),) if task.library else ()
    done = compile_source(load_source(task.source), task.options, more)
    folders = [str(folder) for folder in done.folders]
    return compilation_record(done.model, stored_name(task.source), done.seconds, folders, done.imports)
