"""What an ATen op's entry in the tables is given: a call with its arguments, and the type PyTorch says it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from compiler.errors import GraphError
from compiler.graph import ops
from compiler.graph.types import Shape
from compiler.graph.value import Value

_DTYPES = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
           "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool"}  # fmt: skip


def dtype_name(dtype: Any) -> str:
    """Our name of a torch dtype."""
    text = str(dtype).removeprefix("torch.")
    if text not in _DTYPES:
        raise GraphError(f"the dtype {text} is not known; the dtypes are {' '.join(_DTYPES.values())}")
    return _DTYPES[text]


def constant(tensor: Any) -> Value:
    """A tensor as a constant of the graph, its memory seen through NumPy: the one place where weights enter it."""
    plain = tensor.detach().cpu()
    if dtype_name(plain.dtype) == "bf16":
        import ml_dtypes

        sixteen_bits = plain.new_empty(0).short().dtype  # NumPy has no name for bf16
        return ops.constant(plain.view(sixteen_bits).numpy().view(ml_dtypes.bfloat16))
    return ops.constant(plain.numpy())


class Sizes(Protocol):
    """PyTorch's sizes as ours."""

    def shape(self, shape: Any) -> tuple[Any, ...]: ...


@dataclass(slots=True, eq=False)
class Call:
    """A call whose arguments are resolved: values, numbers, sizes, lists of these."""

    node: Any
    args: list[Any]
    kwargs: dict[str, Any]
    sizes: Sizes

    def arg(self, at: int, name: str, default: Any = None) -> Any:
        """An argument by place or name."""
        if at < len(self.args):
            return self.args[at]
        return self.kwargs.get(name, default)

    def x(self, at: int = 0) -> Value:
        """An argument that is a tensor."""
        found = self.args[at]
        return found if isinstance(found, Value) else ops.constant(np.asarray(found))

    @property
    def result(self) -> Any:
        """The type PyTorch gives the result, the first of several."""
        value = self.node.meta["val"]
        return value[0] if isinstance(value, (list, tuple)) else value

    @property
    def dtype(self) -> str:
        """The result's dtype."""
        return dtype_name(self.result.dtype)

    @property
    def shape(self) -> Shape:
        """The result's shape."""
        return self.sizes.shape(self.result.shape)

    def shapes(self) -> list[Shape]:
        """The shapes of all results."""
        return [self.sizes.shape(value.shape) for value in self.node.meta["val"]]


Handler = Callable[[Call], Any]


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis % rank if rank else 0
