"""How operands meet: NumPy's shape broadcasting over symbolic sizes, and NEP 50 promotion with weak Python scalars."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph.dtypes import dtype_info, promote
from compiler.graph.types import Shape, Size, format_shape

Scalar = bool | int | float
_INT_RANGES = {"i64": (-(2**63), 2**63 - 1), "i32": (-(2**31), 2**31 - 1), "i16": (-(2**15), 2**15 - 1),
               "i8": (-128, 127), "u64": (0, 2**64 - 1), "u32": (0, 2**32 - 1), "u16": (0, 2**16 - 1),
               "u8": (0, 255)}  # fmt: skip
_RANK = {"b": 0, "i": 1, "f": 2}


def broadcast_shapes(*shapes: Shape, op: str = "broadcast") -> Shape:
    """The shape all of these broadcast to; two different sizes, neither of them 1, are a GraphError.

    >>> broadcast_shapes((4, 1), (3,))
    (4, 3)
    """
    first = shapes[0]
    if all(shape == first for shape in shapes[1:]):
        return first
    rank = max(map(len, shapes))
    result: list[Size] = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if size == 1:
                continue
            if result[at] == 1:
                result[at] = size
            elif result[at] != size:
                listed = " and ".join(map(format_shape, shapes))
                raise GraphError(f"{op}: shapes {listed} do not broadcast: {result[at]} is not {size}")
    return tuple(result)


def check_broadcasts_to(shape: Shape, target: Shape, op: str = "broadcast_to") -> None:
    """Refuse a target that `shape` does not broadcast to exactly."""
    lead = len(target) - len(shape)
    if lead < 0 or any(a != b and a != 1 for a, b in zip(shape, target[lead:], strict=True)):
        raise GraphError(f"{op}: shape {format_shape(shape)} does not broadcast to {format_shape(target)}")


def scalar_kind(value: Scalar) -> str:
    """'b', 'i' or 'f': what a Python scalar brings to a promotion."""
    return "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f"


def weak_promote(dtype: str, kind: str) -> str:
    """What a dtype becomes next to a Python scalar: itself unless the scalar's kind is higher, then NumPy's default.

    >>> weak_promote("f16", "f"), weak_promote("i8", "i"), weak_promote("i8", "f"), weak_promote("bool", "i")
    ('f16', 'i8', 'f64', 'i64')
    """
    have = dtype_info(dtype).kind
    if _RANK[kind] <= _RANK["i" if have == "u" else have]:
        return dtype
    return default_dtype(kind)


def default_dtype(kind: str) -> str:
    """The dtype of a Python scalar that meets nothing."""
    return {"b": "bool", "i": "i64", "f": "f64"}[kind]


def common_dtype(dtypes: Sequence[str], scalars: Sequence[Scalar]) -> str:
    """The dtype operands and Python scalars meet in."""
    kinds = {scalar_kind(s) for s in scalars}
    strongest = next((k for k in "fib" if k in kinds), None)
    if not dtypes:
        return default_dtype(strongest or "f")
    result = dtypes[0]
    for dtype in dtypes[1:]:
        result = promote(result, dtype)
    return result if strongest is None else weak_promote(result, strongest)


def fits(value: Scalar, dtype: str) -> bool:
    """Whether a Python integer is in the range of an integer dtype; always true for the rest."""
    if isinstance(value, int) and not isinstance(value, bool) and dtype in _INT_RANGES:
        low, high = _INT_RANGES[dtype]
        return low <= value <= high
    return True
