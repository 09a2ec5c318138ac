"""Small graphs and kernels that the profiler's tests compile and run."""

import numpy as np

from compiler import BufferType, Graph, TensorType, ops
from compiler.targets import get_target

KERNELS = """
@kernel("crash")
def crash(out: Tensor, x: Tensor):
    out[position((index(1) << 44,))] = x[position((0,))]

@kernel("hang")
def hang(out: Tensor, x: Tensor):
    step = index(1)
    while step > 0:
        step = step | 1
    out[position((0,))] = x[position((0,))]

@kernel("crash_later")
def crash_later(out: Tensor, x: Tensor):
    if x[position((0,))] > 40.0:
        out[position((index(1) << 44,))] = x[position((0,))]
    for i in range(64):
        out[position((i,))] = x[position((i,))]

@kernel("hang_later")
def hang_later(out: Tensor, x: Tensor):
    step = index(0)
    if x[position((0,))] > 40.0:
        step = index(1)
    while step > 0:
        step = step | 1
    for i in range(64):
        out[position((i,))] = x[position((i,))]

@elementwise("wrong")
def wrong(x):
    return x + x + x
"""


def scale(rows="M"):
    graph = Graph("scale", inputs=[TensorType("f32", (rows, 64))])
    with graph:
        graph.output(ops.exp(graph.inputs[0]) * 2)
    return graph


def two_kernels():
    graph = Graph("two", inputs=[TensorType("f32", (64, 64)), TensorType("f32", (64, 64))])
    with graph:
        x, w = graph.inputs
        graph.output(ops.relu(ops.softmax(x, axis=1) @ w + 1))
    return graph


def custom(name, reference=None):
    """A harmless kernel, then one of KERNELS."""
    kind = TensorType("f32", (64,))
    graph = Graph("custom", inputs=[TensorType("f32", (64, 64))])
    with graph:
        total = ops.sum(ops.exp(graph.inputs[0]), axis=1)
        graph.output(ops.custom(name, [total], kind, reference=reference))
    return graph


def counting(name):
    """A kernel that counts calls in a mutable buffer, then one of KERNELS that goes wrong at 41, then another."""
    kind = TensorType("f32", (64,))
    graph = Graph("counting", inputs=[BufferType("f32", (64,)), TensorType("f32", (64, 64))])
    with graph:
        total, x = graph.inputs
        ops.buffer_store(total, ops.buffer_load(total) + 1)
        counted = ops.custom(name, [ops.buffer_load(total)], kind)
        graph.output(ops.softmax(x @ x, axis=1) + counted)
    return graph


def array(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32) + np.float32(0.1)


def known_cost(rounds):
    """Three kernels: a softmax, `rounds` dependent multiply-adds of known cost, a sum."""
    lanes = get_target("cpu").simd_bytes // 4
    graph = Graph("known", inputs=[TensorType("f32", (64, 64)), TensorType("f32", (3 * lanes,))])
    with graph:
        x, y = graph.inputs
        result = TensorType("f32", (lanes,))
        chain = ops.custom("kg.multiply_rounds", [y], result, rounds=rounds, chains=1)
        graph.output(ops.softmax(x, axis=1), chain, ops.sum(x, axis=0))
    return graph, [array(64, 64), np.full(3 * lanes, 1 / 128, np.float32)]
