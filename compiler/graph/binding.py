"""Arguments against declared input types: checks number, dtype and shape, and finds the size of every symbol.

The executor and the NumPy reference both start here, so the same mistake gets the same words from either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from compiler.errors import ExecutionError, GraphError
from compiler.graph.dims import Dim, Symbol, substitute
from compiler.graph.dtypes import from_numpy, numpy_dtype
from compiler.graph.types import BufferType, TensorType, format_shape

Shaped = TensorType | BufferType


def bind(types: Sequence[Shaped], arrays: Sequence[np.ndarray], names: Sequence[str] = ()) -> dict[str, int]:
    """The size of each symbol in `types`, read off `arrays`; arguments that do not fit are an ExecutionError.

    `names` are the inputs' names, used in messages only.
    """
    sizes = _bind_plain(types, arrays)
    return _bind_carefully(types, arrays, names) if sizes is None else sizes


def _bind_plain(types: Sequence[Shaped], arrays: Sequence[np.ndarray]) -> dict[str, int] | None:
    """The usual case without a word of explanation, as every run of a model comes through here; None if it is not."""
    if len(types) != len(arrays):
        return None
    sizes: dict[str, int] = {}
    for declared, array in zip(types, arrays):
        if type(array) is not np.ndarray or array.dtype != numpy_dtype(declared.dtype):
            return None
        shape = array.shape
        if shape == declared.shape:
            continue
        if len(shape) != len(declared.shape):
            return None
        for size, actual in zip(declared.shape, shape):
            if size is actual or size == actual:
                continue
            name = plain_symbol(size) if isinstance(size, Dim) else None
            if name is None or sizes.setdefault(name, actual) != actual:
                return None
    return sizes


def _bind_carefully(types: Sequence[Shaped], arrays: Sequence[np.ndarray], names: Sequence[str]) -> dict[str, int]:
    """Every case, with the words for what does not fit."""
    labels = [f"input {i} ({names[i]})" if i < len(names) else f"input {i}" for i in range(len(types))]
    if len(types) != len(arrays):
        listing = f": {', '.join(names)}" if names else ""
        raise ExecutionError(f"expected {len(types)} arrays, got {len(arrays)}{listing}")
    for declared, array, label in zip(types, arrays, labels):
        _check_kind(declared, array, label)
    bound: dict[str, tuple[int, str]] = {}
    waiting: list[tuple[int | Dim, int, str]] = []
    for declared, array, label in zip(types, arrays, labels):
        for axis, (size, actual) in enumerate(zip(declared.shape, array.shape)):
            place = f"{label}, axis {axis}"
            if isinstance(size, int):
                if size != actual:
                    raise ExecutionError(
                        f"{label}: expected shape {format_shape(declared.shape)}, got {format_shape(array.shape)}"
                    )
            elif (name := plain_symbol(size)) is not None:
                _set(bound, name, actual, place)
            else:
                waiting.append((size, actual, place))
    _settle(bound, waiting)
    return {name: size for name, (size, _) in bound.items()}


def _check_kind(declared: Shaped, array: object, label: str) -> None:
    if not isinstance(array, np.ndarray):
        raise ExecutionError(f"{label}: expected a NumPy array, got {type(array).__name__}")
    if array.dtype != numpy_dtype(declared.dtype):
        try:
            got = from_numpy(array.dtype)
        except GraphError:
            got = f"NumPy {array.dtype}"
        got = f"byte-swapped {got}" if got == declared.dtype else got
        raise ExecutionError(f"{label}: expected dtype {declared.dtype}, got {got}")
    if array.ndim != len(declared.shape):
        raise ExecutionError(f"{label}: expected shape {format_shape(declared.shape)}, got {format_shape(array.shape)}")


def plain_symbol(size: Dim) -> str | None:
    """The name of a size that is a symbol and nothing else."""
    (monomial, factor), *rest = size.terms
    if not rest and factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Symbol):
        return monomial[0].name
    return None


def _set(bound: dict[str, tuple[int, str]], name: str, size: int, place: str) -> None:
    known = bound.setdefault(name, (size, place))
    if known[0] != size:
        raise ExecutionError(f"dim {name} is {known[0]} at {known[1]} but {size} at {place}")


def _settle(bound: dict[str, tuple[int, str]], waiting: list[tuple[int | Dim, int, str]]) -> None:
    """Check sizes such as 2*M + 1, solving for a symbol where one of them is all that is left to know."""
    while waiting:
        left: list[tuple[int | Dim, int, str]] = []
        for size, actual, place in waiting:
            rest = substitute(size, {name: value for name, (value, _) in bound.items()})
            if isinstance(rest, int):
                if rest != actual:
                    raise ExecutionError(f"{place}: expected {size} = {rest}, got {actual}")
            elif (solved := _solve(rest, actual)) is not None:
                name, value = solved
                if value < 0:
                    raise ExecutionError(f"{place}: no size of {name} makes {size} equal {actual}")
                _set(bound, name, value, place)
            else:
                left.append((size, actual, place))
        if len(left) == len(waiting):
            size, _, place = left[0]
            raise ExecutionError(f"{place}: cannot tell the sizes in {size}; use them alone in another input's shape")
        waiting = left


def _solve(size: Dim, actual: int) -> tuple[str, int] | None:
    """The one symbol in factor*symbol + constant and its value, -1 when no whole size fits; None for other forms."""
    constant, unknown = 0, None
    for monomial, factor in size.terms:
        if not monomial:
            constant = factor
        elif unknown is None and len(monomial) == 1 and isinstance(monomial[0], Symbol):
            unknown = (monomial[0].name, factor)
        else:
            return None
    if unknown is None:
        return None
    name, factor = unknown
    value, remainder = divmod(actual - constant, factor)
    return name, -1 if remainder else value


def resolve(value: Any, sizes: Mapping[str, int]) -> Any:
    """An attribute's value with every symbolic size in it replaced by its number."""
    if isinstance(value, Dim):
        missing = value.symbols - sizes.keys()
        if missing:
            raise ExecutionError(f"dim {min(missing)} is in no input's shape, so its size is not known")
        return value.evaluate(sizes)
    if isinstance(value, tuple | list):
        return tuple(resolve(item, sizes) for item in value)
    return value


# What is given, made arrays

_KINDS = "biuf"  # what a list may hold, each of which fits into the ones after it


def as_arrays(types: Sequence[Any], given: Sequence[Any], names: Sequence[str] = ()) -> Sequence[Any]:
    """The arguments with lists, tuples and numbers made arrays; anything else stays, to be judged by `bind`.

    A NumPy scalar has a dtype, which must be the input's. What a list or a plain number holds takes the input's dtype
    if that can hold it: whole numbers fit anywhere they are in range, others into floats.
    """
    if all(type(value) is np.ndarray for value in given) or len(types) != len(given):
        return given
    return [_array(declared, value, f"input {number} ({names[number]})" if number < len(names) else f"input {number}")
            for number, (declared, value) in enumerate(zip(types, given))]  # fmt: skip


def _array(declared: Any, value: Any, label: str) -> Any:
    if isinstance(value, np.generic):
        value = np.asarray(value)
    elif not isinstance(value, (list, tuple, bool, int, float)):
        return value
    if isinstance(declared, BufferType):
        raise ExecutionError(f"{label}: a mutable buffer must be an array, which the model can write to")
    return value if isinstance(value, np.ndarray) else _converted(declared.dtype, value, label)


def _converted(dtype: str, value: Any, label: str) -> np.ndarray:
    wanted = numpy_dtype(dtype)
    try:
        found = np.asarray(value)
    except (ValueError, OverflowError) as problem:
        raise ExecutionError(f"{label}: this list is no array: {' '.join(str(problem).split())}") from None
    if found.size == 0:
        return found.astype(wanted)
    kind = "f" if dtype == "bf16" else wanted.kind
    if found.dtype.kind not in _KINDS or _KINDS.index(found.dtype.kind) > max(_KINDS.index(kind), kind in "iu" and 2):
        raise ExecutionError(
            f"{label}: expected numbers that fit {dtype}, got {found.dtype} in a {type(value).__name__}"
        )
    if kind in "iu":
        limits = np.iinfo(wanted)
        if int(found.min()) < limits.min or int(found.max()) > limits.max:
            raise ExecutionError(f"{label}: {int(found.min())} to {int(found.max())} does not fit {dtype}")
    return found.astype(wanted)


def refuse_overlap(arrays: Sequence[np.ndarray], mutable: Sequence[int], names: Sequence[str]) -> None:
    """Two buffers that a model may write must not lie over each other: kernels count on it."""
    for one, two in combinations(mutable, 2):
        if np.may_share_memory(arrays[one], arrays[two]):
            raise ExecutionError(
                f"{names[one]} and {names[two]} overlap in memory; each mutable buffer needs an array of its own"
            )
