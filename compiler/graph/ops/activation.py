"""Activation functions, named as in torch.nn.functional."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.errors import GraphError
from compiler.graph.dtypes import dtype_info
from compiler.graph.location import builder
from compiler.graph.ops.build import Operand, emit, one_operand, tensors
from compiler.graph.ops.specs import define
from compiler.graph.ops.unary import as_float
from compiler.graph.rules import FLOATS, NUMBERS, Attrs, check_dtype, refuse, unary
from compiler.graph.types import TensorType
from compiler.graph.value import Value

__all__ = ["gelu", "relu", "sigmoid", "silu", "swish"]


def _gelu_rule(types: Sequence[TensorType], attrs: Attrs) -> tuple[TensorType]:
    """gelu also has a formula to choose."""
    (x,) = types
    check_dtype("mo.gelu", x.dtype, frozenset({"f64", "f32", "f16", "bf16"}))
    if attrs["approximate"] not in ("none", "tanh"):
        refuse("mo.gelu", f"approximate must be 'none' or 'tanh', not {attrs['approximate']!r}")
    return (x,)


define("gelu", _gelu_rule, attrs={"approximate": "str"}, elementwise=True)
define("relu", unary("mo.relu", NUMBERS), elementwise=True)
for _short in ("sigmoid", "silu"):
    define(_short, unary(f"mo.{_short}", FLOATS), elementwise=True)


@builder
def relu(x: Operand) -> Value:
    """max(x, 0).

    >>> ops.relu(x)
    <relu_0: f32 (M, 4)>
    """
    (value,) = tensors("relu", x)
    return value if dtype_info(value.dtype).kind in "bu" else emit("relu", (value,))


def _activation(op: str, x: Operand) -> Value:
    return as_float(op, x)


sigmoid = one_operand(_activation, "sigmoid", "1 / (1 + exp(-x)).", "x", "sigmoid_0: f32 (M, 4)")
silu = one_operand(_activation, "silu", "x * sigmoid(x).", "x", "silu_0: f32 (M, 4)")


@builder
def gelu(x: Operand, approximate: str = "none") -> Value:
    """x times the normal distribution function of x; `approximate="tanh"` takes the tanh formula.

    >>> ops.gelu(x, approximate="tanh")
    <gelu_0: f32 (M, 4)>
    """
    if approximate not in ("none", "tanh"):
        raise GraphError(f"gelu: approximate must be 'none' or 'tanh', not {approximate!r}")
    return as_float("gelu", x, approximate=approximate)


swish = silu
