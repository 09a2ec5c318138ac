"""Llama graphs from configurations: equal layers are compiled once, whatever their number, and weights are not read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compiler import compile
from compiler.errors import ParseError
from compiler.importers.llama.checkpoint import open_checkpoint
from compiler.importers.llama.config import config_from_gguf, config_from_json
from compiler.importers.llama.graph import decode_graph, prefill_graph

ROOT = Path(__file__).resolve().parents[3]
SMALL = {
    "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 512, "vocab_size": 1024, "rms_norm_eps": 1e-5,
}  # fmt: skip
EIGHT = SMALL | {
    "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072, "rope_theta": 500000.0,
}  # fmt: skip


def sparse_checkpoint(folder, config):
    """A folder with a configuration and weights of its shapes; large ones take no space on disk."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    size = hidden // config["num_attention_heads"]
    narrow = size * config["num_key_value_heads"]
    shapes = {"model.embed_tokens": (vocabulary, hidden), "model.norm": (hidden,), "lm_head": (vocabulary, hidden)}
    for number in range(config["num_hidden_layers"]):
        layer = f"model.layers.{number}."
        shapes |= {layer + name: (hidden,) for name in ("input_layernorm", "post_attention_layernorm")}
        shapes |= {layer + f"self_attn.{name}_proj": (hidden, hidden) for name in "qo"}
        shapes |= {layer + f"self_attn.{name}_proj": (narrow, hidden) for name in "kv"}
        shapes |= {layer + f"mlp.{name}_proj": (inner, hidden) for name in ("gate", "up")}
        shapes[layer + "mlp.down_proj"] = (hidden, inner)
    head, at = {}, 0
    for name, shape in shapes.items():
        end = at + 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        head[f"{name}.weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 64)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        if at < 1 << 26:  # small constants that are equal would be merged
            file.write(np.random.default_rng(0).bytes(at))
        else:
            file.truncate(8 + len(text) + at)
    return folder


@pytest.mark.parametrize("build", [prefill_graph, decode_graph])
def test_more_layers_make_more_calls_and_no_more_kernels(tmp_path, build):
    two = compile(build(open_checkpoint(sparse_checkpoint(tmp_path / "two", SMALL))))
    six = compile(build(open_checkpoint(sparse_checkpoint(tmp_path / "six", SMALL | {"num_hidden_layers": 6}))))
    assert len(six.kernels) == len(two.kernels) and len(six.fusion.calls) == len(two.fusion.calls) + 4 * 11
    assert six.symbols == (("T",) if build is prefill_graph else ("P",))


def test_no_decoded_weights_are_kept(tmp_path):
    model = compile(decode_graph(open_checkpoint(sparse_checkpoint(tmp_path / "m", SMALL))))
    assert model.plan(P=100).peak < 100_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "bert"}, "not one that is built here"),
        ({"hidden_act": "gelu"}, "other than SiLU"),
        ({"num_hidden_layers": 10**9}, "whole number up to"),
        ({"num_hidden_layers": 3}, "lacks model.layers.2"),
        ({"hidden_size": None}, "hidden_size must be a number above zero"),
        ({"intermediate_size": 500}, "has shape"),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 2.0}}, "scaling 'yarn'"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_told_in_one_line(tmp_path, change, words):
    folder = sparse_checkpoint(tmp_path / "m", SMALL)
    (folder / "config.json").write_text(json.dumps(SMALL | change))
    with pytest.raises(ParseError, match=words) as refused:
        open_checkpoint(folder)
    assert "\n" not in str(refused.value)


def test_a_folder_without_a_model_is_told(tmp_path):
    with pytest.raises(ParseError, match=r"there is no file .*config\.json"):
        open_checkpoint(tmp_path)
    with pytest.raises(ParseError, match="there is no model"):
        open_checkpoint(tmp_path / "nothing")


def test_configurations_of_both_kinds_say_the_same():
    given = config_from_json(SMALL | {"rope_theta": 5e5, "eos_token_id": [7, 9]}, "c")
    assert (given.theta, given.head_size, given.ends) == (5e5, 64, (7, 9))
    named = {
        "general.architecture": "llama", "llama.attention.head_count": 4, "llama.embedding_length": 256,
        "llama.block_count": 2, "llama.attention.head_count_kv": 2, "llama.feed_forward_length": 512,
        "llama.vocab_size": 1024, "llama.rope.freq_base": 5e5, "llama.attention.layer_norm_rms_epsilon": 1e-5,
    }  # fmt: skip
    read = config_from_gguf(named, "c")
    assert (read.hidden, read.kv_heads, read.inner, read.theta) == (256, 2, 512, 5e5) and read.interleaved


_COMPILE = """
import json, sys, time
from compiler import compile
import compiler.pipeline
from compiler.importers.llama.checkpoint import open_checkpoint
from compiler.importers.llama.graph import decode_graph, prefill_graph
checkpoint = open_checkpoint(sys.argv[1])
found = {}
for build in (prefill_graph, decode_graph):
    graph = build(checkpoint)
    start = time.perf_counter()
    model = compile(graph)
    found[build.__name__] = [time.perf_counter() - start, len(model.kernels), len(model.fusion.calls)]
print(json.dumps(found))
"""


@pytest.mark.slow
def test_32_layers_of_8b_shapes_compile_in_under_3_seconds(tmp_path):
    folder = sparse_checkpoint(tmp_path / "m", EIGHT)

    def compiled():
        given = {**os.environ, "PYTHONPATH": str(ROOT), "KERNELGLASS_CACHE": str(tmp_path / "cache")}
        ended = subprocess.run([sys.executable, "-c", _COMPILE, folder], capture_output=True, text=True, env=given)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    cold, cached = compiled(), compiled()
    print("cold", cold, "cached", cached)
    assert all(seconds < 3 and kernels < 20 for seconds, kernels, _ in cold.values())
    assert all(seconds < 0.3 for seconds, _, _ in cached.values())
