"""PyTorch modules: exported, imported, compiled, and compared with what PyTorch itself computes."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402

from compiler import compile, from_torch, reference  # noqa: E402
from compiler.errors import CompilerError  # noqa: E402
from compiler.graph.types import BufferType  # noqa: E402
from compiler.importers.torch import load_exported  # noqa: E402

BATCH = Dim("batch", min=2, max=64)
LENGTH = Dim("length", min=2, max=64)


def tensors_of(result):
    listed = result.to_tuple() if hasattr(result, "to_tuple") else result if isinstance(result, tuple) else (result,)
    return [value for value in listed if isinstance(value, torch.Tensor)]


def assert_agrees(module, examples, dynamic, others=()):
    """The compiled module gives what PyTorch gives, for the examples and for other sizes."""
    module = module.eval()
    graph = from_torch(module, examples, dynamic)
    model = compile(graph, opt_level=1)
    for inputs in (examples, *others):
        with torch.no_grad():
            wanted = tensors_of(module(**inputs) if isinstance(inputs, dict) else module(*inputs))
        arrays = [t.numpy() for t in (inputs.values() if isinstance(inputs, dict) else inputs)]
        for result, tensor in zip(model.execute(*arrays), wanted, strict=True):
            expected = tensor.numpy()
            assert result.shape == expected.shape and result.dtype == expected.dtype
            assert np.abs(result - expected).max() < 1e-4 * max(np.abs(expected).max(), 1e-6)
    return graph


class Block(nn.Module):
    """A residual block of ResNet-18's kind."""

    def __init__(self, given, made, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(given, made, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(made, made, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(made), nn.BatchNorm2d(made)
        same = stride == 1 and given == made
        self.short = (
            nn.Identity()
            if same
            else nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))
        )

    def forward(self, x):
        inner = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(inner + self.short(x))


class ResNet18(nn.Module):
    """ResNet-18 with a width to choose; 64 is the paper's."""

    def __init__(self, width, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        sizes = [width, width, 2 * width, 4 * width, 8 * width]
        layers = []
        for at, (given, made) in enumerate(pairwise(sizes)):
            layers += [Block(given, made, 1 if at == 0 else 2), Block(made, made, 1)]
        self.layers = nn.Sequential(*layers)
        self.pool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(8 * width, classes)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


def ids(batch, length):
    return torch.randint(0, 100, (batch, length))


def test_a_small_network_with_named_symbolic_sizes():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.Softmax(-1))
    graph = assert_agrees(module, (torch.randn(3, 8),), ({0: BATCH},), [(torch.randn(7, 8),)])
    assert graph.symbols == {"batch"}
    names = {op.nodes[0] for op in graph.ops}
    assert any("weight" in name for name in names)


def test_resnet_18():
    torch.manual_seed(0)
    assert_agrees(ResNet18(8), (torch.randn(2, 3, 64, 64),), ({0: BATCH},), [(torch.randn(3, 3, 64, 64),)])


@pytest.fixture(scope="module")
def transformers():
    return pytest.importorskip("transformers")


def test_bert(transformers):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64
    )

    def inputs(batch, length):
        mask = torch.ones(batch, length, dtype=torch.long)
        mask[0, length // 2 :] = 0
        return {"input_ids": ids(batch, length), "attention_mask": mask}

    sizes = {0: BATCH, 1: LENGTH}
    dynamic = {"input_ids": sizes, "attention_mask": sizes}
    assert_agrees(transformers.BertModel(config), inputs(2, 8), dynamic, [inputs(3, 5)])


def test_gpt2(transformers):
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64, use_cache=False)
    dynamic = {"input_ids": {0: BATCH, 1: LENGTH}}
    assert_agrees(transformers.GPT2LMHeadModel(config), {"input_ids": ids(2, 8)}, dynamic, [{"input_ids": ids(3, 5)}])


def test_llama(transformers):
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=100, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, use_cache=False,
    )  # fmt: skip
    dynamic = {"input_ids": {0: BATCH, 1: LENGTH}}
    assert_agrees(transformers.LlamaForCausalLM(config), {"input_ids": ids(2, 8)}, dynamic, [{"input_ids": ids(3, 5)}])


def test_vit(transformers):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    dynamic = {"pixel_values": {0: BATCH}}
    images = [{"pixel_values": torch.randn(n, 3, 32, 32)} for n in (2, 3)]
    assert_agrees(transformers.ViTModel(config), images[0], dynamic, images[1:])


class Counting(nn.Module):
    """A module whose buffer remembers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x * self.total


def test_buffers_that_change_are_mutable_buffers():
    graph = from_torch(Counting(), (torch.ones(2, 4),))
    assert [type(kind) is BufferType for kind in graph.input_types] == [False, True]
    assert graph.input_names[1] == "total"
    total = np.zeros(4, np.float32)
    model = compile(graph)
    for times in (1, 2):
        (y,) = model.execute(np.ones((2, 4), np.float32), total)
        np.testing.assert_array_equal(total, np.full(4, 2.0 * times))
        np.testing.assert_array_equal(y, np.broadcast_to(total, (2, 4)))


class Indexing(nn.Module):
    """What PyTorch's subscripts can say."""

    def forward(self, x, at):
        picked = x[:, at]
        written = x.clone()
        written[at, 1] = -1.0
        best, where = torch.topk(x, 2)
        return picked, written, best, where, x.gather(1, at[None].expand(4, 3)), torch.where(x > 0, x, 0.0)[..., ::2]


def test_subscripts_gather_and_scatter():
    module, x, at = Indexing(), torch.randn(4, 5), torch.tensor([0, 3, 1])
    graph = from_torch(module, (x, at))
    for result, wanted in zip(reference(graph, x.numpy(), at.numpy()), module(x, at), strict=True):
        np.testing.assert_allclose(result, wanted.numpy())


def test_every_missing_op_is_named_at_once():
    class Odd(nn.Module):
        def forward(self, x):
            return (
                torch.linalg.cholesky_ex(x)[0]
                + torch.fft.fft(x).real
                + torch.bincount(x.flatten().long(), minlength=3).sum()
            )

    with pytest.raises(CompilerError) as caught:
        from_torch(Odd(), (torch.eye(3),))
    text = str(caught.value)
    assert "ops that this version does not have" in text and "cholesky" in text and "fft" in text and "\n" not in text


def test_what_cannot_be_exported_says_why_in_one_line():
    class Deciding(nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x

    with pytest.raises(CompilerError, match="PyTorch cannot export Deciding") as caught:
        from_torch(Deciding(), (torch.ones(2),))
    assert "\n" not in str(caught.value)
    with pytest.raises(CompilerError, match=r"needs a torch\.nn\.Module, not str"):
        from_torch("module", ())


def test_a_saved_export_is_a_source(tmp_path):
    from app.sources import load_source

    module, path = nn.Linear(3, 2), tmp_path / "net.pt2"
    torch.export.save(torch.export.export(module, (torch.ones(1, 3),)), path)
    graph = load_source(str(path)).graph
    x = np.ones((1, 3), np.float32)
    np.testing.assert_allclose(reference(graph, x)[0], module(torch.ones(1, 3)).detach().numpy(), rtol=1e-6)
    path.write_bytes(b"not an archive")
    with pytest.raises(CompilerError, match=r"is not a file that torch\.export\.save wrote"):
        load_source(str(path))


class _Joined(nn.Module):
    def forward(self, x, rest, *, more):
        return (x @ rest[0]).sum() + more[:, None] * x[:, :, 0]


def _joined_export(half=None):
    batch, length = Dim("batch", min=2), Dim("length", min=2) if half is None else 2 * Dim(half, min=2)
    return torch.export.export(
        _Joined(), (torch.ones(4, 6, 3), [torch.ones(3, 3)]), {"more": torch.ones(4)},
        dynamic_shapes={"more": (batch,), "rest": [None], "x": {0: batch, 1: length}},
    )  # fmt: skip


def test_sizes_have_the_names_that_the_exported_program_tells():
    graph = from_torch(_joined_export())
    assert [str(size) for size in graph.inputs[0].shape] == ["batch", "length", "3"]
    assert [str(size) for size in graph.inputs[2].shape] == ["batch"]
    x = np.ones((2, 5, 3), np.float32)
    assert reference(graph, x, np.ones((3, 3), np.float32), np.ones(2, np.float32))[0].shape == (2, 5)


def test_a_size_that_is_computed_from_a_named_one_is_so_here():
    assert sorted(from_torch(_joined_export("half")).symbols) == ["batch", "half"]


def test_a_name_that_is_pytorchs_own_for_another_size_makes_them_no_one_size():
    plain = torch.export.export(
        _Joined(), (torch.ones(4, 6, 3), [torch.ones(3, 3)]), {"more": torch.ones(4)},
        dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}, "rest": [None], "more": {0: Dim.AUTO}},
    )  # fmt: skip
    own = sorted(from_torch(plain).symbols)
    assert len(own) == 2
    for name in own:
        assert len(from_torch(_joined_export(name)).symbols) == 2


def test_a_saved_export_has_pytorchs_own_names_of_sizes(tmp_path):
    """The file holds no others: `torch.export.save` leaves the names of the `Dim`s out."""
    torch.export.save(_joined_export(), tmp_path / "m.pt2")
    graph = load_exported(tmp_path / "m.pt2")
    assert len(graph.symbols) == 2 and all(name.startswith("s") for name in graph.symbols)


def test_a_saved_export_opens_without_a_word(tmp_path):
    module = nn.Sequential(nn.Embedding(10, 8), nn.LSTM(8, 8, batch_first=True))
    tokens = torch.zeros(2, 3, dtype=torch.long)
    torch.export.save(torch.export.export(module.eval(), (tokens,)), tmp_path / "m.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = load_exported(tmp_path / "m.pt2")
    assert len(graph.outputs) == 3
