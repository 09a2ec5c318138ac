"""Types of results, computed by a kernel's `@shape` function from the types of its operands and its parameters.

@shape("rows") def rows_shape(x, *, axis): return x.shape[axis:], f32

It returns a shape, whose dtype is then the first operand's, or a shape and a dtype, or several of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.errors import KernelError
from compiler.graph.dims import Dim
from compiler.graph.types import TensorType
from compiler.language.interpreter import at_compile_time
from compiler.language.syntax.calls import inline
from compiler.language.syntax.functions import Generator
from compiler.language.values.dtypes import LANGUAGE_DTYPES, DType
from compiler.language.values.loadables import FusedInput

_NO_ELEMENTS = "a shape function has no elements, only shapes and dtypes"


def computed_types(
    function: Generator,
    find: Callable[[str], Generator | None],
    operands: Sequence[Any],
    parameters: Mapping[str, Any],
) -> tuple[TensorType, ...]:
    """What a shape function gives for operands of these types."""
    given: list[Any] = []
    for operand in operands:
        if not isinstance(operand, TensorType):
            raise KernelError(f"{function.name}: the shape of {operand} is not known")
        given.append(FusedInput(_no_elements, LANGUAGE_DTYPES[operand.dtype], operand.shape))
    calls = "a shape function calls only @inline functions"
    with at_compile_time(function.file, function.line, value=_NO_ELEMENTS, calls=calls, find=find) as run:
        found = inline(run, function, given, dict(parameters), None)
        default = operands[0].dtype if operands else None
        listed = [found] if _is_shape(found) or _is_pair(found) else found
        return tuple(_type(one, default, function) for one in listed)


def _type(found: Any, default: str | None, function: Generator) -> TensorType:
    if _is_pair(found):
        shape, dtype = found
        return TensorType(dtype.name, tuple(shape))
    if _is_shape(found) and default is not None:
        return TensorType(default, tuple(found))
    raise KernelError(f"{function.name} returns a shape, a shape and a dtype, or several of these")


def _is_shape(found: Any) -> bool:
    return isinstance(found, (tuple, list)) and all(type(size) is int or isinstance(size, Dim) for size in found)


def _is_pair(found: Any) -> bool:
    return isinstance(found, (tuple, list)) and len(found) == 2 and _is_shape(found[0]) and isinstance(found[1], DType)


def _no_elements(*_: Any) -> Any:
    raise KernelError(_NO_ELEMENTS)
