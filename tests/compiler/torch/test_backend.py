"""`torch.compile(backend="kernelglass")`: whole graphs, parts of graphs, gradients, what is kept and what is said."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import compiler.torch  # noqa: E402
from compiler.torch.running import say_once  # noqa: E402

nn = torch.nn


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "traces.db"))
    torch._dynamo.reset()
    say_once.cache_clear()
    torch.manual_seed(0)
    return tmp_path / "traces.db"


def agrees(module: Any, *inputs: Any, **named: Any) -> None:
    """Whether a module gives the same under the backend, to 1e-4, without a word."""
    module.eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        expected = module(*inputs, **named)
        compiled = torch.compile(module, backend="kernelglass")
        for _ in range(2):
            found = compiled(*inputs, **named)
            first, second = (value if isinstance(value, torch.Tensor) else value[0] for value in (found, expected))
            torch.testing.assert_close(first, second, rtol=1e-4, atol=1e-4)


def test_the_backend_is_known_by_name() -> None:
    assert compiler.torch.graph_op is not None
    assert "kernelglass" in torch._dynamo.list_backends(exclude_tags=None)


def test_a_function_is_compiled_for_the_sizes_that_come() -> None:
    def function(x: Any, y: Any) -> Any:
        return torch.softmax(x @ y, -1) * 2

    traced = torch.compile(function, backend="kernelglass")
    for rows in (3, 3, 5, 7):
        x, y = torch.randn(rows, 6), torch.randn(6, 4)
        torch.testing.assert_close(traced(x, y), function(x, y))


def kept(database: Path) -> int:
    """How many compilations the store has."""
    from profiler.store import open_store

    with open_store(database) as store:
        return len(store.rows("SELECT id FROM compilations"))


def test_open_sizes_are_compiled_once(_own_store: Path) -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear, self.norm = nn.Linear(16, 32), nn.LayerNorm(32)  # whose eps PyTorch hands over as a tensor

        def forward(self, x: Any) -> Any:
            return torch.relu(self.norm(self.linear(x))).mean(0) * x.shape[0]

    module = Block().eval()
    traced = torch.compile(module, backend="kernelglass", dynamic=True)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for rows in (5, 7, 64, 7):
            x = torch.randn(rows, 16)
            torch.testing.assert_close(traced(x), module(x), rtol=1e-4, atol=1e-4)
    assert kept(_own_store) == 1


def test_sizes_that_cannot_stay_open_are_compiled_one_by_one(_own_store: Path) -> None:
    def halves(x: Any) -> Any:
        return x.reshape(-1, 2, x.shape[1] // 2).sum(1)

    traced = torch.compile(halves, backend="kernelglass", dynamic=True)
    with pytest.warns(RuntimeWarning, match="a graph is compiled for each set of sizes: .*reshape"):
        for columns in (6, 8, 6):
            x = torch.randn(4, columns)
            torch.testing.assert_close(traced(x), halves(x))
    assert kept(_own_store) == 2


def test_weights_may_change_between_calls() -> None:
    module = nn.Linear(4, 3).eval()
    traced = torch.compile(module, backend="kernelglass")
    x = torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(traced(x), module(x))
            module.weight.mul_(2)


def test_gradients_are_compiled_too() -> None:
    module = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    traced = torch.compile(module, backend="kernelglass")
    x = torch.randn(5, 8)
    traced(x).square().sum().backward()
    found = [weight.grad.clone() for weight in module.parameters()]
    module.zero_grad()
    module(x).square().sum().backward()
    for gradient, weight in zip(found, module.parameters(), strict=True):
        torch.testing.assert_close(gradient, weight.grad, rtol=1e-4, atol=1e-5)


def test_what_is_not_known_runs_in_pytorch_and_is_said_once() -> None:
    def function(x: Any) -> Any:
        y = torch.relu(x) * 2
        z = torch.special.bessel_j0(y)
        return torch.sigmoid(z) + 1

    traced = torch.compile(function, backend="kernelglass")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for rows in (4, 4, 6):
            x = torch.randn(rows, 4)
            torch.testing.assert_close(traced(x), function(x))
    words = [str(warning.message) for warning in said if "kernelglass" in str(warning.message)]
    assert len(words) == 1
    assert "2 parts" in words[0] and "bessel_j0" in words[0]


def test_what_was_compiled_is_in_the_trace_store(_own_store: Path) -> None:
    from profiler.store import open_store, queries

    traced = torch.compile(lambda x: torch.relu(x) + 1, backend="kernelglass")
    traced(torch.randn(3))
    with open_store(_own_store) as store:
        row = queries.compilation_row(store, 1)
    assert row["source"].startswith("torch.compile:")
    assert "relu" in row["graph_text"]


def test_a_broken_store_stops_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.db").write_text("this is no database " * 100)
    monkeypatch.setenv("KERNELGLASS_DB", str(tmp_path / "bad.db"))
    traced = torch.compile(lambda x: torch.relu(x) - 1, backend="kernelglass")
    with pytest.warns(RuntimeWarning, match="not kept"):
        assert traced(torch.ones(3)).tolist() == [0, 0, 0]


@pytest.mark.slow
def test_resnet_18() -> None:
    class Block(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Sequential(
                nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU(),
                nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer),
            )  # fmt: skip
            self.short = nn.Identity()
            if stride != 1 or inner != outer:
                self.short = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.first(x) + self.short(x))

    sizes = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    model = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *(Block(*size) for size in (*sizes, (512, 512, 1))), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(512, 1000),
    )  # fmt: skip
    agrees(model, torch.randn(1, 3, 64, 64))


@pytest.mark.slow
def test_a_bert_layer() -> None:
    pytest.importorskip("transformers")
    from transformers import BertConfig  # type: ignore[import-not-found]
    from transformers.models.bert.modeling_bert import BertLayer  # type: ignore[import-not-found]

    config = BertConfig(hidden_size=128, num_attention_heads=4, intermediate_size=256)
    config._attn_implementation = "sdpa"
    agrees(BertLayer(config), torch.randn(2, 16, 128))


@pytest.mark.slow
def test_a_llama_layer() -> None:
    pytest.importorskip("transformers")
    from transformers import LlamaConfig  # type: ignore[import-not-found]
    from transformers.models.llama.modeling_llama import (  # type: ignore[import-not-found]
        LlamaDecoderLayer,
        LlamaRotaryEmbedding,
    )

    config = LlamaConfig(
        hidden_size=128, num_attention_heads=4, num_key_value_heads=2, intermediate_size=256, num_hidden_layers=1
    )
    config._attn_implementation = "sdpa"
    x, positions = torch.randn(2, 16, 128), torch.arange(16)[None]
    agrees(LlamaDecoderLayer(config, 0), x, position_embeddings=LlamaRotaryEmbedding(config)(x, positions))
