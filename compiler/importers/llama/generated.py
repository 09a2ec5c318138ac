"""A Llama of given sizes without its files: generated weights in bf16, in which such models are published."""

from __future__ import annotations

from math import prod

from compiler.importers.llama.checkpoint import Checkpoint, weight_shapes
from compiler.importers.llama.config import LlamaConfig
from compiler.importers.weights.generated import GeneratedWeights


def generated_checkpoint(name: str, config: LlamaConfig) -> Checkpoint:
    """A checkpoint that opens as one from files does."""
    shapes = weight_shapes(config)
    made = GeneratedWeights("bf16", max(map(prod, shapes.values())))
    weights = {
        purpose: made.ones(purpose, shape) if len(shape) == 1 else made.random(purpose, shape)
        for purpose, shape in shapes.items()
    }
    return Checkpoint(name, config, weights)
