"""What takes the place of generated kernel sources: the same with choices that were tuned, and the user's edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.cache import key_of, target_identity
from compiler.errors import CompilerError
from compiler.options import CompileOptions, Tuned
from compiler.passes.fusion.records import FusedKernel
from compiler.targets.target import Target


def final_sources(kernels: Sequence[FusedKernel], options: CompileOptions, target: Target) -> tuple[FusedKernel, ...]:
    """The kernels as they are compiled."""
    return with_edits(with_tuned(kernels, options.tuned, target), options.sources)


def problem_of(kernel: FusedKernel, target: Target) -> str:
    """What choices are tuned for: what a generated kernel computes, on which sizes, types and layouts, and for which
    target. What it is called does not matter, nor which choices its source has by now."""
    _, _, body = kernel.source.partition("\n")
    return key_of("problem", body.removeprefix(f"def {kernel.name}"), target_identity(target))[:24]


def used_of(tuned: Sequence[Tuned], kernels: Sequence[FusedKernel], target: Target) -> tuple[Tuned, ...]:
    """Those of some tuned choices that concern these kernels."""
    problems = {problem_of(kernel, target) for kernel in kernels} if tuned else ()
    return tuple(each for each in tuned if each.problem in problems)


def with_tuned(kernels: Sequence[FusedKernel], tuned: Sequence[Tuned], target: Target) -> tuple[FusedKernel, ...]:
    """The kernels, with what was chosen for their problems in their decorators."""
    known = {each.problem: each.choices for each in tuned}
    if not known:
        return tuple(kernels)
    return tuple(_with_choices(kernel, known.get(problem_of(kernel, target), ())) for kernel in kernels)


def _with_choices(kernel: FusedKernel, choices: Sequence[tuple[str, object]]) -> FusedKernel:
    if not choices:
        return kernel
    head, _, body = kernel.source.partition("\n")
    return replace(kernel, source=f"{head[:-1]}, choices={dict(choices)!r})\n{body}")


def with_edits(kernels: Sequence[FusedKernel], sources: Sequence[tuple[str, str]]) -> tuple[FusedKernel, ...]:
    """The kernels, those of `sources` (kernel name, edited source) with their new source."""
    edits = dict(sources)
    unknown = set(edits) - {kernel.name for kernel in kernels}
    if unknown:
        raise CompilerError(
            f"no kernel is called {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in kernels)}"
        )
    return tuple(
        replace(kernel, source=edits[kernel.name], line_slots=_all_slots(kernel, edits[kernel.name]))
        if kernel.name in edits else kernel
        for kernel in kernels
    )  # fmt: skip


def _all_slots(kernel: FusedKernel, source: str) -> tuple[tuple[int, ...], ...]:
    """An edited line that is still a generated one keeps its slots; a new one stands for the whole kernel."""
    known = dict(zip(kernel.source.splitlines(), kernel.line_slots, strict=False))
    everything = tuple(range(len(kernel.slots)))
    return tuple(known.get(line, everything if line.strip() else ()) for line in source.splitlines())
