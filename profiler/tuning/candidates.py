"""What there is to try: kernels of a model that leave something to choose, and how each of them can be changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from compiler.errors import CompilerError
from compiler.language.library import definition_digest
from compiler.options import Tuned
from compiler.passes.fusion.edits import problem_of, with_tuned
from compiler.trace import Trace
from profiler.tuning.records import Chosen, Tunable

if TYPE_CHECKING:
    from compiler.language.kernel import Choice
    from compiler.model import Model


def tunables(model: Model) -> list[Tunable]:
    """The kernels of a model that leave something to choose."""
    found = []
    for kernel in model.kernels:
        choices = kernel.record.choices
        if choices:
            defaults = tuple((choice.name, choice.default) for choice in choices)
            found.append(Tunable(kernel.name, problem_of(kernel.fused, model.target), defaults))
    return found


class Variations:
    """A model's kernels with other choices: which there are, without those that come to the same code."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._elaborated = lru_cache(maxsize=4096)(self._elaborate)

    def around(self, tunable: Tunable, base: Chosen) -> tuple[list[Chosen], list[str]]:
        """One choice changed at a time, from `base` on; and, in words, those that the kernel cannot be built with."""
        _, choices, text = self._elaborated(tunable, base)
        seen, found, broken = {text}, [], []
        for choice in choices:
            for value in choice.candidates:
                if value == choice.taken:
                    continue
                changed = tuple((dict(base) | {choice.name: value}).items())
                defaults = {c.name: c.default for c in choices}
                changed = tuple((name, v) for name, v in changed if defaults.get(name) != v)
                try:
                    text = self._elaborated(tunable, changed)[2]
                except CompilerError as error:
                    broken.append(f"{choice.name} {value}: {error.message}")
                    continue
                if text not in seen:
                    seen.add(text)
                    found.append(changed)
        return found, broken

    def definitions(self, tunable: Tunable, chosen: Chosen) -> Mapping[str, str]:
        """What a kernel depends on in the library, as it is by itself and as it was chosen."""
        used = set(self._elaborated(tunable, ())[0]) | set(self._elaborated(tunable, chosen)[0])
        return {name: definition_digest(self._model.library, name, False) for name in sorted(used)}

    def _elaborate(self, tunable: Tunable, chosen: Chosen) -> tuple[frozenset[str], Sequence[Choice], str]:
        from compiler.dialects.printing import print_with_places
        from compiler.passes.kernel.elaboration import elaborate

        model, tuned = self._model, (Tuned(tunable.problem, chosen),) if chosen else ()
        kernels = with_tuned([model.kernel(tunable.kernel).fused], tuned, model.target)
        made = elaborate(kernels, model.library, model.target, Trace())
        (record,) = made.kernels
        # What a launch asks for is no part of the code, and a difference all the same.
        text = f"{print_with_places(made.module)[0]}{replace(record, choices=())}"
        return made.uses[tunable.kernel], record.choices, text
