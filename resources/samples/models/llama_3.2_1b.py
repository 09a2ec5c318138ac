"""Llama 3.2 1B with generated weights, a prompt at once: sample:llama-3.2-1b:2 has two of its 16 layers."""

from compiler import Graph
from compiler.importers.llama.checkpoint import Checkpoint
from compiler.importers.llama.config import LlamaConfig, RopeScaling
from compiler.importers.llama.generated import generated_checkpoint
from compiler.importers.llama.graph import prefill_graph

DIMS = {"T": 32}


def build(layers: int = 16) -> Graph:
    return prefill_graph(checkpoint(layers))


def checkpoint(layers: int = 16) -> Checkpoint:
    """What `kernelglass generate` opens."""
    config = LlamaConfig(
        hidden=2048, layers=layers, heads=32, kv_heads=8, head_size=64, inner=8192, vocabulary=128256, epsilon=1e-5,
        positions=131072, theta=500000.0, scaling=RopeScaling("llama3", 32.0, 1.0, 4.0, 8192), tied=True,
    )  # fmt: skip
    return generated_checkpoint("llama_3_2_1b", config)
