"""The two graphs of a Llama: prefill takes a prompt at once, decode one token after the others.

The cache of keys and values is one pair of arrays a layer, positions first. What is new is a mutable buffer, the rows
of the new positions; decode reads the rows before them as an input. Both are parts of the same array of whoever
generates, so that nothing is copied from step to step, and their lengths are symbols: one compilation serves any.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import BufferType, TensorType, Type
from compiler.graph.value import Value
from compiler.importers.llama.checkpoint import Checkpoint

TOKENS, PAST = "T", "P"


def prefill_graph(checkpoint: Checkpoint) -> Graph:
    """tokens [T], cosines, sines, and a layer's buffers for keys and values [T, heads, size]; gives the last logits."""
    return _graph(checkpoint, TOKENS)


def decode_graph(checkpoint: Checkpoint) -> Graph:
    """One token, cosines, sines, and for each layer the P positions before it and buffers for the new one."""
    return _graph(checkpoint, 1)


def _graph(checkpoint: Checkpoint, length: int | str) -> Graph:
    config = checkpoint.config
    past = length != TOKENS
    rows = (config.kv_heads, config.head_size)
    inputs: dict[str, Type] = {
        "tokens": TensorType("i64", (length,)),
        "cos": TensorType("f32", (length, config.head_size // 2)),
        "sin": TensorType("f32", (length, config.head_size // 2)),
    }
    for number in range(config.layers):
        for kind in ("k", "v"):
            if past:
                inputs[f"past_{kind}{number}"] = TensorType("f32", (PAST, *rows))
            inputs[f"new_{kind}{number}"] = BufferType("f32", (length, *rows))
    with Graph(f"{'decode' if past else 'prefill'}_{checkpoint.name}", inputs) as graph:
        tokens, cos, sin, *cache = graph.inputs
        each = len(cache) // config.layers
        graph.module = "embed"
        x = checkpoint.weights["embed"].rows(tokens)
        for number in range(config.layers):
            graph.module = f"layers.{number}/self_attn"
            x = _layer(checkpoint, number, x, cos, sin, cache[number * each : (number + 1) * each])
        graph.module = "head"
        last = x if past else ops.slice(x, (x.shape[0] - 1,), (x.shape[0],), axes=(0,))
        normed = ops.rms_norm(last, checkpoint.weights["norm"].value(), config.epsilon)
        head = checkpoint.weights["embed" if config.tied else "head"]
        graph.output(normed @ head.value().T)
    return graph


def _layer(checkpoint: Checkpoint, number: int, x: Value, cos: Value, sin: Value, cache: Sequence[Value]) -> Value:
    config = checkpoint.config

    def weight(purpose: str) -> Value:
        return checkpoint.weights[f"{purpose}.{number}"].value()

    def heads(value: Value, count: int) -> Value:
        return ops.transpose(ops.reshape(value, (value.shape[0], count, config.head_size)), (1, 0, 2))

    def turned(value: Value) -> Value:
        return ops.rope(value, cos, sin, interleaved=config.interleaved)

    normed = ops.rms_norm(x, weight("input_norm"), config.epsilon)
    q = turned(heads(normed @ weight("q").T, config.heads))
    k = ops.transpose(turned(heads(normed @ weight("k").T, config.kv_heads)), (1, 0, 2))
    v = ops.reshape(normed @ weight("v").T, (x.shape[0], config.kv_heads, config.head_size))
    seen = []
    for position, new in enumerate((k, v)):
        *before, buffer = cache[position * len(cache) // 2 : (position + 1) * len(cache) // 2]
        ops.buffer_store(buffer, new)
        seen.append(ops.transpose(ops.concat([*before, new], axis=0) if before else new, (1, 0, 2)))
    attended = ops.scaled_dot_product_attention(
        q, *seen, is_causal=len(cache) == 2, enable_gqa=config.heads != config.kv_heads
    )
    joined = ops.reshape(ops.transpose(attended, (1, 0, 2)), (x.shape[0], config.heads * config.head_size))
    x = x + joined @ weight("o").T
    x.graph.module = f"layers.{number}/mlp"
    normed = ops.rms_norm(x, weight("post_norm"), config.epsilon)
    return x + (ops.silu(normed @ weight("gate").T) * (normed @ weight("up").T)) @ weight("down").T
