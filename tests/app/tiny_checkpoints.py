"""Tiny models on disk, written without the packages that such files usually come from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

CONFIG = {
    "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 64, "rms_norm_eps": 1e-5,
    "max_position_embeddings": 64,
}  # fmt: skip


def shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """The weights of a configuration by their names in a checkpoint."""
    hidden, inner, words = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    narrow = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    found = {"model.embed_tokens": (words, hidden), "model.norm": (hidden,), "lm_head": (words, hidden)}
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}."
        found |= {layer + name: (hidden,) for name in ("input_layernorm", "post_attention_layernorm")}
        found |= {layer + f"self_attn.{name}_proj": (hidden, hidden) for name in "qo"}
        found |= {layer + f"self_attn.{name}_proj": (narrow, hidden) for name in "kv"}
        found |= {layer + f"mlp.{name}_proj": (inner, hidden) for name in ("gate", "up")}
        found[layer + "mlp.down_proj"] = (hidden, inner)
    return {f"{name}.weight": shape for name, shape in found.items()}


def checkpoint(folder: Path, **changes: object) -> Path:
    """A folder with config.json and model.safetensors; the same weights each time."""
    config = CONFIG | changes
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    chance = np.random.default_rng(0)
    head, parts, at = {}, [], 0
    for name, shape in shapes(config).items():
        part = chance.normal(0, 0.3, shape).astype(np.float32).tobytes()
        head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 64)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    return folder


def hub_download(cache: Path, *files: Path) -> Path:
    """Files as the Hugging Face hub's cache keeps them: a snapshot, whose names are links to blobs without a suffix."""
    repository = cache / "models--org--tiny-net"
    snapshot, blobs = repository / "snapshots" / "5f1c02", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for number, file in enumerate(files):
        blob = blobs / f"{number:08x}"
        file.rename(blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot
