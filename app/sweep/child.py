"""The process that compiles cells of a sweep, one after the other, each with one job."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from compiler.errors import CompilerError
from compiler.options import CompileOptions
from compiler.processes.child import end_with_parent
from compiler.processes.frames import Channel, named
from compiler.processes.messages import Refusal, refusal
from compiler.processes.record_methods import keep_called
from profiler.records import CompilationRecord


@dataclass(frozen=True)
class CompileTask:
    """A source to compile, with more kernels from a folder where one is named."""

    source: str
    options: CompileOptions
    library: str = ""


KNOWN = named(CompileTask)
ANSWERS = named(CompilationRecord, Refusal)
Answer = CompilationRecord | Refusal | None
"""What a cell came to; None as it begins."""
LATER = ()
"""What is loaded while nobody asks yet: nothing, as cells are there before the compiler is loaded."""


def prepare() -> None:
    """Before the first task: load the compiler, which takes longer than many a cell, and have LLVM ready."""
    from compiler.collector_pauses import rare_collection
    from compiler.processes.numpy_alone import load_numpy_alone

    with rare_collection():
        load_numpy_alone()
        from compiler.dialects.later import define_operations_later

        define_operations_later()
        import app.compilation
        import app.sources  # noqa: F401
        import compiler.backend.emission
        import compiler.backend.jit
        import compiler.kernel_cache
        import compiler.passes.fusion.run
        import compiler.passes.graph.run
        import compiler.passes.kernel.run
        import compiler.pipeline
        import compiler.program.execution  # noqa: F401
        import profiler.model_records  # noqa: F401
        from compiler.cache import default_cache
        from compiler.model_cache import find_runtime
        from compiler.targets import get_target

        host = get_target("cpu")
        host.machine(3)
        find_runtime(default_cache(), host)  # it runs models and is part of no cell, also of one without the cache


def serve(channel: Channel, errors: str) -> None:
    """Compile what arrives until the other end closes; what LLVM writes as it dies goes to a file."""
    end_with_parent()
    with suppress(OSError), open(errors, "wb") as file:
        os.dup2(file.fileno(), 2)
    with suppress(EOFError, OSError):
        while True:
            task: CompileTask = channel.receive().value
            try:
                channel.send(compiled_record(task))
            except CompilerError as error:
                channel.send(refusal(error))
            keep_called()


def compiled_record(task: CompileTask) -> CompilationRecord:
    """Compile in this process, and tell what came of it."""
    from app.compilation import compile_source
    from app.sources import load_source, stored_name
    from profiler.model_records import compilation_record

    more = (Path(task.library),) if task.library else ()
    done = compile_source(load_source(task.source), task.options, more)
    folders = [str(folder) for folder in done.folders]
    return compilation_record(done.model, stored_name(task.source), done.seconds, folders, done.imports)
