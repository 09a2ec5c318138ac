"""Tuning a model: candidates are raced, the slower half of them dropped in each round, and the last one has to prove
itself against what the kernel takes by itself, in turns, before it counts.

A trial is the whole model in a process of its own, with a candidate of every kernel at once: each kernel is judged by
its own launches, where they stand in the model. What the race saw decides only whom to try: the verdict is of pairs of
processes that were made for it. Where a choice was confirmed the others are tried again from there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from compiler.errors import CompilerError, ExecutionError
from compiler.options import Tuned
from profiler.analysis.accuracy import relative_error
from profiler.analysis.undisturbed import Times
from profiler.analysis.verdicts import FASTER, compare_family
from profiler.measure.in_turns import PAIRS
from profiler.measure.measuring import measure_once
from profiler.measure.processes import MORE, is_steady, joined
from profiler.records import FINISHED, MeasuredRun
from profiler.tuning.candidates import Variations, tunables
from profiler.tuning.records import Chosen, Row, State, Subject, choice_words

if TYPE_CHECKING:
    from compiler.model import Model
    from profiler.measure.outcome import Outcome

TRIAL_SECONDS = 0.2
"""What one process spends on timing: there are many of them."""
LEAST_SHARE = 0.02
"""Kernels that take less of the model's time are not worth trying, unless they are asked for by name."""
_PROMISING = 0.99  # of the time of the default: less is not worth proving
_FUTILE = 4  # pairs after which one that is slower in the middle is given up
_ROUNDS = 5
_WAITING, _RACING = "not tried yet", "being tried"
_UNDECIDED = {_WAITING: "not tried: the time was over", _RACING: "the time was over before it was decided"}


class Unfit(CompilerError):
    """A candidate that cannot be built, does not run, or computes something else."""


@dataclass
class _Racer:
    """A candidate while it is raced, with its times as logarithms of what the default took in the same round."""

    chosen: Chosen
    ratios: list[float]

    @property
    def mean(self) -> float:
        return float(np.mean(self.ratios)) if self.ratios else float("inf")


class Tuning:
    """One model, tuned within a time; `state` is what is known at any moment, also after it was interrupted."""

    def __init__(
        self, subject: Subject, budget: float, only: str = "", *, cancelled: Callable[[], bool] = lambda: False,
        draw: random.Random | None = None, seconds: float = TRIAL_SECONDS,
    ) -> None:  # fmt: skip
        self._subject, self._budget, self._only, self._cancelled = subject, budget, only, cancelled
        self._draw, self._seconds = draw or random.Random(), seconds
        self._begun = monotonic()
        self._trial_cost = 1.0  # seconds, as the last trials took
        self._checked: dict[tuple[tuple[str, Chosen], ...], str] = {}  # what was found wrong with an assignment
        self._expected: Sequence[np.ndarray] = ()
        self._rows: dict[str, Row] = {}
        self._words = "compiling"

    @property
    def state(self) -> State:
        """What is known by now."""
        return State(tuple(self._rows.values()), self._words, min((monotonic() - self._begun) / self._budget, 1.0))

    def run(self) -> Iterator[State]:
        """Go on until nothing better is found or the time is over; what is known is given as it comes."""
        self._model = self._compiled({})
        self._table = {each.kernel: each for each in tunables(self._model)}
        self._variations = Variations(self._model)
        if self._only and self._only not in self._table:
            self._model.kernel(self._only)  # an unknown name is said to be one
            raise ExecutionError(f"{self._only} leaves nothing to choose")
        self._rows = {name: Row(each, _WAITING) for name, each in self._table.items() if self._only in ("", name)}
        yield self._told("timing what there is")
        outcome = self._trial({}, outputs=True)
        self._expected = [np.array(each) for each in outcome.outputs]
        open_ = self._worth_trying(outcome.result)
        base: dict[str, Chosen] = {name: () for name in open_}
        tried: dict[str, set[Chosen]] = {name: {()} for name in open_}
        while open_ and not self._is_over(2 * PAIRS):
            racers = {name: self._racers(name, base[name], tried[name]) for name in open_}
            racers = {name: each for name, each in racers.items() if each}
            if not racers:
                break
            yield from self._race(racers, base)
            finalists = {name: each[0].chosen for name, each in racers.items() if each and self._promises(name, each)}
            better = (yield from self._prove(finalists, base)) if finalists else []
            for name in better:
                base[name] = finalists[name]
            open_ = better
        for name, row in self._rows.items():
            if row.words in _UNDECIDED:
                self._rows[name] = replace(row, words=_UNDECIDED[row.words])
        yield self._told("done")

    # What there is to try

    def _worth_trying(self, result: MeasuredRun) -> list[str]:
        """The kernels that take a part of the time that matters, those that take most first."""
        total = float(np.median(np.sum([launch.samples for launch in result.launches], axis=0)))
        shares: dict[str, float] = {}
        for launch in result.launches:
            shares[launch.kernel] = shares.get(launch.kernel, 0.0) + float(np.median(launch.samples)) / max(total, 1.0)
        for name, row in self._rows.items():
            if shares.get(name, 0.0) < LEAST_SHARE and not self._only:
                self._rows[name] = replace(row, words=f"not tried: it takes {shares.get(name, 0.0):.1%} of the time")
        names = [name for name, row in self._rows.items() if row.words == _WAITING]
        return sorted(names, key=lambda name: -shares.get(name, 0.0))

    def _racers(self, name: str, base: Chosen, tried: set[Chosen]) -> list[_Racer]:
        found, broken = self._variations.around(self._table[name], base)
        new = [chosen for chosen in found if chosen not in tried]
        tried.update(new)
        row = self._rows[name]
        dropped = (*row.dropped, *(words for words in broken if words not in row.dropped))
        words = row.words if row.best else _RACING if new else "there is nothing else to choose"
        self._rows[name] = replace(row, dropped=dropped, tried=row.tried + len(new), words=words)
        self._draw.shuffle(new)
        return [_Racer(chosen, []) for chosen in new]

    # The race

    def _race(self, racers: dict[str, list[_Racer]], base: Mapping[str, Chosen]) -> Iterator[State]:
        """Rounds of one process for each that is still in it; the slower half goes after each. The best is first."""
        for number in range(1, _ROUNDS + 1):
            starting = {name: tuple(each) for name, each in racers.items()}
            order = list(range(-1, max(map(len, starting.values()))))
            self._draw.shuffle(order)
            usual: Outcome | None = None
            seen: list[tuple[str, _Racer, MeasuredRun]] = []
            for at, lane in enumerate(order):
                if self._is_over(2 * PAIRS) and seen:
                    break
                yield self._told(f"round {number}: trial {at + 1} of {len(order)}")
                if lane < 0:
                    usual = self._trial(dict(base))
                    continue
                entered = {name: each[lane] for name, each in starting.items() if lane < len(each)}
                seen += self._tried(entered, base, racers)
            usual = usual or self._trial(dict(base))
            for name, racer, result in seen:
                racer.ratios.append(_needs(result, name) - _needs(usual.result, name))
            for name, each in racers.items():
                each.sort(key=lambda racer: racer.mean)
                racers[name] = each[: max(len(each) // 2, 1)]
            if self._is_over(2 * PAIRS) or all(len(each) <= 1 for each in racers.values()):
                return

    def _tried(
        self, entered: Mapping[str, _Racer], base: Mapping[str, Chosen], racers: Mapping[str, list[_Racer]]
    ) -> list[tuple[str, _Racer, MeasuredRun]]:
        """A trial of one candidate of each kernel; where it does not do, each is tried alone, and who fails is out."""
        try:
            outcome = self._trial(dict(base) | {name: racer.chosen for name, racer in entered.items()})
            return [(name, racer, outcome.result) for name, racer in entered.items()]
        except Unfit as error:
            if len(entered) > 1:
                return [one for name, racer in entered.items() for one in self._tried({name: racer}, base, racers)]
            ((name, racer),) = entered.items()
            racers[name].remove(racer)
            row = self._rows[name]
            words = row.words if racers[name] or row.verdict else "no candidate could be used"
            dropped = (*row.dropped, f"{choice_words(racer.chosen)}: {error.message}")
            self._rows[name] = replace(row, dropped=dropped, words=words)
            return []

    def _promises(self, name: str, racers: Sequence[_Racer]) -> bool:
        row, best = self._rows[name], racers[0]
        if best.mean < np.log(_PROMISING):
            return True
        if not row.best and best.ratios:
            ratio = f"{np.exp(best.mean):.2f}"
            self._rows[name] = replace(row, words=f"no candidate seemed faster; the best took {ratio} of the time")
        return False

    # The proof

    def _prove(self, finalists: Mapping[str, Chosen], base: Mapping[str, Chosen]) -> Generator[State, None, list[str]]:
        """Pairs of the model as it is and with the finalists, and a verdict for each kernel; who proved to be faster.

        The base of a kernel is what was proved before, so that a ratio to the default is a product of ratios: what is
        told is against the default, measured anew.
        """
        usual = {name: () for name in base} | {name: () for name in finalists}
        sides = (usual, dict(base) | dict(finalists))
        taken: tuple[list[Outcome], list[Outcome]] = [], []
        steady = number = 0
        better: list[str] = []
        while steady < PAIRS and number < MORE * PAIRS and (number < PAIRS or not self._is_over(0)):
            number += 1
            yield self._told(f"proving {', '.join(finalists)}: pair {number} of {PAIRS}")
            first = self._draw.randrange(2)
            for side in (first, 1 - first):
                taken[side].append(self._trial(sides[side]))
            steady += all(is_steady(outcomes[-1].result) for outcomes in taken)
            if number == _FUTILE and all(_slower(taken, name) for name in finalists):
                break
        results = [joined(outcomes, self._subject.request).result for outcomes in taken]
        pairs = [tuple(kernel_times(result, name) for result in results) for name in finalists]
        for (name, chosen), verdict in zip(finalists.items(), compare_family([(a, b) for a, b in pairs], turns=True)):
            row = self._rows[name]
            known = row.verdict if row.faster else None
            if verdict.verdict == FASTER and (known is None or verdict.ratio < known.ratio):
                definitions = self._variations.definitions(self._table[name], chosen)
                self._rows[name] = replace(
                    row, best=chosen, verdict=verdict, words=verdict.words, definitions=definitions
                )
                better.append(name)
            elif known is None:
                words = f"{choice_words(chosen)}: {verdict.words}"
                self._rows[name] = replace(row, verdict=verdict, words=words)
        yield self._told("proved")
        return better

    # A trial

    def _trial(self, chosen: Mapping[str, Chosen], outputs: bool = False) -> Outcome:
        """The model with these choices, in a process of its own; an Unfit where it does not do what it should."""
        key = tuple(sorted((name, each) for name, each in chosen.items() if each))
        if known := self._checked.get(key):
            raise Unfit(known)
        begun = monotonic()
        fresh = bool(key) and key not in self._checked
        try:
            if fresh:
                self._compiled(chosen)
            outcome = self._measured(chosen, outputs or fresh)
            if fresh:
                self._check(outcome.outputs)
                self._checked[key] = ""
        except Unfit as error:
            self._checked[key] = error.message
            raise
        if not fresh:  # compiling is done once
            self._trial_cost = monotonic() - begun
        return outcome

    def _compiled(self, chosen: Mapping[str, Chosen]) -> Model:
        """The model, compiled here so that the processes find it in the cache."""
        from compiler.pipeline import compile_graph

        subject = self._subject
        try:
            return compile_graph(subject.graph, self._options(chosen), subject.library)
        except CompilerError as error:
            if any(chosen.values()):
                raise Unfit(f"it cannot be compiled: {error.message}") from None
            raise

    def _measured(self, chosen: Mapping[str, Chosen], outputs: bool) -> Outcome:
        subject = self._subject
        request = replace(
            subject.request, options=self._options(chosen), processes=1, repeat=None, budget=self._seconds,
            count=False, sample=False,
        )  # fmt: skip
        outcome = measure_once(
            request, subject.graph, subject.arrays, outputs=outputs, brief=True, cancelled=self._cancelled
        )
        if self._cancelled():
            raise KeyboardInterrupt
        if outcome.error is not None or outcome.result.status != FINISHED:
            words = f"it {outcome.error or outcome.result.error}"
            if any(chosen.values()):
                raise Unfit(words)
            raise outcome.error or ExecutionError(f"the run failed: {words}")
        return outcome

    def _options(self, chosen: Mapping[str, Chosen]):
        tuned = tuple(Tuned(self._table[name].problem, each) for name, each in chosen.items() if each)
        return replace(self._subject.request.options, tuned=tuned)

    def _check(self, outputs: Sequence[np.ndarray]) -> None:
        """Raise where results are not those of the model as it is."""
        for got, wanted in zip(outputs, self._expected, strict=True):
            bound = self._subject.bound if wanted.dtype.kind not in "iub" else 0.0
            error = relative_error(got, wanted)
            if not error <= bound:
                raise Unfit(f"its results are wrong: relative error {error:.2g}, bound {bound:.0e}")

    def _is_over(self, trials: int) -> bool:
        """Whether there is no time left for so many trials."""
        return monotonic() - self._begun + trials * self._trial_cost >= self._budget

    def _told(self, words: str) -> State:
        self._words = words
        return self.state


def kernel_times(result: MeasuredRun, kernel: str) -> Times:
    """What the launches of a kernel take in each call of the model."""
    taken = np.sum([launch.samples for launch in result.launches if launch.kernel == kernel], axis=0)
    spans = np.sum([launch.samples for launch in result.launches], axis=0)
    lost = np.asarray(result.lost_traced) if len(result.lost_traced) == len(spans) else None
    threads = int(result.conditions.get("threads") or 1)
    return Times(taken, result.blocks, result.processes, lost, threads, spans)


def _needs(result: MeasuredRun, kernel: str) -> float:
    """The logarithm of what a kernel needs in a process: of undisturbed calls, else the processor time that it had."""
    return float(kernel_times(result, kernel).own_logs[0])


def _slower(taken: tuple[list[Outcome], list[Outcome]], name: str) -> bool:
    """Whether the second of two is slower in the middle of the pairs so far."""
    logs = [[_needs(outcome.result, name) for outcome in outcomes] for outcomes in taken]
    return float(np.median(np.subtract(logs[1], logs[0]))) >= 0
