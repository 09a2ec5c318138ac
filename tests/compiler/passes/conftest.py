"""A small kernel library for fusion tests, and an interpreter that runs generated kernel source on whole NumPy arrays.

The library has every kind of signature and no real bodies; what its functions mean is taken from the NumPy reference.
So these tests need neither the shipped kernels nor the elaborator, yet they check what the generated text computes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from compiler.dialects.mo import from_graph
from compiler.graph.binding import bind
from compiler.graph.dims import evaluate
from compiler.graph.dtypes import DTYPES, numpy_dtype
from compiler.graph.graph import Graph
from compiler.language.library import Library
from compiler.language.source import SourceFile
from compiler.options import CompileOptions
from compiler.passes.fusion.fuse import fuse
from compiler.reference import REFERENCES

_UNARY = """abs neg exp log log1p sqrt rsqrt sin cos tanh erf sigmoid relu silu floor ceil round trunc isnan isinf
logical_not bitwise_not exp2 log2 expm1 reciprocal square sign"""
_BINARY = """add sub mul div floordiv mod pow minimum maximum equal not_equal less less_equal greater greater_equal
and or xor"""
UNARY, BINARY = _UNARY.split(), _BINARY.split()
SPELLED = {"round": "round_even", "and": "and_", "or": "or_", "abs": "absolute"}
REST = """
@elementwise("mo.gelu")
def gelu(x, *, approximate): ...

@elementwise("mo.cast", raw=True)
def cast(x, *, dtype): ...

@elementwise("mo.where")
def where(c, a, b): ...

@view("mo.reshape")
def reshape(x, *, shape):
    return x.reshape(shape)

@view("mo.transpose")
def transpose(x, *, perm):
    return x.permute(perm)

@view("mo.broadcast_to")
def broadcast_to(x, *, shape):
    return x.broadcast(shape)

@view("mo.slice")
def strided_slice(x, *, starts, steps, shape):
    return x.slice(starts, steps, shape)

@pointwise("mo.concat")
def concatenate(at, *xs, axis): ...

@pointwise("mo.pad")
def pad(at, x: FusedInput, *, low, high, value): ...

@pointwise("mo.gather")
def gather(at, x: FusedInput, indices: FusedInput, *, axis): ...

@pointwise("mo.tile")
def tile(at, x: FusedInput, *, repeats): ...

@pointwise("mo.iota")
def count_along(at, *, shape, axis, dtype): ...

@pointwise("mo.rope")
def rope(at, x: FusedInput, cos: FusedInput, sin: FusedInput, *, interleaved, result): ...

@kernel("kg.elementwise")
def elementwise(out: FusedOutput, x: FusedInput): ...

@kernel("mo.matmul")
def matmul(out: FusedOutput, a: FusedInput, b: FusedInput): ...

@kernel("mo.softmax")
def softmax(out: FusedOutput, x: FusedInput, *, axis): ...

@kernel("mo.log_softmax")
def log_softmax(out: FusedOutput, x: FusedInput, *, axis): ...

@kernel("mo.layer_norm")
def layer_norm(out: FusedOutput, x: FusedInput, weight: FusedInput, bias: FusedInput, *, eps): ...

@kernel("mo.rms_norm")
def rms_norm(out: FusedOutput, x: FusedInput, weight: FusedInput, *, eps): ...

@kernel("mo.reduce_sum")
def reduce_sum(out: FusedOutput, x: FusedInput, *, axes): ...

@kernel("mo.reduce_mean")
def reduce_mean(out: FusedOutput, x: FusedInput, *, axes): ...

@kernel("mo.reduce_max")
def reduce_max(out: FusedOutput, x: FusedInput, *, axes): ...

@kernel("mo.scaled_dot_product_attention")
def attention(out: FusedOutput, q: FusedInput, k: FusedInput, v: FusedInput, *, is_causal, scale, enable_gqa): ...

@kernel("mo.cumsum")
def cumsum(out: Tensor, x: Tensor, *, axis): ...

@kernel("mo.conv2d")
def conv2d(out: FusedOutput, x: Tensor, w: Tensor, *, stride, padding, dilation, groups): ...

@kernel("split_sign")
def split_sign(positive: Tensor, negative: Tensor, x: FusedInput): ...

@elementwise("my_scale")
def my_scale(x, *, factor): ...
"""
CUSTOM = {
    "split_sign": lambda x: (np.maximum(x, 0), np.minimum(x, 0)),
    "my_scale": lambda x, factor: (x * x.dtype.type(factor)).astype(x.dtype),
}


@pytest.fixture(scope="session")
def library() -> Library:
    text = "".join(f'@elementwise("mo.{n}")\ndef {SPELLED.get(n, n)}(x): ...\n\n' for n in UNARY)
    text += "".join(f'@elementwise("mo.{n}")\ndef {SPELLED.get(n, n)}(a, b): ...\n\n' for n in BINARY)
    return Library([SourceFile("test_library.py", text + REST)])


class At:
    """The position that is all positions of a shape at once; its width is the shape, so that splat can fill it."""

    def __init__(self, shape):
        self.shape = self.width = tuple(shape)


class Loadable:
    def __init__(self, array):
        self.array = array
        self.shape = array.shape

    def __getitem__(self, at):
        assert self.array.shape == at.shape, f"{self.array.shape} read at positions of {at.shape}"
        return np.array(self.array)

    def permute(self, perm):
        return type(self)(self.array.transpose(perm))

    def reshape(self, shape):
        return type(self)(self.array.reshape(shape))

    def broadcast(self, shape):
        return Loadable(np.broadcast_to(self.array, shape))


class Tensor(Loadable):
    def __class_getitem__(cls, item):
        return item

    def __setitem__(self, at, value):
        assert self.array.shape == at.shape == np.shape(value), "stored at other positions than it has"
        assert self.array.dtype == value.dtype, f"{value.dtype} stored to {self.array.dtype}"
        self.array[...] = value

    def reshape(self, shape):
        made = self.array.reshape(shape)
        return Tensor(made) if np.shares_memory(made, self.array) or not made.size else Loadable(made)


class FusedInput(Loadable):
    def __init__(self, function, dtype=None, shape=None):
        if dtype is None:
            super().__init__(function)
            return
        value = np.asarray(function(At(shape)))
        assert value.dtype == dtype.numpy
        super().__init__(np.broadcast_to(value, shape))


class FusedOutput:
    def __init__(self, function, dtype, shape):
        self.function, self.dtype, self.shape = function, dtype, shape


class DType:
    inf, nan = np.inf, np.nan

    def __init__(self, name):
        self.name, self.numpy = name, numpy_dtype(name)

    def __call__(self, value):
        with np.errstate(over="ignore"):
            return np.array(value, dtype=self.numpy)


def _put(out, value):
    if isinstance(out, FusedOutput):
        assert value.shape == tuple(out.shape) and value.dtype == out.dtype.numpy
        out.function(At(out.shape), np.array(value))
    else:
        out[At(out.shape)] = value


def _plain(params, names):
    return {k: v.name if isinstance(v, DType) else v for k, v in params.items() if k in names}


def _functions(library):
    """Every function of the library as generated source calls it."""
    made = {}
    for op in library.operations():
        signature = library.signature(op)
        if op == "kg.elementwise":
            made[signature.name] = lambda out, x: _put(out, x.array)
            continue
        meaning = CUSTOM.get(op) or REFERENCES[op]
        names = set(signature.params) - {"result"}

        def call(*args, kind=signature.kind, meaning=meaning, names=names, **params):
            params = _plain(params, names)
            if kind == "elementwise":
                return np.asarray(meaning(*args, **params))
            if kind == "view":
                return Loadable(np.asarray(meaning(args[0].array, **params)))
            if kind == "pointwise":
                return np.asarray(meaning(*(a.array for a in args[1:]), **params))
            results = meaning(*(a.array for a in args if not isinstance(a, Out)), **params)
            outs = [a for a in args if isinstance(a, Out)]
            for out, value in zip(outs, results if isinstance(results, tuple) else (results,), strict=True):
                _put(out.sink, np.asarray(value))

        made[signature.name] = call
    return made


class Out:
    def __init__(self, sink):
        self.sink = sink


class _Kernels:
    """Runs the calls of a fusion result."""

    def __init__(self, library):
        self.functions = _functions(library)
        self.kinds = {library.signature(op).name: library.signature(op).kind for op in library.operations()}
        self.arity = {"split_sign": 2}

    def scope(self, sizes):
        scope = {name: DType(name) for name in DTYPES}
        scope |= {"Tensor": Tensor, "FusedInput": FusedInput, "FusedOutput": FusedOutput, "splat": np.broadcast_to}
        scope |= {"kernel": lambda name: lambda function: function, "min": min, "max": max}
        for name, function in self.functions.items():
            if self.kinds[name] == "kernel" and name != "elementwise":
                outs = self.arity.get(name, 1)

                def wrapped(*args, function=function, outs=outs, **params):
                    return function(*(Out(a) if k < outs else a for k, a in enumerate(args)), **params)

                scope[name] = wrapped
            else:
                scope[name] = function
        return scope | sizes

    def __call__(self, result, graph, *arrays, memory=None):
        """The outputs; `memory` gives each temporary its bytes (default: fresh ones)."""
        sizes = bind(graph.input_types, arrays, graph.input_names)
        held = {}
        for buffer in (b for b in result.inputs if b is not None):
            held[buffer] = arrays[buffer.index].reshape(-1)
            assert np.shares_memory(held[buffer], arrays[buffer.index]) or not held[buffer].size
        for buffer in result.constants:
            held[buffer] = buffer.array.reshape(-1)
        for call in result.calls:
            named = {new: sizes[old] for new, old in zip(call.kernel.symbols, call.symbols, strict=True)}
            scope = self.scope(named)
            exec(compile(call.kernel.source, call.kernel.name, "exec"), scope)
            for buffer in call.operands:
                if buffer not in held:
                    assert 0 in [evaluate(s, sizes) for s in buffer.type.shape], (
                        f"{buffer.name} is read but never written"
                    )
                    held[buffer] = np.empty(0, numpy_dtype(buffer.type.dtype))
            for buffer, declared in zip(call.results, call.kernel.outputs, strict=True):
                count = int(np.prod([evaluate(s, sizes) for s in buffer.type.shape], dtype=np.int64))
                assert count == np.prod([evaluate(s, named) for s in declared.shape], dtype=np.int64)
                if buffer not in held:
                    made = memory(buffer) if memory and buffer.kind == "temporary" else np.empty(count * 8, np.uint8)
                    if not memory or buffer.kind != "temporary":
                        made[:] = 0xA5
                    held[buffer] = made[: count * numpy_dtype(buffer.type.dtype).itemsize].view(
                        numpy_dtype(buffer.type.dtype)
                    )
            views = [
                Tensor(held[b].reshape([evaluate(s, named) for s in t.shape]))
                for b, t in zip(
                    (*call.results, *call.operands), (*call.kernel.outputs, *call.kernel.inputs), strict=True
                )
            ]
            with np.errstate(all="ignore"):
                scope[call.kernel.name](*views)
        outputs = []
        for buffer in result.outputs:
            shape = [evaluate(s, sizes) for s in buffer.type.shape]
            empty = np.empty(shape, numpy_dtype(buffer.type.dtype))
            outputs.append(held[buffer].reshape(shape) if buffer in held else empty)
        return outputs


@pytest.fixture(scope="session")
def run_kernels(library):
    """`run_kernels(result, graph, *arrays)`: what the generated kernels compute."""
    return _Kernels(library)


@pytest.fixture(scope="session")
def fused(library):
    """`fused(graph, **options)`: the graph (or its IR) after fusion, with short names for what tests look at."""

    def run(graph, **options):
        result = fuse(from_graph(graph) if isinstance(graph, Graph) else graph, library, CompileOptions(**options))
        return SimpleNamespace(
            result=result,
            names=[call.kernel.name for call in result.calls],
            sources=[kernel.source for kernel in result.kernels],
            decisions={(d.producer, d.consumer): d for d in result.ledger},
        )

    return run
