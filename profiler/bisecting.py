"""Which fusion, kernel pass or LLVM pass makes a run wrong or slow: found by leaving out one half at a time.

Each trial compiles the graph once, here, without some of them, and runs what came of it in child processes. A trial
that is right (or faster than the whole) without some says that the guilty one is among those. It can be stopped at any
time: what is known by then is all that was found out so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from compiler.errors import CompilerError, ExecutionError
from compiler.temporary import temporary_folder
from profiler.analysis.accuracy import relative_error
from profiler.analysis.undisturbed import Times, times_of
from profiler.analysis.verdicts import CANNOT_TELL, FASTER, compare_times
from profiler.measure.measuring import measure, measure_once
from profiler.records import FINISHED, MeasureRequest

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.model import Model
    from profiler.measure.outcome import Outcome

WRONG, SLOW = "wrong", "slow"
MOST = 12
_PROCESSES, _BUDGET = 5, 1.0
Fusion = tuple[str, str]


@dataclass(frozen=True)
class Switch:
    """Something that can be left out: a pass by its name, or the fusion of two nodes."""

    name: str
    edge: Fusion | None = None


@dataclass(frozen=True)
class Trial:
    """One compilation: what was left out, and whether that was `good`; None where it could not be told, and why."""

    left_out: tuple[str, ...]
    good: bool | None
    words: str


@dataclass(frozen=True)
class Found:
    """What is known so far: the suspects that are left, in order, and every trial; `sure` where one was tried alone."""

    kind: str
    suspects: tuple[Switch, ...]
    trials: tuple[Trial, ...]
    sure: bool = False
    ended: str = ""

    @property
    def right(self) -> bool:
        """Whether the results of the whole are right, so that none of it can be guilty of wrong ones."""
        return self.kind == WRONG and bool(self.trials) and self.trials[0].good is True

    @property
    def words(self) -> str:
        """The finding in a sentence."""
        harm = "makes the results wrong" if self.kind == WRONG else "makes it slower"
        if self.ended:
            return self.ended
        if len(self.suspects) == 1:
            certain = "" if self.sure else ", by elimination"
            return f"{self.suspects[0].name} {harm}{certain}, after {len(self.trials)} compilations"
        named = ", ".join(switch.name for switch in self.suspects[:8])
        more = f" and {len(self.suspects) - 8} more" if len(self.suspects) > 8 else ""
        return f"one of {len(self.suspects)} {harm}: {named}{more}; {len(self.trials)} compilations were made"


@dataclass(frozen=True, eq=False)
class Subject:
    """What is bisected: a graph, how it is run, its inputs, and the results it should have."""

    request: MeasureRequest
    graph: Graph
    arrays: Sequence[np.ndarray]
    expected: Sequence[np.ndarray]
    bound: float


def bisect(subject: Subject, kind: str, most: int = MOST) -> Iterator[Found]:
    """Find the guilty one; what is known is given after each compilation, and may be taken for the last word."""
    return _Bisection(subject, kind, most).run()


class _Bisection:
    def __init__(self, subject: Subject, kind: str, most: int) -> None:
        self._subject, self._kind, self._most = subject, kind, most
        self._trials: list[Trial] = []
        self._whole: Times | None = None

    def run(self) -> Iterator[Found]:
        model = self.compiled(())
        groups = _switches(model)
        suspects = [switch for group in groups for switch in group]
        if self._kind == WRONG:
            whole = self._tried(model, ())
            yield self._found(suspects)
            if whole.good is not False:
                yield self._found([], "its results are right: there is nothing to find")
                return
            without = self._try(suspects)
            yield self._found(suspects)
            if without.good is None:
                yield self._found([], f"it cannot be told: without all of them {without.words}")
                return
            if not without.good:
                yield self._found([], "its results are wrong whatever is left out: it is none of these")
                return
        else:
            self._whole = self._timed(model, ())
            yield self._found(suspects)
            for group in groups[:-1]:  # passes first: without fusions a model is slower, whoever is guilty
                if group and len(self._trials) < self._most:
                    trial = self._try(group)
                    if trial.good:
                        suspects = group
                        break
                    if trial.good is False:
                        suspects = [switch for switch in suspects if switch not in group]
                    yield self._found(suspects)
        yield from self._halved(suspects)

    def _halved(self, suspects: list[Switch]) -> Iterator[Found]:
        alone = False
        while len(suspects) > 1 and len(self._trials) < self._most:
            half, rest = suspects[: len(suspects) // 2], suspects[len(suspects) // 2 :]
            good = self._try(half).good
            if good is None and len(self._trials) < self._most:  # the other half may tell
                half, rest = rest, half
                good = self._try(half).good
            if good is None:
                break
            alone = good
            suspects = half if alone else rest
            yield self._found(suspects)
        if len(suspects) == 1 and not alone and len(self._trials) < self._most:
            trial = self._try(suspects)
            if trial.good is False:
                words = "no one alone" if self._kind == WRONG else "no one alone makes it measurably slower"
                yield self._found([], f"{words}: leaving out {suspects[0].name}, the last that was left, does not help")
                return
            alone = bool(trial.good)
        yield self._found(suspects, sure=alone)

    def _found(self, suspects: Sequence[Switch], ended: str = "", *, sure: bool = False) -> Found:
        return Found(self._kind, tuple(suspects), tuple(self._trials), sure, ended)

    def _try(self, left_out: Sequence[Switch]) -> Trial:
        try:
            model = self.compiled(left_out)
        except CompilerError as error:
            return self._noted(left_out, None, f"it does not compile: {error.message}")
        if self._kind == WRONG:
            return self._tried(model, left_out)
        self._timed(model, left_out)
        return self._trials[-1]

    def compiled(self, left_out: Sequence[Switch]) -> Model:
        """The graph without some of them."""
        from compiler import load_library
        from compiler.pipeline import compile_graph

        request = self._subject.request
        cut = {switch.edge for switch in left_out if switch.edge is not None}
        passes = {switch.name for switch in left_out if switch.edge is None}
        options = replace(request.options, force_cut=request.options.force_cut | cut, cache=False)
        library = load_library(*map(Path, request.libraries)) if request.libraries else None
        return compile_graph(self._subject.graph, options, library, without=passes)

    def _tried(self, model: Model, left_out: Sequence[Switch]) -> Trial:
        """Whether the results are right."""
        asked = replace(self._subject.request, repeat=1, count=False)
        outcome = self._run(model, asked, partial(measure_once, outputs=True, brief=True))  # its results are enough
        if outcome.result.status != FINISHED:  # one that crashes is no better than one that is wrong
            good, words = False, f"it {outcome.result.error}"
        else:
            pairs = zip(outcome.outputs, self._subject.expected, strict=True)
            worst = max((relative_error(got, wanted) for got, wanted in pairs), default=0.0)
            good = worst <= self._subject.bound
            words = f"relative error {worst:.2g}, bound {self._subject.bound:.0e}"
        return self._noted(left_out, good, words)

    def _noted(self, left_out: Sequence[Switch], good: bool | None, words: str) -> Trial:
        self._trials.append(Trial(tuple(switch.name for switch in left_out), good, words))
        return self._trials[-1]

    def _timed(self, model: Model, left_out: Sequence[Switch]) -> Times | None:
        """Its times, where it came to an end; and whether they are measurably shorter than those of the whole."""
        asked = replace(self._subject.request, repeat=None, processes=_PROCESSES, budget=_BUDGET, count=False)
        result = self._run(model, asked, measure).result
        if result.status != FINISHED:
            if self._whole is None:
                raise ExecutionError(f"it cannot be timed: it {result.error}")
            self._noted(left_out, None, f"it {result.error}")
            return None
        times = times_of(result)
        good: bool | None = False
        words = "the whole"
        if self._whole is not None:
            verdict = compare_times(self._whole, times)
            good = None if verdict.verdict == CANNOT_TELL else verdict.verdict == FASTER
            words = f"{verdict.words} ({verdict.ratio:.2f} of the whole's time)"
        self._noted(left_out, good, words)
        return times

    def _run(self, model: Model, request: MeasureRequest, run: Callable[..., Outcome]) -> Outcome:
        with temporary_folder("bisect") as folder:
            path = Path(folder, "trial.kgx")
            model.save(path, weights="inline")
            asked = replace(request, artifact=str(path), sample=False)
            outcome = run(asked, self._subject.graph, self._subject.arrays)
        if outcome.error is not None:
            raise ExecutionError(f"a trial failed: it {outcome.error}")
        return outcome


def _switches(model: Model) -> list[list[Switch]]:
    """What can be left out of a compilation: kernel passes, LLVM's passes, and the fusions it made, in groups."""
    from compiler.pipeline import optional_passes

    names = optional_passes(model.options)
    edges = [(d.producer, d.consumer) for d in model.ledger if d.accepted]
    return [
        [Switch(name) for name in names if name.startswith("kernel:")],
        [Switch(name) for name in names if name.startswith("llvm:")],
        [Switch(f"fusing {a} into {b}", (a, b)) for a, b in dict.fromkeys(edges)],
    ]


_LLVM_NAMES = {
    "always-inliner": "AlwaysInlinerPass", "global-dead-code-eliminate": "GlobalDCEPass", "sroa": "SROAPass",
    "instruction-combine": "InstCombinePass", "simplify-cfg": "SimplifyCFGPass", "loop-unroll": "LoopUnrollPass",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class GuiltyStep:
    """A guilty pass at work: a model, the kernel it changes, and its snapshots before and after, by number."""

    model: Model
    kernel: str
    before: int
    after: int


def guilty_step(subject: Subject, guilty: Switch) -> GuiltyStep | None:
    """What a pass does to the first kernel that it changes; None of a fusion, which makes another kernel."""
    stage, _, name = guilty.name.partition(":")
    if guilty.edge is not None:
        return None
    name, _, turn = name.partition(":")
    wanted = _LLVM_NAMES.get(name, name) if stage == "llvm" else name
    model = _Bisection(subject, WRONG, 0).compiled(())
    for kernel in model.kernels:
        steps = model.snapshot(kernel.name)
        runs = [at for at, step in enumerate(steps) if (step.stage, step.name) == (stage, wanted) and at]
        chosen = runs[int(turn or 1) - 1 :][:1]
        if chosen:
            return GuiltyStep(model, kernel.name, chosen[0] - 1, chosen[0])
    return None


def difference(subject: Subject, guilty: Switch) -> tuple[str, str, str]:
    """The IR before and after a pass, of the first kernel that it changes, and that kernel's name; empty where none is.

    A fusion has no such texts: what it makes is another kernel.
    """
    found = guilty_step(subject, guilty)
    if found is None:
        return "", "", ""
    steps = found.model.snapshot(found.kernel)
    return steps[found.before].text, steps[found.after].text, found.kernel
