"""Llama checkpoints generate the tokens that the `transformers` package generates from the same files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from app.generate.engine import Engine
from app.generate.sampling import Sampling
from compiler.errors import CompilerError
from compiler.importers.llama.checkpoint import open_checkpoint
from compiler.options import CompileOptions

PROMPT = [1, 17, 42, 5, 99, 3, 64]
LLAMA_3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32, "rope_theta": 10000.0,
}  # fmt: skip


def checkpoint_folder(tmp_path, **changes):
    """A tiny Llama with random weights, saved by `transformers`; the folder and the model."""
    pytest.importorskip("transformers")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(7)
    asked = {
        "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "vocab_size": 128, "max_position_embeddings": 256, "eos_token_id": 127,
        "bos_token_id": 1, "initializer_range": 0.3,
    } | changes  # fmt: skip
    model = LlamaForCausalLM(LlamaConfig(**asked)).eval()
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model", model


def theirs(model, count):
    import torch

    with torch.no_grad():
        found = model.generate(torch.tensor([PROMPT]), max_new_tokens=count, do_sample=False, pad_token_id=0)
    return found[0, len(PROMPT) :].tolist()


def ours(path, count):
    engine = Engine(open_checkpoint(path), CompileOptions())
    return [token for token, _ in engine.generate(PROMPT, count, Sampling())]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="grouped"),
        pytest.param({"tie_word_embeddings": True}, id="tied", marks=pytest.mark.slow),
        pytest.param({"num_key_value_heads": 4}, id="ungrouped", marks=pytest.mark.slow),
        pytest.param({"rope_parameters": LLAMA_3, "tie_word_embeddings": True}, id="llama3-rope-tied"),
    ],
)
def test_safetensors_give_the_same_greedy_tokens(tmp_path, changes):
    folder, model = checkpoint_folder(tmp_path, **changes)
    assert ours(folder, 24) == theirs(model, 24)


def gguf_file(path, model, quantisation):
    """The model as llama.cpp's converter writes it: rows of q and k so that pairs are neighbours."""
    gguf = pytest.importorskip("gguf")
    config, state = model.config, {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([f"<{number}>" for number in range(config.vocab_size)])
    writer.add_token_scores([0.0] * config.vocab_size)
    writer.add_token_types([1] * config.vocab_size)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(127)

    def neighbours(rows, heads):
        return rows.reshape(heads, 2, -1, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)

    names = {
        "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }  # fmt: skip
    whole = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    for name, array in state.items():
        stem = name.removesuffix(".weight")
        if stem in whole:
            called = whole[stem]
        else:
            number, _, stem = stem.removeprefix("model.layers.").partition(".")
            called = f"blk.{number}.{names[stem]}"
            if stem.endswith("q_proj"):
                array = neighbours(array, config.num_attention_heads)
            elif stem.endswith("k_proj"):
                array = neighbours(array, config.num_key_value_heads)
        kind = quantisation if array.ndim == 2 else gguf.GGMLQuantizationType.F32
        writer.add_tensor(f"{called}.weight", gguf.quants.quantize(np.ascontiguousarray(array), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.mark.parametrize(
    "kind", ["Q8_0", pytest.param("Q4_0", marks=pytest.mark.slow), pytest.param("F16", marks=pytest.mark.slow)]
)
def test_gguf_gives_the_same_greedy_tokens(tmp_path, kind):
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("accelerate")  # what transformers reads GGUF with
    _, model = checkpoint_folder(tmp_path)
    gguf_file(tmp_path / "m.gguf", model, gguf.GGMLQuantizationType[kind])
    from transformers import AutoModelForCausalLM

    read = AutoModelForCausalLM.from_pretrained(str(tmp_path), gguf_file="m.gguf", dtype="float32").eval()
    assert ours(tmp_path / "m.gguf", 24) == theirs(read, 24)


def test_sampling_repeats_with_its_seed_and_keeps_to_the_likeliest(tmp_path):
    folder, _ = checkpoint_folder(tmp_path)
    engine = Engine(open_checkpoint(folder), CompileOptions())

    def drawn(sampling):
        return [token for token, _ in engine.generate(PROMPT, 12, sampling)]

    greedy = drawn(Sampling())
    assert drawn(Sampling(1.5, 20, 0.9, 3)) == drawn(Sampling(1.5, 20, 0.9, 3)) != greedy
    assert drawn(Sampling(1.5, 20, 0.9, 3)) != drawn(Sampling(1.5, 20, 0.9, 4))
    assert drawn(Sampling(2.0, top_k=1)) == drawn(Sampling(2.0, top_p=1e-4)) == greedy


def test_what_cannot_be_asked_is_told(tmp_path):
    folder, _ = checkpoint_folder(tmp_path)
    engine = Engine(open_checkpoint(folder), CompileOptions())
    with pytest.raises(CompilerError, match="tokens are 0 to 127"):
        next(engine.generate([500], 1, Sampling()))
    with pytest.raises(CompilerError, match="beyond the 256 of the model"):
        next(engine.generate(PROMPT, 1000, Sampling()))


def test_the_command_shows_both_flows_side_by_side_and_keeps_comparable_runs(kernelglass, tmp_path):
    folder, model = checkpoint_folder(tmp_path)
    db = str(tmp_path / "runs.db")
    arguments = ["generate", str(folder), "--tokens", ",".join(map(str, PROMPT)), "-n", "12", "--flow", "both"]
    status, out, err = kernelglass(*arguments, "--db", db)
    assert status == 0, err
    assert "time to first token" in out and "the tokens are the same" in out
    found = json.loads(kernelglass(*arguments, "--db", db, "--json")[1])
    assert {made["figures"]["output_tokens"] for made in found["flows"].values()} == {12}
    assert found["flows"]["per-kernel"]["tokens"] == theirs(model, 12)
    runs = [made["run"] for made in found["flows"].values()]
    status, _, err = kernelglass("compare", *runs, "--db", db)
    assert status == 0, err


def test_text_in_and_text_out(kernelglass, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    folder, model = checkpoint_folder(tmp_path)
    words = {f"w{number}": number for number in range(128)}
    held = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
    held.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    held.save(str(folder / "tokenizer.json"))
    text = " ".join(f"w{token}" for token in PROMPT[1:])
    status, out, err = kernelglass("generate", folder, "--prompt", text, "-n", "6", "--no-db")
    assert status == 0, err
    assert out.startswith(" ".join(f"w{token}" for token in theirs(model, 6)))


def test_a_model_without_a_tokenizer_says_what_to_do(kernelglass, tmp_path):
    folder, _ = checkpoint_folder(tmp_path)
    status, _, err = kernelglass("generate", folder, "--prompt", "hello", "--no-db")
    assert status == 2 and "has no tokenizer.json; give the prompt as --tokens" in err
