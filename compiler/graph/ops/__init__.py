"""The op builders. NumPy's names and arguments where NumPy has the op, torch.nn.functional's otherwise.

Operands are values, Python numbers (which take the dtype of what they meet) or NumPy arrays (which become constants).
In the examples of the docstrings `x` is f32 (M, 4), `n` i32 (2, 3), `flags` bool (M, 4), `image` f32 (N, 3, 32, 32)
and `cache` a buffer f32 (8, 4), all inputs of the current graph.
"""

from __future__ import annotations

from compiler.graph.ops.activation import gelu, relu, sigmoid, silu, swish
from compiler.graph.ops.attention import rope, scaled_dot_product_attention
from compiler.graph.ops.binary import (
    add,
    clip,
    div,
    divide,
    floor_divide,
    floordiv,
    maximum,
    minimum,
    mod,
    mul,
    multiply,
    pow,
    power,
    remainder,
    sub,
    subtract,
    true_divide,
)
from compiler.graph.ops.convolution import avg_pool2d, conv2d, max_pool2d
from compiler.graph.ops.create import (
    arange,
    constant,
    full,
    full_like,
    iota,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from compiler.graph.ops.effects import buffer_load, buffer_store, custom
from compiler.graph.ops.indexing import (
    cat,
    concat,
    concatenate,
    embedding,
    gather,
    getitem,
    pad,
    repeat,
    roll,
    stack,
    take,
    tile,
)
from compiler.graph.ops.linear import linear, matmul, outer
from compiler.graph.ops.logic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_or,
    logical_xor,
    not_equal,
    where,
)
from compiler.graph.ops.norm import layer_norm, rms_norm
from compiler.graph.ops.reduce import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    cumsum,
    log_softmax,
    max,
    mean,
    min,
    prod,
    softmax,
    std,
    sum,
    var,
)
from compiler.graph.ops.slicing import chunk, flip, slice, split
from compiler.graph.ops.unary import (
    abs,
    absolute,
    astype,
    bitwise_not,
    cast,
    ceil,
    cos,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    invert,
    isfinite,
    isinf,
    isnan,
    log,
    log1p,
    log2,
    logical_not,
    neg,
    negative,
    reciprocal,
    rint,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    tanh,
    trunc,
)
from compiler.graph.ops.views import (
    broadcast_to,
    expand_dims,
    flatten,
    moveaxis,
    permute,
    ravel,
    reshape,
    squeeze,
    swapaxes,
    transpose,
    unsqueeze,
)

__all__ = [
    "abs", "absolute", "add", "all", "amax", "amin", "any", "arange", "argmax", "argmin", "astype", "avg_pool2d",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "broadcast_to", "buffer_load", "buffer_store",
    "cast", "cat", "ceil", "chunk", "clip", "concat", "concatenate", "constant", "conv2d", "cos", "cumsum",
    "custom", "div", "divide", "embedding", "equal", "erf", "exp", "exp2", "expand_dims", "expm1", "flatten",
    "flip", "floor", "floor_divide", "floordiv", "full", "full_like", "gather", "gelu", "getitem", "greater",
    "greater_equal", "invert", "iota", "isfinite", "isinf", "isnan", "layer_norm", "less", "less_equal", "linear",
    "log", "log1p", "log2", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul",
    "max", "max_pool2d", "maximum", "mean", "min", "minimum", "mod", "moveaxis", "mul", "multiply", "neg",
    "negative", "not_equal", "ones", "ones_like", "outer", "pad", "permute", "pow", "power", "prod", "ravel",
    "reciprocal", "relu", "remainder", "repeat", "reshape", "rint", "rms_norm", "roll", "rope", "round", "rsqrt",
    "scaled_dot_product_attention", "sigmoid", "sign", "silu", "sin", "slice", "softmax", "split", "sqrt", "square",
    "squeeze", "stack", "std", "sub", "subtract", "sum", "swapaxes", "swish", "take", "tanh", "tile", "transpose",
    "tril", "triu", "true_divide", "trunc", "unsqueeze", "var", "where", "zeros", "zeros_like",
]  # fmt: skip
