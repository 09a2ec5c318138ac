"""Sentence encoders: a folder of sentence-transformers' as a graph."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from compiler import compile, reference
from compiler.errors import ParseError
from compiler.importers.bert.encoder import encoder_config, sentence_encoder, weight_shapes

CONFIG = {
    "model_type": "bert", "hidden_act": "gelu", "vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 40, "layer_norm_eps": 1e-12,
}  # fmt: skip


def write(folder: Path, weights: dict[str, np.ndarray]) -> None:
    pytest.importorskip("safetensors.numpy").save_file(weights, folder / "model.safetensors")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    rng = np.random.default_rng(0)
    shapes = weight_shapes(encoder_config(tmp_path))
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}
    write(tmp_path, {name: array + ("Norm.weight" in name) for name, array in weights.items()})
    return tmp_path


def sentences(rng, batch, length, longest):
    tokens = rng.integers(0, 100, (batch, length))
    counts = np.arange(length) < np.array([longest, *rng.integers(1, length + 1, batch - 1)])[:, None]
    return tokens, counts


def test_embeddings_have_length_1_and_do_not_see_the_padding(folder):
    graph = sentence_encoder(folder)
    model, rng = compile(graph, opt_level=1), np.random.default_rng(1)
    tokens, counts = sentences(rng, 3, 9, 5)
    (found,) = model.execute(tokens, counts)
    np.testing.assert_allclose(found, reference(graph, tokens, counts)[0], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    (alone,) = model.execute(tokens[:1, :5], counts[:1, :5])
    np.testing.assert_allclose(alone[0], found[0], atol=1e-5)


def test_embeddings_are_those_of_transformers(folder):
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokens, counts = sentences(np.random.default_rng(2), 4, 12, 12)
    (found,) = compile(sentence_encoder(folder), opt_level=1).execute(tokens, counts)
    bert = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    assert cosine_distance(found, theirs(torch, bert, tokens, counts)) < 1e-6


def theirs(torch, bert, tokens, counts):
    mask = torch.from_numpy(counts.astype(np.int64))
    with torch.no_grad():
        states = bert(input_ids=torch.from_numpy(tokens), attention_mask=mask).last_hidden_state
    weight = mask[..., None].float()
    mean = (states * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(mean, p=2, dim=1).numpy()


def cosine_distance(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return np.abs(1 - (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))).max()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model_type": "roberta"}, "'roberta'"),
        ({"hidden_act": "relu"}, "'relu'"),
        ({"num_attention_heads": 5}, "5 heads do not divide 32"),
        ({"hidden_size": 1e300}, "hidden_size"),
        ({"num_hidden_layers": 3}, "lacks encoder.layer.2."),
        ({"vocab_size": 99}, "has shape (100, 32), not (99, 32)"),
    ],
)
def test_a_folder_that_does_not_fit_is_told_in_a_line(folder, change, words):
    (folder / "config.json").write_text(json.dumps(CONFIG | change))
    with pytest.raises(ParseError) as told:
        sentence_encoder(folder)
    assert words in str(told.value) and "\n" not in str(told.value)


def test_other_ways_of_pooling_are_refused(folder):
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    with pytest.raises(ParseError, match="mean of the tokens"):
        sentence_encoder(folder)
