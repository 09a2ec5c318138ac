"""Which sizes of a call's tensors are fixed: those that were the same in every call so far.

The first call is compiled for its sizes alone. When another comes, sizes that differed become symbols, and sizes that
have always been equal the same symbol; so an operator is compiled for one more set of sizes at most a few times.
"""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]
Shapes = tuple[Shape, ...]


def generalised(seen: Sequence[Shapes]) -> tuple[tuple[int | str, ...], ...]:
    """Shapes that fit every call seen."""
    names: dict[tuple[int, ...], str] = {}
    made: list[tuple[int | str, ...]] = []
    for shapes in zip(*seen, strict=True):
        sizes: list[int | str] = []
        for history in zip(*shapes, strict=True):
            if len(set(history)) == 1:
                sizes.append(history[0])
            else:
                sizes.append(names.setdefault(history, f"S{len(names)}"))
        made.append(tuple(sizes))
    return tuple(made)
