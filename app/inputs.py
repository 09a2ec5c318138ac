"""Random inputs to run a graph on: never zeros, indices in range, the same for the same seed.

Values of opaque types are the exception: what is in one only its kernels know, so that it begins as all zeros.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.text_tables import size as size_text
from compiler.errors import ExecutionError
from compiler.graph.dims import evaluate, product
from compiler.graph.dtypes import dtype_info, numpy_dtype
from compiler.graph.types import OpaqueBufferType, OpaqueType

if TYPE_CHECKING:
    from compiler.graph.graph import Graph
    from compiler.graph.opaque import Layout

# What may stand between an input and the op that gives it its role.
_SAME_VALUES = frozenset({"mo.cast", "mo.buffer_load"})  # besides views


def graph_sizes(
    graph: Graph, defaults: Mapping[str, int], chosen: Mapping[str, int], how: str = "with --dim"
) -> dict[str, int]:
    """The size of each symbol: the one chosen, else the source's own; a symbol that has neither is an error.

    `how` tells the user where a size can be given.
    """
    names = sorted(graph.symbols)
    for name in chosen:
        if name not in names:
            listing = f"its dims are {', '.join(names)}" if names else "it has none"
            raise ExecutionError(f"the graph has no dim {name}; {listing}")
    sizes = {name: chosen.get(name, defaults.get(name, -1)) for name in names}
    missing = [name for name, size in sizes.items() if size < 0]
    if missing:
        raise ExecutionError(f"no size is known for dim {missing[0]}; give one {how} {missing[0]}=N")
    return sizes


def random_inputs(
    graph: Graph, sizes: Mapping[str, int], seed: int, libraries: Sequence[Path | str] = ()
) -> list[np.ndarray]:
    """One array an input: floats of magnitude 0.1 to 1, small integers, indices inside the axis they select from.

    Weights are scaled by their fan-in, so that deep graphs neither overflow nor saturate. An opaque value is its bytes,
    all zeros, as many as the kernels in `libraries` lay out.
    """
    rng = np.random.default_rng(seed)
    types: list[Any] = list(graph.input_types)
    layouts = _layouts(graph, libraries)
    shapes = [
        (evaluate(layout.bytes, sizes),) if layout else tuple(evaluate(size, sizes) for size in kind.shape)
        for kind, layout in zip(types, layouts)
    ]
    _check_shapes(shapes, [1 if layout else dtype_info(kind.dtype).bytes for kind, layout in zip(types, layouts)])
    return [
        np.zeros(shape, np.uint8) if layout else _random(rng, kind.dtype, shape, _roles(of, sizes))
        for kind, layout, shape, of in zip(types, layouts, shapes, _uses(graph))
    ]


def opaque_inputs(graph: Graph) -> list[str]:
    """The inputs that begin as zeros, each with its type."""
    pairs = zip(graph.input_names, graph.input_types)
    return [f"{name} ({kind})" for name, kind in pairs if isinstance(kind, OpaqueType | OpaqueBufferType)]


def as_values(graph: Graph, arrays: Sequence[np.ndarray], libraries: Sequence[Path | str]) -> list[Any]:
    """Arrays as `execute` and `reference` take them: the bytes of an opaque value as that value."""
    from compiler.graph import opaque

    return opaque.as_values(graph.input_types, graph.input_names, arrays, _layout_in(libraries))


def _layout_in(libraries: Sequence[Path | str]) -> Callable[[Any], Layout]:
    """How the kernels of some folders lay a type out; they are read when the first is asked for."""

    def layout(kind: Any) -> Layout:
        from compiler import load_library

        return load_library(*map(Path, libraries)).layout(kind)

    return layout


def _layouts(graph: Graph, libraries: Sequence[Path | str]) -> list[Layout | None]:
    """How each input lies in memory that is opaque; None for the others."""
    layout = _layout_in(libraries)
    return [layout(kind) if isinstance(kind, OpaqueType | OpaqueBufferType) else None for kind in graph.input_types]


def _check_shapes(shapes: list[tuple[int, ...]], element_bytes: list[int]) -> None:
    """Refuse sizes that cannot be, before memory is asked for: the system may grant it and then end the program."""
    import psutil

    for position, shape in enumerate(shapes):
        if any(size < 0 for size in shape):
            raise ExecutionError(f"input {position} would have the shape {shape}; choose other sizes with --dim")
    needed = sum(math.prod(shape) * width for shape, width in zip(shapes, element_bytes))
    free = psutil.virtual_memory().available
    if needed > free:
        raise ExecutionError(f"the inputs take {size_text(needed)}, more than the {size_text(free)} of memory free")


@dataclass(frozen=True)
class _Roles:
    """What an input is used for: how many elements it may pick from, and how many products of it are summed up."""

    picks_from: int | None = None
    fan_in: int = 1


def _random(rng: np.random.Generator, dtype: str, shape: tuple[int, ...], roles: _Roles) -> np.ndarray:
    kind, twin = dtype_info(dtype).kind, numpy_dtype(dtype)
    if kind == "b":
        return rng.random(shape, dtype=np.float32) < 0.5
    if kind == "f":
        values = rng.random(shape, dtype=np.float64 if dtype == "f64" else np.float32)
        values *= 0.9 * roles.fan_in**-0.5
        values += 0.1 * roles.fan_in**-0.5
    elif roles.picks_from is not None:
        return rng.integers(0, max(roles.picks_from, 1), shape, dtype=np.int64).astype(twin)
    elif kind == "u":
        return rng.integers(1, 256, shape, dtype=twin)
    else:
        values = rng.integers(1, 9, shape, dtype=twin)
    np.negative(values, out=values, where=rng.random(shape, dtype=np.float32) < 0.5)
    return values.astype(twin, copy=False)


def _roles(uses: Sequence[tuple[Any, int]], sizes: Mapping[str, int]) -> _Roles:
    """What an input is for, by the ops that take it."""
    picks_from, fan_in = None, 1
    for user, position in uses:
        if user.name == "mo.gather" and position == 1:
            length = evaluate(user.operands[0].type.shape[user.attrs["axis"]], sizes)
            picks_from = length if picks_from is None else min(picks_from, length)
        elif user.name == "mo.matmul" and position == 1:
            fan_in = max(fan_in, evaluate(user.operands[1].type.shape[-2], sizes))
        elif user.name == "mo.conv2d" and position == 1:
            fan_in = max(fan_in, evaluate(product(user.operands[1].type.shape[1:]), sizes))
    return _Roles(picks_from, fan_in)


def _uses(graph: Graph) -> list[list[tuple[Any, int]]]:
    """For each input the ops that take it and in which place, also by way of views and casts."""
    found: list[list[tuple[Any, int]]] = [[] for _ in graph.inputs]
    behind: dict[Any, set[int]] = {x: {number} for number, x in enumerate(graph.inputs)}
    for op in graph.ops:
        for position, operand in enumerate(op.operands):
            inputs = behind.get(operand, set())
            if op.spec.view or op.name in _SAME_VALUES:
                behind.setdefault(op.results[0], set()).update(inputs)
                continue
            for number in inputs:
                found[number].append((op, position))
    return found
