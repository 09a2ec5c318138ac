"""Configurations that are absurd or hostile: one line that names the entry, whatever it holds, and no wrong model."""

from __future__ import annotations

import json

import numpy as np
import pytest

from compiler.errors import ParseError
from compiler.importers.bert.encoder import sentence_encoder
from compiler.importers.llama.checkpoint import open_checkpoint
from compiler.importers.llama.config import config_from_gguf, config_from_json
from tests.compiler.importers.test_llama import SMALL, sparse_checkpoint

LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip
ODD = ["", "x\ny", [], [1], {}, {"a": 1}, True, -1, 0.5, 1e300, 10**30, "9" * 5000, None]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads"),
        ({"num_attention_heads": -4}, "num_attention_heads"),
        ({"num_attention_heads": "4"}, "num_attention_heads"),
        ({"num_key_value_heads": 0}, "num_key_value_heads"),
        ({"num_hidden_layers": 2.5}, "num_hidden_layers"),
        ({"head_dim": 10**9}, "head_dim"),
        ({"rms_norm_eps": "tiny"}, "rms_norm_eps"),
        ({"rope_theta": "NaN"}, "rope_theta"),
        ({"rope_theta": -5.0}, "rope_theta"),
        ({"rope_theta": [1]}, "rope_theta"),
        ({"rope_parameters": "x"}, "rope_parameters"),
        ({"rope_parameters": [1, 2]}, "rope_parameters"),
        ({"rope_scaling": 7}, "rope_scaling"),
        ({"rope_scaling": {"rope_type": ["linear"]}}, "scaling"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 0}}, "factor"),
        ({"rope_scaling": {"rope_type": "linear", "factor": 1e-200}}, "factor"),
        ({"rope_scaling": LLAMA3 | {"low_freq_factor": 4.0}}, "low_freq_factor"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ({"eos_token_id": "x"}, "eos_token_id"),
        ({"eos_token_id": [1, "x"]}, "eos_token_id"),
        ({"eos_token_id": {"a": 1}}, "eos_token_id"),
        ({"bos_token_id": "x"}, "bos_token_id"),
        ({"bos_token_id": 5000}, "bos_token_id"),
        ({"bos_token_id": -1}, "bos_token_id"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings"),
        ({"sliding_window": "wide"}, "sliding_window"),
        ({"model_type": ["llama"]}, "model type"),
        ({"hidden_act": ["silu"]}, "SiLU"),
    ],
)
def test_an_absurd_entry_is_named_in_one_line(change, words):
    with pytest.raises(ParseError, match=words) as refused:
        config_from_json(SMALL | change, "config.json")
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "key", [*SMALL, "rope_theta", "rope_scaling", "rope_parameters", "head_dim", "eos_token_id", "bos_token_id",
            "max_position_embeddings", "sliding_window", "attention_bias"],
)  # fmt: skip
def test_whatever_an_entry_holds_is_read_or_refused(key):
    for odd in ODD:
        try:
            config = config_from_json(SMALL | {key: odd}, "config.json")
        except ParseError as error:
            assert "\n" not in str(error) and len(str(error)) < 500
        else:
            assert all(np.isfinite(part).all() for part in config.angles(np.arange(4)))


NAMED = {
    "general.architecture": "llama", "llama.attention.head_count": 4, "llama.embedding_length": 256,
    "llama.block_count": 2, "llama.feed_forward_length": 512, "llama.vocab_size": 1024,
    "tokenizer.ggml.bos_token_id": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    "key", [*NAMED, "llama.rope.freq_base", "llama.rope.scaling.type", "llama.rope.scaling.factor",
            "llama.rope.dimension_count", "llama.context_length", "tokenizer.ggml.eos_token_id",
            "llama.attention.head_count_kv", "tokenizer.ggml.tokens"],
)  # fmt: skip
def test_whatever_a_gguf_file_says_is_read_or_refused(key):
    for odd in [*ODD, np.arange(300), np.zeros(1, "<f4"), float("nan"), float("-inf")]:
        try:
            config = config_from_gguf(NAMED | {key: odd}, "m.gguf")
        except ParseError as error:
            assert "\n" not in str(error) and len(str(error)) < 500
        else:
            assert all(np.isfinite(part).all() for part in config.angles(np.arange(4)))


def test_scaling_that_is_not_built_is_refused_and_not_left_out():
    with pytest.raises(ParseError, match="scaling 'yarn'"):
        config_from_gguf(NAMED | {"llama.rope.scaling.type": "yarn"}, "m.gguf")
    assert config_from_gguf(NAMED | {"llama.rope.scaling.type": "none"}, "m.gguf").scaling is None


def test_a_window_of_attention_bounds_the_positions_for_which_the_model_is_right():
    mistral = SMALL | {"model_type": "mistral", "max_position_embeddings": 4096}
    assert config_from_json(mistral | {"sliding_window": 64}, "c").positions == 64
    assert config_from_json(mistral | {"sliding_window": None}, "c").positions == 4096


def test_weights_that_the_graph_would_leave_out_are_named(tmp_path):
    folder = sparse_checkpoint(tmp_path / "m", SMALL)
    one = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
    extra = {"model.layers.1.self_attn.q_proj.bias": one, "model.layers.0.self_attn.rotary_emb.inv_freq": one}
    text = json.dumps(extra).encode()
    (folder / "more.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(ParseError, match=r"q_proj\.bias"):
        open_checkpoint(folder)
    del extra["model.layers.1.self_attn.q_proj.bias"]
    text = json.dumps(extra).encode()
    (folder / "more.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    assert open_checkpoint(folder).config.layers == 2


@pytest.mark.parametrize(
    "change",
    [{"num_hidden_layers": 1 << 24}, {"num_attention_heads": 1 << 24}, {"hidden_size": "x"}, {"hidden_act": ["gelu"]},
     {"model_type": {"a": "b\n"}}],
)  # fmt: skip
def test_an_encoder_with_absurd_sizes_is_refused_at_once(tmp_path, change):
    folder = sparse_checkpoint(tmp_path / "m", SMALL)
    bert = SMALL | {"model_type": "bert", "hidden_act": "gelu", "max_position_embeddings": 64} | change
    (folder / "config.json").write_text(json.dumps(bert))
    with pytest.raises(ParseError) as refused:
        sentence_encoder(folder)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 500


def test_files_that_were_not_fetched_say_so(tmp_path):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 4\n"
    folder = sparse_checkpoint(tmp_path / "m", SMALL)
    (folder / "model.safetensors").write_text(pointer)
    (tmp_path / "m.gguf").write_text(pointer)
    for path in (folder, tmp_path / "m.gguf"):
        with pytest.raises(ParseError, match="git lfs pull"):
            open_checkpoint(path)


@pytest.mark.parametrize(
    ("index", "words"),
    [
        (
            {"weight_map": {"a": "model.safetensors", "b": "m-2.safetensors", "c": "x\n"}},
            r"m-2\.safetensors and 1 more",
        ),
        ({"weight_map": {"a": "a\nb"}}, "lacks a b, which"),
        ({"weight_map": {"a": 7}}, "lacks 7"),
        ({"weight_map": ["a"]}, "weight_map must be an object"),
        ({}, "weight_map must be an object"),
    ],
)
def test_a_download_that_was_cut_short_names_what_is_missing(tmp_path, index, words):
    folder = sparse_checkpoint(tmp_path / "m", SMALL)
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ParseError, match=words) as refused:
        open_checkpoint(folder)
    assert "\n" not in str(refused.value)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "model.safetensors"}}))
    assert open_checkpoint(folder)
