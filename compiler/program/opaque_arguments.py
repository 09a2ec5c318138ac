"""Opaque values at the edge of a model: what is given is checked and becomes bytes, bytes that come out become values.

Inside there are only bytes, so that programs, launchers and plans know nothing of opaque types.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.errors import ExecutionError
from compiler.graph.opaque import Layout, Opaque, check_value, sizes_of


@dataclass(frozen=True)
class Opaques:
    """The layouts of a model's inputs and outputs, None for those that are tensors or buffers."""

    inputs: tuple[Layout | None, ...]
    outputs: tuple[Layout | None, ...]


def run_on_values(
    opaques: Opaques, types: Sequence[Any], names: Sequence[str], given: Sequence[Any],
    run: Callable[[Sequence[Any]], Sequence[Any]],
) -> list[Any]:  # fmt: skip
    """Run something that takes and gives bytes on opaque values."""
    sizes = sizes_of([kind if one is None else one.type for one, kind in zip(opaques.inputs, types)], given)
    arrays = list(given)
    for number, (layout, value) in enumerate(zip(opaques.inputs, given)):
        label = f"input {number} ({names[number]})"
        if layout is None:
            if isinstance(value, Opaque):
                raise ExecutionError(f"{label}: expected an array, got a value of {value.type}")
            continue
        value = check_value(layout.type, value, label, sizes)
        if value.layout != layout.at(sizes):
            raise ExecutionError(f"{label}: this value of {value.type} was made with another layout; make it anew")
        arrays[number] = value.memory
    return [
        output if layout is None else Opaque(layout.at(sizes), output)
        for layout, output in zip(opaques.outputs, run(arrays), strict=True)
    ]
