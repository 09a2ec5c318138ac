"""A Llama's files as one record: a folder with `config.json` and safetensors, or a GGUF file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from compiler.errors import ParseError
from compiler.importers.config_file import read_json
from compiler.importers.files import folder_name
from compiler.importers.llama.config import LlamaConfig, config_from_gguf, config_from_json
from compiler.importers.weights.gguf_file import read_gguf
from compiler.importers.weights.safetensors_file import read_folder
from compiler.importers.weights.stored_tensor import StoredTensor

_SMALLEST_FACTOR = 1e-3  # that frequencies of the rotary embedding are divided by
_COMPUTED = (".rotary_emb.inv_freq", ".attn_rot_embd.weight")  # what the graph computes itself
_GGUF = {
    "embed": "token_embd.weight", "norm": "output_norm.weight", "head": "output.weight",
    "input_norm": "blk.{}.attn_norm.weight", "q": "blk.{}.attn_q.weight", "k": "blk.{}.attn_k.weight",
    "v": "blk.{}.attn_v.weight", "o": "blk.{}.attn_output.weight", "post_norm": "blk.{}.ffn_norm.weight",
    "gate": "blk.{}.ffn_gate.weight", "up": "blk.{}.ffn_up.weight", "down": "blk.{}.ffn_down.weight",
}  # fmt: skip
_JSON = {
    "embed": "model.embed_tokens.weight", "norm": "model.norm.weight", "head": "lm_head.weight",
    "input_norm": "model.layers.{}.input_layernorm.weight", "q": "model.layers.{}.self_attn.q_proj.weight",
    "k": "model.layers.{}.self_attn.k_proj.weight", "v": "model.layers.{}.self_attn.v_proj.weight",
    "o": "model.layers.{}.self_attn.o_proj.weight", "post_norm": "model.layers.{}.post_attention_layernorm.weight",
    "gate": "model.layers.{}.mlp.gate_proj.weight", "up": "model.layers.{}.mlp.up_proj.weight",
    "down": "model.layers.{}.mlp.down_proj.weight",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model's configuration and weights, by what each is for: `embed`, `norm`, `head`, and for a layer `q.0`."""

    name: str
    config: LlamaConfig
    weights: dict[str, StoredTensor]
    factors: np.ndarray | None = None
    """What the rotary embedding's frequencies are divided by, where the file has such."""
    metadata: dict[str, Any] | None = None
    """What a GGUF file says of itself, its vocabulary among it."""
    folder: Path | None = None
    """Where `tokenizer.json` would be."""


def open_checkpoint(path: str | os.PathLike[str]) -> Checkpoint:
    """The model at a path: a folder, or a GGUF file. Weights are found and checked; none is read."""
    place = Path(path)
    if os.path.isdir(place):
        return _from_folder(place)
    if place.suffix == ".gguf":
        return _from_gguf(place)
    if not os.path.exists(place):
        raise ParseError(f"there is no model {place}")
    raise ParseError(
        f"{place} is no model that can be opened: use a folder with config.json and safetensors, or FILE.gguf"
    )


def _from_folder(folder: Path) -> Checkpoint:
    config = config_from_json(read_json(folder / "config.json"), str(folder / "config.json"))
    weights = _named(read_folder(folder), _JSON, config, str(folder))
    return Checkpoint(folder_name(folder), config, weights, folder=folder)


def _from_gguf(path: Path) -> Checkpoint:
    file = read_gguf(path)
    held = file.tensors.get("token_embd.weight")
    given = file.metadata
    if held is not None and len(held.shape) == 2:
        given = {"llama.vocab_size": held.shape[0], **given}
    config = replace(config_from_gguf(given, str(path)), tied="output.weight" not in file.tensors)
    weights = _named(file.tensors, _GGUF, config, str(path))
    factors = file.tensors.get("rope_freqs.weight")
    divided = None
    if factors is not None:
        if factors.encoding != "f32" or factors.shape != (config.head_size // 2,):
            raise ParseError(f"{path}: rope_freqs.weight must be {config.head_size // 2} numbers in f32")
        divided = np.array(factors.array(), np.float64)
        if not (np.isfinite(divided) & (divided > _SMALLEST_FACTOR)).all():
            raise ParseError(f"{path}: rope_freqs.weight must be numbers above zero")
    return Checkpoint(path.stem, config, weights, divided, given)


def weight_shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    """The shape of each weight that a model of this configuration has, by what it is for."""
    c = config
    wide, narrow = c.heads * c.head_size, c.kv_heads * c.head_size
    shapes = {"embed": (c.vocabulary, c.hidden), "norm": (c.hidden,)}
    if not c.tied:
        shapes["head"] = (c.vocabulary, c.hidden)
    layer = {
        "input_norm": (c.hidden,), "q": (wide, c.hidden), "k": (narrow, c.hidden), "v": (narrow, c.hidden),
        "o": (c.hidden, wide), "post_norm": (c.hidden,), "gate": (c.inner, c.hidden), "up": (c.inner, c.hidden),
        "down": (c.hidden, c.inner),
    }  # fmt: skip
    return shapes | {f"{purpose}.{number}": shape for purpose, shape in layer.items() for number in range(c.layers)}


def _named(found: dict[str, StoredTensor], names: dict[str, str], config: LlamaConfig, where: str) -> dict[str, Any]:
    """Weights by what they are for; whatever is missing or has another shape than the configuration says is told."""
    c = config
    if c.layers > len(found) or c.heads % c.kv_heads or c.head_size % 2:
        raise ParseError(
            f"{where}: {c.layers} layers of {c.heads} heads ({c.kv_heads} for keys) do not fit its weights"
        )
    chosen: dict[str, StoredTensor] = {}
    missing: list[str] = []
    for purpose, shape in weight_shapes(config).items():
        kind, _, number = purpose.partition(".")
        name = names[kind].format(number)
        tensor = found.get(name)
        if tensor is None:
            missing.append(name)
        elif tensor.shape != shape:
            raise ParseError(f"{where}: {tensor.name} has shape {tensor.shape}, not {shape}")
        else:
            chosen[purpose] = tensor
    if missing:
        raise ParseError(f"{where} lacks {_some(missing)}")
    left = [name for name in _of_layers(found, names, c.layers) if not name.endswith(_COMPUTED)]
    unused = sorted(set(left) - {tensor.name for tensor in chosen.values()})
    if unused:  # biases, or norms of other models: without them the text would be another
        raise ParseError(f"{where} has weights that are not built here: {_some(unused)}")
    return chosen


def _of_layers(found: Iterable[str], names: dict[str, str], layers: int) -> Iterator[str]:
    """The weights that belong to the layers which are built, by how their names begin."""
    start = names["q"].partition("{}")[0]
    for name in found:
        number, dot, _ = name.removeprefix(start).partition(".")
        if name.startswith(start) and dot and number.isdecimal() and len(number) < 9 and int(number) < layers:
            yield name


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name[:80] for name in names[:3]) + more
