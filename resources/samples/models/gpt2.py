"""GPT-2 with generated weights, tokens to logits: sample:gpt2:2 has two of its 12 layers."""

from compiler import Graph, TensorType, ops
from compiler.importers.weights.generated import GeneratedWeights

DIMS = {"B": 1, "S": 64}
VOCABULARY, POSITIONS, MODEL, HEADS = 50257, 1024, 768, 12


def build(layers: int = 12) -> Graph:
    weights = GeneratedWeights("f32", VOCABULARY * MODEL)
    with Graph("gpt2", {"tokens": TensorType("i64", ("B", "S"))}) as graph:
        (tokens,) = graph.inputs
        words = weights.random("wte", (VOCABULARY, MODEL))
        places = ops.slice(weights.random("wpe", (POSITIONS, MODEL)).value(), (0,), (tokens.shape[1],), axes=(0,))
        x = words.rows(tokens) + places
        for number in range(layers):
            x = block(weights, f"h.{number}.", x)
        graph.output(norm(weights, "ln_f", x) @ words.value().T)
    return graph


def block(weights, name, x):
    """Causal attention, then the MLP, each on the normed state and added to it."""
    qkv = dense(weights, f"{name}attn.c_attn", norm(weights, f"{name}ln_1", x), MODEL, 3 * MODEL)
    q, k, v = (split_heads(qkv[:, :, i * MODEL : (i + 1) * MODEL]) for i in range(3))
    seen = ops.scaled_dot_product_attention(q, k, v, is_causal=True)
    joined = ops.reshape(ops.transpose(seen, (0, 2, 1, 3)), ("B", "S", MODEL))
    x = x + dense(weights, f"{name}attn.c_proj", joined, MODEL, MODEL)
    inner = dense(weights, f"{name}mlp.c_fc", norm(weights, f"{name}ln_2", x), MODEL, 4 * MODEL)
    return x + dense(weights, f"{name}mlp.c_proj", ops.gelu(inner, approximate="tanh"), 4 * MODEL, MODEL)


def dense(weights, name, x, given, made):
    """A product with a bias; GPT-2 keeps its weights the way they are multiplied."""
    return x @ weights.random(f"{name}.weight", (given, made)).value() + weights.random(f"{name}.bias", (made,)).value()


def norm(weights, name, x):
    gain, shift = weights.ones(f"{name}.weight", (MODEL,)), weights.random(f"{name}.bias", (MODEL,))
    return ops.layer_norm(x, gain.value(), shift.value(), 1e-5)


def split_heads(t):
    """[B, S, MODEL] -> [B, HEADS, S, MODEL / HEADS]."""
    return ops.transpose(ops.reshape(t, ("B", "S", HEADS, MODEL // HEADS)), (0, 2, 1, 3))
