"""Prompts, tokenizers and weights that are odd or do not fit: text, or one line that says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import assert_one_line, document
from tiny_checkpoints import checkpoint

from app.generate.sampling import Sampling, choose
from app.generate.tokenizing import tokenizer_of
from compiler.errors import ParseError

tokenizers = pytest.importorskip("tokenizers")


def with_tokenizer(folder, words=64, begin=None):
    """A tiny model whose tokenizer has so many words; what it does not know is w0."""
    changes = {} if begin is None else {"bos_token_id": begin}
    made = checkpoint(folder, num_hidden_layers=1, **changes)
    held = tokenizers.Tokenizer(tokenizers.models.WordLevel({f"w{n}": n for n in range(words)}, unk_token="w0"))
    held.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    held.save(str(made / "tokenizer.json"))
    return made


@pytest.mark.parametrize("prompt", ["\x00 \u202e\u200d\ufeff \U0001f469\u200d\U0001f680 e\u0301 \x1b[31mred", "--most"])
def test_any_text_is_a_prompt(kernelglass, tmp_path, prompt):
    folder = with_tokenizer(tmp_path / "a model, of 'mine'", begin=1)
    found = document(kernelglass("generate", folder, f"--prompt={prompt}", "-n", "2", "--no-db", "--json"))
    assert len(found["flows"]["all-kernel"]["tokens"]) == 2


def test_an_empty_prompt_is_the_token_that_texts_begin_with_or_none(kernelglass, tmp_path):
    begun = with_tokenizer(tmp_path / "begun", begin=7)
    found = document(kernelglass("generate", begun, "--prompt", "", "-n", "1", "--no-db", "--json"))
    assert found["flows"]["all-kernel"]["prompt_tokens"] == [7]
    bare = with_tokenizer(tmp_path / "bare")
    assert_one_line(kernelglass("generate", bare, "--prompt", "", "--no-db"), 2, "the prompt has no tokens")


def test_what_cannot_be_a_prompt_is_one_line(kernelglass, tmp_path):
    folder = with_tokenizer(tmp_path / "m", words=900)
    for prompt, words in (
        ("w1 \udcff", "not text"),
        ("w1 " * 50_000, "50000 tokens of the prompt and 64 more are beyond the 64"),
        ("w3 w899", "the prompt has token 899, and the model's tokens are 0 to 63"),
    ):
        assert_one_line(kernelglass("generate", folder, "--prompt", prompt, "--no-db"), 2, words)
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}, "merges": ["a b"]}}')
    assert_one_line(kernelglass("generate", folder, "--prompt", "hello", "--no-db"), 2, "tokenizer.json does not read")


def test_a_run_is_kept_by_the_path_of_its_model(kernelglass, tmp_path, monkeypatch):
    folder = with_tokenizer(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    status, _, err = kernelglass("generate", "tiny", "--prompt", "w1", "-n", "2", "--db", "runs.db")
    assert status == 0, err
    kept = document(kernelglass("runs", "--db", "runs.db", "--json"))
    assert [run["source"] for run in kept["runs"]] == [str(folder)]


def test_weights_that_are_not_numbers_are_told(kernelglass, tmp_path):
    folder = checkpoint(tmp_path / "m", num_hidden_layers=1)
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-64 * 32 * 4 :] = np.full(64 * 32, np.nan, np.float32).tobytes()
    (folder / "model.safetensors").write_bytes(data)
    result = kernelglass("generate", folder, "--tokens", "1,2", "-n", "2", "--no-db")
    assert result[0] != 0 and result[2].count("\n") == 1 and "not numbers" in result[2]


@pytest.mark.parametrize("temperature", [5e-324, 1e-300, 1.0, 1e300])
@pytest.mark.filterwarnings("error")
def test_any_temperature_chooses_a_token(temperature):
    logits = np.array([-3e38, 2.0, 3e38, 1.0], np.float32)
    chance = np.random.default_rng(0)
    drawn = {choose(logits, Sampling(temperature, 3, 0.9), chance) for _ in range(50)}
    assert drawn == {2} if temperature <= 1 else drawn <= {1, 2, 3} and len(drawn) > 1


@pytest.mark.parametrize(
    "changes",
    [
        {"merges": ["q z"]},
        {"merges": np.arange(4)},
        {"model": np.arange(4)},
        {"model": ["gpt2"]},
        {"token_type": np.full(3, 3), "tokens": ["a", "a", ""]},
        {"model": "llama", "scores": np.array([np.nan, np.inf, 0.0]), "unknown_token_id": -5},
        {"model": "llama", "scores": "x", "unknown_token_id": 1e9},
    ],
    ids=str,
)
def test_a_vocabulary_that_does_not_fit_together_is_read_or_told(changes):
    named = {"model": "gpt2", "tokens": ["a", "b", "ab"], "merges": ["a b"], "add_bos_token": np.zeros(2)} | changes
    try:
        held = tokenizer_of(None, {f"tokenizer.ggml.{name}": value for name, value in named.items()}, None)
        assert isinstance(held.encode("ab ☃"), list)
    except ParseError as error:
        assert "\n" not in str(error)
