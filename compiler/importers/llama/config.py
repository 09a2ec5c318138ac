"""What a Llama is: sizes, rotary embedding, special tokens; from `config.json` or the metadata of a GGUF file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import ParseError
from compiler.importers.config_file import Numbers


@dataclass(frozen=True)
class RopeScaling:
    """How positions beyond those of the training are reached: `linear`, or `llama3`, which leaves short waves alone."""

    kind: str
    factor: float = 1.0
    low: float = 1.0
    high: float = 4.0
    original: int = 8192


@dataclass(frozen=True)
class LlamaConfig:
    """A model's sizes. `interleaved` says that pairs of the rotary embedding are neighbours, as llama.cpp has them."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    inner: int
    vocabulary: int
    epsilon: float
    positions: int
    theta: float = 10000.0
    scaling: RopeScaling | None = None
    tied: bool = False
    interleaved: bool = False
    ends: tuple[int, ...] = ()
    begin: int | None = None

    def angles(self, positions: np.ndarray, factors: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Cosines and sines of the rotary embedding at positions; `factors` divide the frequencies, where a file has
        such."""
        half = self.head_size // 2
        frequency = self.theta ** (-np.arange(half, dtype=np.float64) / half)
        if factors is not None:
            frequency = frequency / factors[:half]
        elif self.scaling is not None:
            frequency = _scaled(frequency, self.scaling)
        angle = positions[:, None].astype(np.float32) * frequency.astype(np.float32)
        return np.cos(angle), np.sin(angle)


def _scaled(frequency: np.ndarray, scaling: RopeScaling) -> np.ndarray:
    if scaling.kind == "linear":
        return frequency / scaling.factor
    turns = scaling.original * frequency / (2 * math.pi)  # over the original context
    smooth = np.clip((turns - scaling.low) / (scaling.high - scaling.low), 0, 1)
    return (1 - smooth) * frequency / scaling.factor + smooth * frequency


def config_from_json(found: Mapping[str, Any], name: str) -> LlamaConfig:
    """The configuration in a `config.json`."""
    kind = found.get("model_type")
    if kind not in ("llama", "mistral"):
        raise ParseError(f"{name}: the model type {kind!r} is not one that is built here (llama, mistral)")
    if found.get("hidden_act", "silu") != "silu" or found.get("attention_bias") or found.get("mlp_bias"):
        raise ParseError(f"{name}: activations other than SiLU and biases are not built here")
    read = Numbers(found, name)
    heads, hidden = read.size("num_attention_heads"), read.size("hidden_size")
    rope = found.get("rope_parameters") or {}
    theta = found.get("rope_theta") or rope.get("rope_theta") or 10000.0
    scaling = found.get("rope_scaling") or rope or None
    ends = found.get("eos_token_id")
    return LlamaConfig(
        hidden, read.size("num_hidden_layers"), heads, read.size("num_key_value_heads", heads),
        read.size("head_dim", hidden // heads), read.size("intermediate_size"), read.size("vocab_size"),
        read.number("rms_norm_eps", 1e-6), read.size("max_position_embeddings", 2048), float(theta),
        _scaling(scaling, name), bool(found.get("tie_word_embeddings", False)),
        ends=tuple(ends) if isinstance(ends, list) else () if ends is None else (int(ends),),
        begin=found.get("bos_token_id"),
    )  # fmt: skip


def _scaling(found: Mapping[str, Any] | None, name: str) -> RopeScaling | None:
    kind = (found or {}).get("rope_type", (found or {}).get("type", "default"))
    if found is None or kind == "default":
        return None
    read = Numbers(found, name)
    if kind == "linear":
        return RopeScaling("linear", read.number("factor"))
    if kind == "llama3":
        return RopeScaling(
            "llama3", read.number("factor"), read.number("low_freq_factor"), read.number("high_freq_factor"),
            read.size("original_max_position_embeddings"),
        )  # fmt: skip
    raise ParseError(f"{name}: the rotary embedding's scaling {kind!r} is not built here (linear, llama3)")


def config_from_gguf(found: Mapping[str, Any], name: str) -> LlamaConfig:
    """The configuration in the metadata of a GGUF file."""
    kind = found.get("general.architecture")
    if kind != "llama":
        raise ParseError(f"{name}: the architecture {kind!r} is not one that is built here (llama)")
    read = Numbers({key.removeprefix("llama."): value for key, value in found.items()}, name)
    heads, hidden = read.size("attention.head_count"), read.size("embedding_length")
    tokens = found.get("tokenizer.ggml.tokens")
    scaling = None
    if found.get("llama.rope.scaling.type") == "linear":
        scaling = RopeScaling("linear", read.number("rope.scaling.factor"))
    end = found.get("tokenizer.ggml.eos_token_id")
    return LlamaConfig(
        hidden, read.size("block_count"), heads, read.size("attention.head_count_kv", heads),
        read.size("rope.dimension_count", hidden // heads), read.size("feed_forward_length"),
        read.size("vocab_size", len(tokens) if isinstance(tokens, list) else 0),
        read.number("attention.layer_norm_rms_epsilon", 1e-6), read.size("context_length", 2048),
        read.number("rope.freq_base", 10000.0), scaling, interleaved=True,
        ends=() if not isinstance(end, int) else (end,), begin=found.get("tokenizer.ggml.bos_token_id"),
    )  # fmt: skip
