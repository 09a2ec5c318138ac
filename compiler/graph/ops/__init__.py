"""The op builders. NumPy's names and arguments where NumPy has the op, torch.nn.functional's otherwise.

Operands are values, Python numbers (which take the dtype of what they meet) or NumPy arrays (which become constants).
In the examples of the docstrings `x` is f32 (M, 4), `n` i32 (2, 3), `flags` bool (M, 4), `image` f32 (N, 3, 32, 32)
and `cache` a buffer f32 (8, 4), all inputs of the current graph.

Each family's file has all there is to say of its ops: what is exported, the rules, the specs (`define`), the builders.
"""
# ruff: noqa: F403  each family lists what it exports

from __future__ import annotations

from compiler.graph.ops import (
    activation,
    attention,
    binary,
    convolution,
    create,
    effects,
    indexing,
    logic,
    norm,
    ordering,  # noqa: F401  for importers: steps that nobody would write by hand
    products,
    reduce,
    slicing,
    unary,
    views,
)
from compiler.graph.ops.activation import *
from compiler.graph.ops.attention import *
from compiler.graph.ops.binary import *
from compiler.graph.ops.convolution import *
from compiler.graph.ops.create import *
from compiler.graph.ops.effects import *
from compiler.graph.ops.indexing import *
from compiler.graph.ops.logic import *
from compiler.graph.ops.norm import *
from compiler.graph.ops.products import *
from compiler.graph.ops.reduce import *
from compiler.graph.ops.slicing import *
from compiler.graph.ops.unary import *
from compiler.graph.ops.views import *

_FAMILIES = (
    activation, attention, binary, convolution, create, effects, indexing, products, logic, norm, reduce, slicing,
    unary, views,
)  # fmt: skip
__all__ = [name for family in _FAMILIES for name in family.__all__]  # pyright: ignore[reportUnsupportedDunderAll]
