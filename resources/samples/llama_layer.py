"""A Llama layer: RMS norm, rotary embedding, grouped-query attention, SwiGLU; weights are inputs."""

from compiler import Graph, TensorType, ops

DIMS = {"B": 1, "S": 128}
MODEL, HEADS, KV_HEADS, FEATURES, HIDDEN = 512, 8, 2, 64, 1408
WEIGHTS = [
    (MODEL,),  # attention norm
    (MODEL, HEADS * FEATURES), (MODEL, KV_HEADS * FEATURES), (MODEL, KV_HEADS * FEATURES),
    (HEADS * FEATURES, MODEL),
    (MODEL,),  # MLP norm
    (MODEL, HIDDEN), (MODEL, HIDDEN), (HIDDEN, MODEL),
]  # fmt: skip


def build() -> Graph:
    graph = Graph("llama_layer", inputs=[*hidden_and_angles(), *weights()])
    with graph:
        x, cos, sin, *layer_weights = graph.inputs
        graph.output(layer(x, cos, sin, *layer_weights))
    return graph


def hidden_and_angles():
    """The hidden state, and the cosines and sines of the rotary embedding."""
    angles = TensorType("f32", ("S", FEATURES // 2))
    return [TensorType("f32", ("B", "S", MODEL)), angles, angles]


def weights():
    """One layer's weights."""
    return [TensorType("f32", shape) for shape in WEIGHTS]


def layer(x, cos, sin, g1, w_q, w_k, w_v, w_out, g2, w_gate, w_up, w_down):
    """Attention, then the MLP, each on the normed state and added to it."""
    normed = ops.rms_norm(x, g1, 1e-5)
    q = ops.rope(split_heads(normed @ w_q, HEADS), cos, sin)
    k = ops.rope(split_heads(normed @ w_k, KV_HEADS), cos, sin)
    v = split_heads(normed @ w_v, KV_HEADS)
    seen = ops.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    joined = ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), ("B", "S", HEADS * FEATURES))
    x = x + joined @ w_out
    normed = ops.rms_norm(x, g2, 1e-5)
    return x + (ops.silu(normed @ w_gate) * (normed @ w_up)) @ w_down


def split_heads(t, heads):
    """[B, S, heads * FEATURES] -> [B, heads, S, FEATURES]."""
    return ops.transpose(ops.reshape(t, ("B", "S", heads, FEATURES)), (0, 2, 1, 3))
