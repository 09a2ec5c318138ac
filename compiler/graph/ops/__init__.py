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

__all__: list[str] = []
__all__ += activation.__all__
__all__ += attention.__all__
__all__ += binary.__all__
__all__ += convolution.__all__
__all__ += create.__all__
__all__ += effects.__all__
__all__ += indexing.__all__
__all__ += products.__all__
__all__ += logic.__all__
__all__ += norm.__all__
__all__ += reduce.__all__
__all__ += slicing.__all__
__all__ += unary.__all__
__all__ += views.__all__
