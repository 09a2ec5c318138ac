"""The compiler as the command line uses it: every call into a compiled model is here, and nowhere else in `app`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.errors import CompilationFailed
from app.sources import Source
from compiler.errors import CompilerError, ExecutionError, UnavailableError
from compiler.options import MODEL_STAGES, CompileOptions

if TYPE_CHECKING:
    import numpy as np

    from compiler.trace import Watch

# How each text begins a comment, for the line that says which kernel follows.
_COMMENT = {"llvm": ";", "llvm-opt": ";", "source": "#"}
_SUFFIX = {
    "source": ".py", "llvm": ".ll", "llvm-opt": ".ll", "asm": ".s", "ptx": ".ptx", "sass": ".sass", "object": ".o",
}  # fmt: skip


@dataclass(frozen=True)
class Compiled:
    """A compiled source and how long that took, apart from the imports that it caused."""

    source: Source
    options: CompileOptions
    model: Any
    seconds: float
    folders: tuple[Path, ...] = ()
    """Where kernels beyond the library's own came from."""
    imports: float = 0.0


def compile_source(
    source: Source, options: CompileOptions, libraries: Sequence[Path] = (), watch: Watch | None = None
) -> Compiled:
    """Compile a source, with more kernels from folders; what the compiler cannot do with it is a CompilationFailed."""
    from compiler import load_library
    from compiler.import_time import without_imports
    from compiler.pipeline import compile_graph
    from compiler.targets import get_target

    get_target(options.target)  # an unknown name is bad usage, not a failed compilation
    folders = (*source.library_paths, *libraries)
    more = load_library(*folders) if folders else None
    with _compiling(), without_imports() as took:
        model = compile_graph(source.graph, options, more, watch)
    return Compiled(source, options, model, took.seconds, folders, took.imports)


@contextlib.contextmanager
def _compiling() -> Iterator[None]:
    """Around the compiler's work: its errors are failed compilations, except where something is missing here."""
    try:
        yield
    except (UnavailableError, ExecutionError):
        raise
    except CompilerError as error:
        raise CompilationFailed(error.message, error.location) from error


def execute(compiled: Compiled, arrays: Sequence[np.ndarray], threads: int | None) -> list[np.ndarray]:
    """Run the model once."""
    try:
        return compiled.model.execute(*arrays, threads=threads)
    except MemoryError:
        raise ExecutionError("there is not enough memory to run this; choose smaller sizes with --dim") from None


def emit(compiled: Compiled, stage: str, kernel: str | None) -> str | bytes:
    """The text of a stage, the kernel-language source or the object bytes, of one kernel or of all."""
    if stage in MODEL_STAGES:
        if kernel is not None:
            raise ExecutionError(f"{stage} is the whole model's; leave out --kernel")
        return compiled.model.ir(stage)
    if stage in ("ptx", "sass") and stage not in compiled.model.target.emission.stages:
        raise ExecutionError(
            f"{stage} exists for NVIDIA targets; {compiled.options.target} is not one (try --target sm_90)"
        )
    chosen = _kernels(compiled, kernel)
    if stage == "object":
        if len(chosen) != 1:
            names = ", ".join(k.name for k in chosen)
            raise ExecutionError(f"an object is of one kernel; choose it with --kernel: {names}")
        return chosen[0].unit.object
    mark = _COMMENT.get(stage, "//")
    if stage == "asm" and "ptx" not in compiled.model.target.emission.stages:
        mark = "#"
    with _compiling():
        if len(chosen) > 1 and stage not in ("source", "sass"):  # one module, which a tool can read
            names = "".join(f"{mark} kernel {k.name}\n" for k in chosen)
            return names + compiled.model.module_text(stage)
        texts = [(k.name, k.source if stage == "source" else k.ir(stage)) for k in chosen]
    if len(texts) == 1:
        return texts[0][1]
    return "\n".join(f"{mark} kernel {name}\n{text.rstrip()}\n" for name, text in texts)


def emit_each(compiled: Compiled, stage: str, kernel: str | None) -> dict[str, str | bytes]:
    """A stage of each kernel, or of one, by the name of the file that it goes to."""
    if stage in MODEL_STAGES:
        raise ExecutionError(f"{stage} is one text of the whole model; give -o a file")
    chosen = _kernels(compiled, kernel)
    return {f"{k.name}{_SUFFIX.get(stage, '.mlir')}": emit(compiled, stage, k.name) for k in chosen}


def _kernels(compiled: Compiled, name: str | None) -> list[Any]:
    kernels = list(compiled.model.kernels)
    if name is None:
        return kernels
    chosen = [kernel for kernel in kernels if kernel.name == name]
    if not chosen:
        raise ExecutionError(f"there is no kernel {name!r}; the kernels are {', '.join(k.name for k in kernels)}")
    return chosen


def kernel_rows(compiled: Compiled) -> list[dict[str, Any]]:
    """Each kernel's name and the graph nodes it came from."""
    return [{"name": kernel.name, "nodes": list(kernel.nodes)} for kernel in compiled.model.kernels]


def stats(compiled: Compiled) -> dict[str, Any]:
    """The model's own figures: seconds by stage, IR sizes, fusion and cache counts, peak memory.

    Where the peak depends on symbolic dims, it is given for the sizes that the source runs with.
    """
    figures = dict(compiled.model.stats)
    dims = compiled.source.dims
    if figures["peak_memory"] is None and set(compiled.model.symbols) <= set(dims):
        figures["peak_memory"] = compiled.model.plan(**{name: dims[name] for name in compiled.model.symbols}).peak
    return figures


def device_index(text: str) -> int | None:
    """None for `cpu`, N for `cuda:N`; anything else is bad usage."""
    if text == "cpu":
        return None
    match = re.fullmatch(r"cuda(?::([0-9]{1,4}))?", text)
    if not match:
        raise ExecutionError(f"unknown device {text[:40]!r}; use cpu or cuda:N")
    return int(match.group(1) or 0)


def device_target(index: int | None) -> str:
    """The compile target for the device of that number, or the processor's; UnavailableError where there is none."""
    if index is None:
        return "cpu"
    from compiler.targets.nvptx import best_target
    from profiler.measure.devices import cuda_device

    return best_target(cuda_device(f"cuda:{index}").target)
