"""Text from a language model on a device: the tokens that the processor makes, with weights and cache on the card."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.generate.engine import Engine
from app.generate.sampling import Sampling
from compiler.importers.llama.checkpoint import open_checkpoint
from compiler.options import CompileOptions

pytestmark = pytest.mark.gpu
PROMPT = (1, 17, 42, 5, 99, 3, 64)
MOST = 40


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tiny Llama with random weights in safetensors, written out here."""
    hidden, inner, heads, kv_heads, vocabulary = 64, 96, 4, 2, 128
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": hidden, "hidden_act": "silu",
        "intermediate_size": inner, "num_hidden_layers": 2, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "vocab_size": vocabulary, "max_position_embeddings": 256,
        "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "eos_token_id": 127, "bos_token_id": 1,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    narrow = hidden // heads * kv_heads
    shapes = {
        "model.embed_tokens": (vocabulary, hidden), "model.norm": (hidden,), "lm_head": (vocabulary, hidden)
    }  # fmt: skip
    for number in range(2):
        layer = {
            "input_layernorm": (hidden,), "self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (narrow, hidden),
            "self_attn.v_proj": (narrow, hidden), "self_attn.o_proj": (hidden, hidden),
            "post_attention_layernorm": (hidden,), "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
            "mlp.down_proj": (hidden, inner),
        }  # fmt: skip
        shapes |= {f"model.layers.{number}.{name}": shape for name, shape in layer.items()}
    random = np.random.default_rng(7)
    header, parts, at = {}, [], 0
    for name, shape in shapes.items():
        array = random.uniform(0.5, 1.5, shape) if len(shape) == 1 else random.standard_normal(shape) * 0.3
        parts.append(array.astype(np.float32).tobytes())
        header[f"{name}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": (at, at + len(parts[-1]))}
        at += len(parts[-1])
    written = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(len(written).to_bytes(8, "little") + written + b"".join(parts))
    return tmp_path


def tokens_of(engine: Engine) -> list[int]:
    return [token for token, _ in engine.generate(PROMPT, MOST, Sampling())]


@pytest.mark.parametrize("flow", ["per-kernel", "all-kernel"])
def test_a_device_makes_the_tokens_that_the_processor_makes(device, folder, flow):
    checkpoint = open_checkpoint(folder)
    expected = tokens_of(Engine(checkpoint, CompileOptions()))
    assert len(set(expected)) > 5
    engine = Engine(checkpoint, CompileOptions(device.target, flow), device=0)
    assert tokens_of(engine) == expected
    assert tokens_of(engine) == expected  # once more, with memory that was used before


def test_weights_go_to_the_device_once_and_the_cache_stays_there(device, folder):
    checkpoint = open_checkpoint(folder)
    before, held = len(device.transfers.done), device.memory().in_use
    engine = Engine(checkpoint, CompileOptions(device.target), device=0)
    loaded = [transfer.bytes for transfer in list(device.transfers.done)[before:]]
    weights = sum(np.prod(tensor.shape, dtype=int) * 4 for tensor in checkpoint.weights.values())
    assert weights <= sum(loaded) < weights + 4096  # besides them, what was folded
    before = len(device.transfers.done)
    made = tokens_of(engine)
    moved = list(device.transfers.done)[before:]
    assert len(moved) == 4 * len(made)  # a token, its cosines and sines; the logits
    assert max(transfer.bytes for transfer in moved) <= 128 * 4
    assert device.memory().in_use - held <= sum(loaded)  # what a generation takes beside them it gives back


def test_the_command_generates_on_a_device_and_keeps_the_run(device, folder, tmp_path):
    db = str(tmp_path / "runs.db")
    asked = ["generate", str(folder), "--tokens", ",".join(map(str, PROMPT)), "-n", "12"]
    made = [answer(*asked, "--device", where, "--db", db)["flows"]["all-kernel"] for where in ("cpu", "cuda:0")]
    assert made[0]["tokens"] == made[1]["tokens"]
    assert sorted(run["device"] for run in answer("runs", "--db", db)["runs"]) == ["cpu", "cuda:0"]


def answer(*arguments: str) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "app", *arguments, "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
