"""What a kernel leaves to choose: it says what it would take by itself, and what else would do."""

from __future__ import annotations

from typing import Any

from compiler.errors import KernelError
from compiler.language.builtins.registry import builtin
from compiler.language.context import Context
from compiler.language.kernel import Choice
from compiler.language.values import static
from compiler.language.values.records import describe
from compiler.options import ChoiceValue


@builtin("choice")
def _choice(run: Context, name: Any, default: Any, candidates: Any) -> ChoiceValue:
    """The default, unless the kernel's decorator has another of the candidates: whoever tuned it put it there.

    Asked for again with the same values, it is the same choice; with others, one of its own, with a number.
    """
    if not isinstance(name, str) or not name:
        raise KernelError(f"choice(name, default, candidates) begins with a name, not {describe(name)}")
    kernel = run.host.kernel
    if kernel is None:
        raise KernelError(
            f"choice({name!r}, ...) stands in a kernel or in its @inline functions; what kernels share is given the "
            "value as a parameter"
        )
    usual, items = _plain(default), static.items(candidates)
    if items is None:
        raise KernelError(f"the candidates of choice({name!r}, ...) are a sequence, not {describe(candidates)}")
    offered = tuple(dict.fromkeys([usual, *map(_plain, items)]))
    named, number = name, 1
    while (known := kernel.choices.get(named)) is not None:
        if known.default == usual and known.candidates == offered:
            return known.taken
        number += 1
        named = f"{name} {number}"
    taken = kernel.wanted.get(named, usual)
    if taken not in offered:
        raise KernelError(f"{named} cannot be {taken!r} here; it may be {', '.join(map(repr, offered))}")
    kernel.choices[named] = Choice(named, usual, taken, offered)
    return taken


def _plain(value: Any) -> ChoiceValue:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple | list) and all(isinstance(item, bool | int | str) for item in value):
        return tuple(value)
    raise KernelError(f"what is chosen is a number, a word or several of them, not {describe(value)}")
