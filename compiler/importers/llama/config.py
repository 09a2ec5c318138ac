"""What a Llama is: sizes, rotary embedding, special tokens; from `config.json` or the metadata of a GGUF file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.errors import ParseError
from compiler.importers.config_file import Numbers, quoted

_SMALLEST_FACTOR = 1e-3  # of a scaling: what it divides frequencies by


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
        raise ParseError(f"{name}: the model type {quoted(kind)} is not one that is built here (llama, mistral)")
    read = Numbers(found, name)
    if found.get("hidden_act", "silu") != "silu" or read.flag("attention_bias") or read.flag("mlp_bias"):
        raise ParseError(f"{name}: activations other than SiLU and biases are not built here")
    heads, hidden = read.size("num_attention_heads"), read.size("hidden_size")
    rope = read.part("rope_parameters") or {}
    if any(read_in.number("partial_rotary_factor", 1.0) != 1.0 for read_in in (read, Numbers(rope, name))):
        raise ParseError(f"{name}: a partial_rotary_factor is not built here; all of a head is rotated")
    words, positions = read.size("vocab_size"), read.size("max_position_embeddings", 2048)
    return LlamaConfig(
        hidden, read.size("num_hidden_layers"), heads, read.size("num_key_value_heads", heads),
        read.size("head_dim", hidden // heads), read.size("intermediate_size"), words,
        read.number("rms_norm_eps", 1e-6),
        min(positions, read.size("sliding_window", positions)),  # up to there a window shows all that came before
        read.number("rope_theta", Numbers(rope, name).number("rope_theta", 10000.0)),
        _scaling(read.part("rope_scaling") or rope, name), read.flag("tie_word_embeddings"),
        ends=read.tokens("eos_token_id", words), begin=read.token("bos_token_id", words),
    )  # fmt: skip


def _scaling(found: Mapping[str, Any], name: str) -> RopeScaling | None:
    kind = found.get("rope_type", found.get("type", "default"))
    if kind == "default":
        return None
    read = Numbers(found, name)
    if kind == "linear":
        return RopeScaling("linear", _factor(read, "factor", name))
    if kind == "llama3":
        low, high = read.number("low_freq_factor"), read.number("high_freq_factor")
        if low >= high:
            raise ParseError(f"{name}: low_freq_factor {low} must be below high_freq_factor {high}")
        original = read.size("original_max_position_embeddings")
        return RopeScaling("llama3", _factor(read, "factor", name), low, high, original)
    raise ParseError(f"{name}: the rotary embedding's scaling {quoted(kind)} is not built here (linear, llama3)")


def _factor(read: Numbers, key: str, name: str) -> float:
    factor = read.number(key)
    if factor < _SMALLEST_FACTOR:
        raise ParseError(f"{name}: a {key} of {factor} is too small for a rotary embedding")
    return factor


def config_from_gguf(found: Mapping[str, Any], name: str) -> LlamaConfig:
    """The configuration in the metadata of a GGUF file."""
    kind = found.get("general.architecture")
    if not isinstance(kind, str) or kind != "llama":
        raise ParseError(f"{name}: the architecture {quoted(kind)} is not one that is built here (llama)")
    read = Numbers({key.removeprefix("llama."): value for key, value in found.items()}, name)
    heads, hidden = read.size("attention.head_count"), read.size("embedding_length")
    tokens, stretched = found.get("tokenizer.ggml.tokens"), found.get("llama.rope.scaling.type")
    scaling = None
    if isinstance(stretched, str) and stretched == "linear":
        scaling = RopeScaling("linear", _factor(read, "rope.scaling.factor", name))
    elif stretched is not None and not (isinstance(stretched, str) and stretched == "none"):
        raise ParseError(f"{name}: the rotary embedding's scaling {quoted(stretched)} is not built here (none, linear)")
    words = read.size("vocab_size", len(tokens) if isinstance(tokens, Sequence) else 0)
    return LlamaConfig(
        hidden, read.size("block_count"), heads, read.size("attention.head_count_kv", heads),
        read.size("rope.dimension_count", hidden // heads), read.size("feed_forward_length"),
        words, read.number("attention.layer_norm_rms_epsilon", 1e-6), read.size("context_length", 2048),
        read.number("rope.freq_base", 10000.0), scaling, interleaved=True,
        ends=read.tokens("tokenizer.ggml.eos_token_id", words),
        begin=read.token("tokenizer.ggml.bos_token_id", words),
    )  # fmt: skip
