"""Operands that a kernel would rather find in memory than compute, as its `@stored` function says.

@stored("rows") def rows_stored(x, w, *, computed): return False, w.shape[0] > 64

It returns one truth for all operands, or one for each. It sees shapes and dtypes, and along which axis an operand will
lie in memory, if it is stored row by row before the views that the kernel sees it through. Of the op's parameters it is
given those that it names; `computed` says of each operand whether something is computed on it that may become part of
the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from compiler.errors import KernelError, Location
from compiler.language.interpreter import at_compile_time
from compiler.language.syntax.calls import inline
from compiler.language.syntax.functions import Generator
from compiler.language.values.dtypes import LANGUAGE_DTYPES
from compiler.language.values.loadables import FusedInput
from compiler.targets.target import Target

_NO_ELEMENTS = "what says which operands are stored has no elements, only shapes and dtypes"
_NO_CALLS = "what says which operands are stored calls only @inline functions"


@dataclass(frozen=True)
class GivenOperand:
    """An operand as a `@stored` function sees it."""

    type: Any
    along: int | None  # the axis along which it will lie in memory, if that is known
    computed: bool


def stored_operands(
    function: Generator,
    find: Callable[[str], Generator | None],
    target: Target,
    operands: Sequence[GivenOperand],
    parameters: Mapping[str, Any],
) -> tuple[bool, ...]:
    """For operands of these types, whether what is computed on each is stored for the kernel."""
    given = [
        FusedInput(_no_elements, LANGUAGE_DTYPES[one.type.dtype], one.type.shape, partial(_is_axis, one.along))
        for one in operands
    ]
    parameters = {**parameters, "computed": tuple(one.computed for one in operands)}
    asked = {one.name: parameters[one.name] for one in function.parameters if one.name in parameters}

    def known(name: str) -> Any:
        return target if name == "target" else find(name)

    with at_compile_time(function.file, function.line, value=_NO_ELEMENTS, calls=_NO_CALLS, find=known) as run:
        found = inline(run, function, given, asked, None)
    truths = (found,) * len(given) if isinstance(found, bool) else tuple(found) if _is_listed(found) else ()
    if len(truths) != len(given) or not all(isinstance(truth, bool) for truth in truths):
        words = f"{function.name} returns True or False, for all operands or for each of the {len(given)}"
        raise KernelError(words, Location(function.file, function.line, 1))
    return truths


def _is_axis(along: int | None, axis: int) -> bool:
    return axis == along


def _is_listed(found: Any) -> bool:
    return isinstance(found, (tuple, list))


def _no_elements(*_: Any) -> Any:
    raise KernelError(_NO_ELEMENTS)
