"""A pre-norm GPT-2 block: causal attention and a GELU MLP, each with its residual; weights are inputs."""

from compiler import Graph, TensorType, ops

DIMS = {"B": 1, "S": 128}
MODEL, HEADS, HIDDEN = 256, 4, 1024
WEIGHTS = [
    (MODEL,), (MODEL,),  # first norm
    (MODEL, 3 * MODEL), (3 * MODEL,),  # queries, keys and values in one product
    (MODEL, MODEL), (MODEL,),  # attention output
    (MODEL,), (MODEL,),  # second norm
    (MODEL, HIDDEN), (HIDDEN,),
    (HIDDEN, MODEL), (MODEL,),
]  # fmt: skip


def build() -> Graph:
    inputs = [TensorType("f32", ("B", "S", MODEL)), *(TensorType("f32", shape) for shape in WEIGHTS)]
    graph = Graph("transformer_block", inputs=inputs)
    with graph:
        x, g1, s1, w_qkv, b_qkv, w_out, b_out, g2, s2, w_up, b_up, w_down, b_down = graph.inputs
        qkv = ops.layer_norm(x, g1, s1, 1e-5) @ w_qkv + b_qkv
        q, k, v = (split_heads(qkv[:, :, i * MODEL : (i + 1) * MODEL]) for i in range(3))
        seen = ops.scaled_dot_product_attention(q, k, v, is_causal=True)
        joined = ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), ("B", "S", MODEL))
        x = x + (joined @ w_out + b_out)
        hidden = ops.gelu(ops.layer_norm(x, g2, s2, 1e-5) @ w_up + b_up, approximate="tanh")
        graph.output(x + (hidden @ w_down + b_down))
    return graph


def split_heads(t):
    """[B, S, MODEL] -> [B, HEADS, S, MODEL / HEADS]."""
    return ops.transpose(ops.reshape(t, ("B", "S", HEADS, MODEL // HEADS)), (0, 2, 1, 3))
