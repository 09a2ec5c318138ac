"""Compiled results against the NumPy reference: how far apart they are, where, and whether the dtype allows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from app.errors import CheckFailed
from compiler.graph.dtypes import from_numpy, is_float
from compiler.graph.opaque import Opaque, as_values, sizes_of
from compiler.graph.types import OpaqueType, format_shape
from profiler.analysis.accuracy import relative_errors

if TYPE_CHECKING:
    from compiler.graph.graph import Graph

# Relative error that rounding alone may explain, by the coarsest float a graph computes with.
BOUNDS = {"f64": 1e-9, "f32": 1e-4, "f16": 5e-3, "bf16": 4e-2}


@dataclass(frozen=True)
class OutputCheck:
    """One output's comparison; `where` is the index of the worst element."""

    output: int
    dtype: str
    shape: tuple[int, ...]
    error: float
    bound: float
    where: tuple[int, ...]
    got: float
    wanted: float

    @property
    def ok(self) -> bool:
        """Whether the error is within the bound (NaN and infinity never are)."""
        return self.error <= self.bound

    def __str__(self) -> str:
        exact = not self.bound
        if self.ok:
            return f"output {self.output}: {'equal' if exact else self._error}"
        place = f"[{', '.join(map(str, self.where))}]"
        return (
            f"output {self.output} is {self.got:.6g} at {place} where the reference has {self.wanted:.6g}"
            f"{'' if exact else f': {self._error}'}"
        )

    @property
    def _error(self) -> str:
        return f"relative error {self.error:.2g}, bound {self.bound:.0e}"


def error_bound(graph: Graph) -> float:
    """The bound for a graph: that of the coarsest float dtype among its values."""
    values = [*graph.inputs, *(result for op in graph.ops for result in op.results)]
    dtypes = {value.type.dtype for value in values if hasattr(value.type, "dtype")}  # type: ignore[attr-defined]
    return max((BOUNDS[dtype] for dtype in dtypes if dtype in BOUNDS), default=0.0)


def check_against_reference(
    graph: Graph, inputs: Sequence[np.ndarray], got: Sequence[np.ndarray], libraries: Sequence[Path] = ()
) -> list[OutputCheck]:
    """Outputs against plain NumPy, which runs on copies of its own: a graph may write to its inputs.

    `libraries` are the folders of kernels that say how opaque values lie in memory.
    """
    from compiler import load_library, reference

    copies = [x.copy() for x in inputs]
    inputs = as_values(graph.input_types, graph.input_names, copies, lambda kind: load_library(*libraries).layout(kind))
    wanted = reference(graph, *inputs)
    if any(isinstance(kind, OpaqueType) for kind in graph.output_types):
        return _check_fields(graph, inputs, got, wanted, libraries)
    return check_outputs(got, wanted, error_bound(graph))


def _check_fields(
    graph: Graph, inputs: Sequence[Any], got: Sequence[np.ndarray], wanted: Sequence[Any],
    libraries: Sequence[Path],
) -> list[OutputCheck]:  # fmt: skip
    """As `check_outputs`, with opaque outputs field by field."""
    from compiler import load_library

    library, sizes = load_library(*libraries), sizes_of(graph.input_types, inputs)
    checks: list[OutputCheck] = []
    for number, (kind, mine, theirs) in enumerate(zip(graph.output_types, got, wanted, strict=True)):
        if not isinstance(kind, OpaqueType):
            checks.append(_check(number, mine, theirs, error_bound(graph)))
            continue
        for name, held in Opaque(library.layout(kind).at(sizes), mine).fields().items():
            if name not in theirs:
                raise CheckFailed(f"output {number}: the reference gives no field {name} of {kind}")
            checks.append(_check(number, held, theirs[name], BOUNDS.get(from_numpy(held.dtype), 0.0)))
    return checks


def check_outputs(got: Sequence[np.ndarray], wanted: Sequence[np.ndarray], bound: float) -> list[OutputCheck]:
    """Compare output by output; integers and bools must be equal. Another dtype or shape is a CheckFailed at once."""
    return [_check(index, mine, theirs, bound) for index, (mine, theirs) in enumerate(zip(got, wanted, strict=True))]


def _check(index: int, got: np.ndarray, wanted: np.ndarray, bound: float) -> OutputCheck:
    dtype = from_numpy(wanted.dtype)
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        raise CheckFailed(
            f"output {index} is {got.dtype} {format_shape(got.shape)} where the reference has "
            f"{wanted.dtype} {format_shape(wanted.shape)}"
        )
    bound = bound if is_float(dtype) else 0.0
    if not wanted.size:
        return OutputCheck(index, dtype, wanted.shape, 0.0, bound, (), 0.0, 0.0)
    errors = relative_errors(got, wanted)
    where = np.unravel_index(int(np.argmax(errors)), wanted.shape)
    place = tuple(int(i) for i in where)
    return OutputCheck(
        index, dtype, wanted.shape, float(errors[where]), bound, place, float(got[where]), float(wanted[where])
    )
