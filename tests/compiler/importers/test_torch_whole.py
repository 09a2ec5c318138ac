"""PyTorch models of their published sizes, with random weights, against PyTorch, for several sizes of the inputs."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.export import Dim  # noqa: E402

from compiler import compile, from_torch  # noqa: E402

pytestmark = pytest.mark.slow
BATCH, LENGTH = Dim("batch", min=2, max=64), Dim("length", min=2, max=512)
SIZES = {0: BATCH, 1: LENGTH}
FARTHEST = 1e-4


def resnet():
    spec = importlib.util.spec_from_file_location("torch_modules", Path(__file__).with_name("test_torch.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    images = [{"x": torch.randn(n, 3, 224, 224)} for n in (2, 3)]
    return module.ResNet18(64, 1000), images, {"x": {0: BATCH}}


def tokens(vocabulary, masked=False):
    """Inputs of a language model, of two sizes."""
    made = []
    for batch, length in ((2, 16), (3, 41)):
        inputs = {"input_ids": torch.randint(0, vocabulary, (batch, length))}
        if masked:
            inputs["attention_mask"] = torch.ones(batch, length, dtype=torch.long)
            inputs["attention_mask"][0, length // 2 :] = 0
        made.append(inputs)
    return made, {name: SIZES for name in made[0]}


def published():
    """The library of models, loaded by the tests that need it: it takes seconds, also where none of them is to run."""
    return pytest.importorskip("transformers")


def bert():
    transformers = published()
    config = transformers.BertConfig()
    return transformers.BertModel(config), *tokens(config.vocab_size, masked=True)


def gpt2():
    transformers = published()
    config = transformers.GPT2Config(use_cache=False)
    return transformers.GPT2LMHeadModel(config), *tokens(config.vocab_size)


def vit():
    transformers = published()
    images = [{"pixel_values": torch.randn(n, 3, 224, 224)} for n in (2, 3)]
    return transformers.ViTModel(transformers.ViTConfig()), images, {"pixel_values": {0: BATCH}}


def llama():
    transformers = published()
    config = transformers.LlamaConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=2, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=4096, use_cache=False,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config), *tokens(config.vocab_size)


@pytest.mark.parametrize("make", [resnet, bert, gpt2, vit, llama], ids=lambda make: make.__name__)
def test_a_model_of_its_real_size_agrees_with_pytorch(make, capsys):
    torch.manual_seed(0)
    module, inputs, dynamic = make()
    module = module.eval()
    start = time.perf_counter()
    graph = from_torch(module, inputs[0], dynamic)
    imported = time.perf_counter()
    model = compile(graph)
    compiled = time.perf_counter()
    worst = 0.0
    for given in inputs:
        with torch.no_grad():
            result = module(**given)
        wanted = result.to_tuple() if hasattr(result, "to_tuple") else (result,)
        for found, tensor in zip(model.execute(*[t.numpy() for t in given.values()]), wanted, strict=True):
            assert found.shape == tuple(tensor.shape)
            worst = max(worst, float(np.abs(found - tensor.numpy()).max() / tensor.abs().max()))
    parameters = sum(weight.numel() for weight in module.parameters())
    with capsys.disabled():
        print(
            f"\n{make.__name__}: {parameters:,} parameters, {len(graph.ops)} ops, {len(model.kernels)} kernels, "
            f"import {imported - start:.1f} s, compile {compiled - imported:.1f} s, relative error {worst:.1e}"
        )
    assert worst < FARTHEST
