"""A folder with `config.json` and safetensors, as sentence-transformers writes it, as a graph that embeds sentences.

The graph takes tokens and which of them count (not the padding), and gives one vector of length 1 for each sentence:
the mean of the last layer's states.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.errors import ParseError
from compiler.graph import ops
from compiler.graph.graph import Graph
from compiler.graph.types import TensorType
from compiler.graph.value import Value
from compiler.importers.config_file import Numbers, quoted, read_json
from compiler.importers.files import folder_name
from compiler.importers.weights.safetensors_file import read_folder

SENTENCES, TOKENS = "B", "S"
_POOLING = "1_Pooling/config.json"
_WORDS, _PLACES, _KINDS = (f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type"))
_KIND_COUNT = 2  # of sentences in BERT's training; an encoder has one


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of an encoder."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float


def sentence_encoder(folder: str | os.PathLike[str]) -> Graph:
    """The graph of the encoder in a folder. Weights are found and checked; large ones are not read."""
    place = Path(folder)
    config = encoder_config(place)
    found = read_folder(place)
    if config.layers > len(found):
        raise ParseError(f"{place}: {config.layers} layers are more than it has weights")
    shapes = weight_shapes(config)
    missing = [name for name in shapes if name not in found]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ParseError(f"{place} lacks {', '.join(missing[:3])}{more}")
    for name, shape in shapes.items():
        if found[name].shape != shape:
            raise ParseError(f"{place}: {name} has shape {found[name].shape}, not {shape}")
    return encoder_graph(folder_name(place), config, {name: found[name].array() for name in shapes})


def encoder_config(folder: Path) -> EncoderConfig:
    """What `config.json` says; a ParseError for a model of another kind, or one that pools in another way."""
    path = folder / "config.json"
    found = read_json(path)
    if found.get("model_type") != "bert" or found.get("hidden_act") != "gelu":
        kind, act = found.get("model_type"), found.get("hidden_act")
        words = f"a model of type {quoted(kind)} with {quoted(act)}"
        raise ParseError(f"{path}: {words} is not one that is built here (bert, gelu)")
    if found.get("position_embedding_type", "absolute") != "absolute":
        raise ParseError(f"{path}: only absolute positions are built here")
    if os.path.isfile(folder / _POOLING):
        modes = {
            key for key, value in read_json(folder / _POOLING).items() if key.startswith("pooling") and value is True
        }
        if modes != {"pooling_mode_mean_tokens"}:
            raise ParseError(f"{folder / _POOLING}: only the mean of the tokens is built here")
    read = Numbers(found, str(path))
    config = EncoderConfig(
        read.size("hidden_size"), read.size("num_hidden_layers"), read.size("num_attention_heads"),
        read.size("intermediate_size"), read.size("vocab_size"), read.size("max_position_embeddings"),
        read.number("layer_norm_eps", 1e-12),
    )  # fmt: skip
    if config.hidden % config.heads:
        raise ParseError(f"{path}: {config.heads} heads do not divide {config.hidden}")
    return config


def weight_shapes(config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    """The weights that the graph reads, by their names in the file."""
    wide, inner = config.hidden, config.inner
    tables = {_WORDS: config.vocabulary, _PLACES: config.positions, _KINDS: _KIND_COUNT}
    shapes: dict[str, tuple[int, ...]] = {name: (rows, wide) for name, rows in tables.items()}
    products = {
        "intermediate.dense": (inner, wide),
        "output.dense": (wide, inner),
        "attention.output.dense": (wide, wide),
    }
    products |= {f"attention.self.{part}": (wide, wide) for part in ("query", "key", "value")}
    norms = ["embeddings.LayerNorm"]
    for number in range(config.layers):
        layer = f"encoder.layer.{number}."
        norms += [f"{layer}attention.output.LayerNorm", f"{layer}output.LayerNorm"]
        for name, shape in products.items():
            shapes |= {f"{layer}{name}.weight": shape, f"{layer}{name}.bias": shape[:1]}
    return shapes | {f"{name}.{part}": (wide,) for name in norms for part in ("weight", "bias")}


def encoder_graph(name: str, config: EncoderConfig, weights: Mapping[str, np.ndarray]) -> Graph:
    """Tokens [B, S] and which of them count [B, S] to embeddings [B, hidden]; weights by their names in the file."""
    sizes = (SENTENCES, TOKENS)
    with Graph(name, {"tokens": TensorType("i64", sizes), "counts": TensorType("bool", sizes)}) as graph:
        layers = _Layers(config, weights)
        states = layers.states(*graph.inputs)
        graph.output(_mean_direction(states, graph.inputs[1]))
    return graph


class _Layers:
    """An encoder's layers over its weights."""

    def __init__(self, config: EncoderConfig, weights: Mapping[str, np.ndarray]) -> None:
        self._config, self._weights = config, weights

    def states(self, tokens: Value, counts: Value) -> Value:
        """The states [B, S, hidden] after the last layer."""
        length = tokens.shape[1]
        tokens.graph.module = "embeddings"
        words = ops.cast(ops.gather(self._constant(_WORDS), tokens, axis=0), "f32")
        places = ops.slice(self._constant(_PLACES), (0,), (length,), axes=(0,))
        kind = ops.slice(self._constant(_KINDS), (0,), (1,), axes=(0,))
        x = self._normed("embeddings.LayerNorm", words + ops.cast(kind, "f32") + ops.cast(places, "f32"))
        seen = ops.reshape(counts, (tokens.shape[0], 1, 1, length))
        for number in range(self._config.layers):
            x.graph.module = f"encoder/layer.{number}"
            x = self._layer(f"encoder.layer.{number}.", x, seen)
        x.graph.module = "pooling"
        return x

    def _layer(self, name: str, x: Value, seen: Value) -> Value:
        q, k, v = (self._heads(self._product(f"{name}attention.self.{part}", x)) for part in ("query", "key", "value"))
        mixed = ops.scaled_dot_product_attention(q, k, v, seen)
        joined = ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), x.shape)
        attended = self._product(f"{name}attention.output.dense", joined) + x
        x = self._normed(f"{name}attention.output.LayerNorm", attended)
        inner = ops.gelu(self._product(f"{name}intermediate.dense", x))
        return self._normed(f"{name}output.LayerNorm", self._product(f"{name}output.dense", inner) + x)

    def _heads(self, x: Value) -> Value:
        """[B, S, hidden] as [B, heads, S, size]."""
        heads = self._config.heads
        apart = ops.reshape(x, (*x.shape[:2], heads, self._config.hidden // heads))
        return ops.transpose(apart, (0, 2, 1, 3))

    def _product(self, name: str, x: Value) -> Value:
        return x @ self._f32(f"{name}.weight").T + self._f32(f"{name}.bias")

    def _normed(self, name: str, x: Value) -> Value:
        return ops.layer_norm(x, self._f32(f"{name}.weight"), self._f32(f"{name}.bias"), self._config.epsilon)

    def _f32(self, name: str) -> Value:
        return ops.cast(self._constant(name), "f32")

    def _constant(self, name: str) -> Value:
        return ops.constant(self._weights[name])


def _mean_direction(states: Value, counts: Value) -> Value:
    """The mean of the states that count, of length 1."""
    weight = ops.cast(counts, "f32")
    total = ops.sum(states * ops.unsqueeze(weight, -1), axis=1)
    mean = total / ops.maximum(ops.sum(weight, axis=1, keepdims=True), 1e-9)
    length = ops.sqrt(ops.sum(mean * mean, axis=1, keepdims=True))
    return mean / ops.maximum(length, 1e-12)
