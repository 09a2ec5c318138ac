"""Shapes and strides, known or symbolic: what can be said about a view before any element of it is asked for."""

from __future__ import annotations

from compiler.errors import KernelError
from compiler.graph.dims import Dim, mod, product
from compiler.language.values.records import StaticSize

Shape = tuple[StaticSize, ...]


def row_major(shape: Shape) -> Shape:
    """The strides of a dense tensor."""
    strides: list[StaticSize] = []
    step: StaticSize = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def kept_axes(old: Shape, new: Shape) -> tuple[bool, ...]:
    """Which axes of an old shape go on as they are in a new one, to which it is broadcast."""
    kept = new[len(new) - len(old) :]
    if len(new) < len(old) or any(a not in (1, b) for a, b in zip(old, kept, strict=True)):
        raise KernelError(f"{shape_text(old)} cannot be broadcast to {shape_text(new)}")
    return tuple(a == b for a, b in zip(old, kept, strict=True))


def shape_text(shape: Shape) -> str:
    """How messages write a shape."""
    return f"({', '.join(str(size) for size in shape)})"


def reshaped_strides(old: Shape, strides: Shape, new: Shape) -> Shape | None:
    """Strides that show the same memory under another shape, or None when no strides can."""
    if any(size == 0 for size in old) or any(size == 0 for size in new):
        return row_major(new)
    pairs = [(size, stride) for size, stride in zip(old, strides, strict=True) if size != 1]
    result: list[StaticSize] = [0] * len(new)
    k = 0
    axis = 0
    while axis < len(new):
        if new[axis] == 1:
            axis += 1
            continue
        if k >= len(pairs):
            return None
        first, group = axis, [axis]
        old_count, new_count = pairs[k][0], new[axis]
        chunk = [pairs[k]]
        while old_count != new_count:
            if mod(old_count, new_count) == 0 and axis + 1 < len(new):
                axis += 1
                group.append(axis)
                new_count = new_count * new[axis]
            elif mod(new_count, old_count) == 0 and k + 1 < len(pairs):
                k += 1
                chunk.append(pairs[k])
                old_count = old_count * pairs[k][0]
            else:
                return None
        if any(chunk[i][1] != chunk[i + 1][1] * chunk[i + 1][0] for i in range(len(chunk) - 1)):
            return None
        step = chunk[-1][1]
        for position in reversed(group):
            result[position] = step
            step = step * new[position]
        axis = max(axis, first) + 1
        k += 1
    return tuple(result) if k == len(pairs) else None


def element_count(shape: Shape) -> int | Dim:
    """How many elements a shape has."""
    return product(tuple(shape))
