"""Single ops of PyTorch, each against what PyTorch computes: those that whole models of the other tests do not have."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as f  # noqa: E402

from compiler import compile, from_torch  # noqa: E402


class Does(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def agrees(function, *inputs, dynamic=None, others=(), within=1e-5):
    module = (function if isinstance(function, nn.Module) else Does(function)).eval()
    model = compile(from_torch(module, inputs, dynamic), opt_level=1)
    for given in (inputs, *others):
        with torch.no_grad():
            wanted = module(*given)
        for result, expected in zip(
            model.execute(*[t.numpy() for t in given]), wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            assert result.shape == tuple(expected.shape)
            assert result.dtype == expected.numpy().dtype
            assert np.abs(result - expected.numpy()).max() <= within * max(float(expected.abs().max()), 1e-6)


def image(*shape):
    torch.manual_seed(0)
    return torch.randn(*shape)


def test_powers_of_two_tensors():
    agrees(torch.pow, image(3, 4).abs(), image(4))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_padding_by_what_is_there(mode, rank):
    widths = (2, 1, 0, 3, 1, 1)[: 2 * rank]
    agrees(lambda x: f.pad(x, widths, mode), image(2, 3, *(4, 5, 6)[:rank]))


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding_of_a_size_that_the_run_knows(mode):
    sizes = ({2: torch.export.Dim("length", min=4, max=64)},)
    agrees(
        lambda x: f.pad(x, (2, 3), mode),
        image(2, 3, 7),
        dynamic={"inputs": sizes},
        others=[(image(2, 3, 4),), (image(2, 3, 30),)],
    )


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("beyond", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("aligned", [False, True])
def test_samples_at_a_grid(mode, beyond, aligned):
    grid = torch.linspace(-1.3, 1.3, 2 * 5 * 6 * 2).reshape(2, 5, 6, 2).flip(1) + 0.013
    sample = lambda x, at: f.grid_sample(x, at, mode, beyond, aligned)  # noqa: E731
    agrees(sample, image(2, 3, 7, 9), grid, within=1e-4)


def test_blocks_put_back():
    blocks = image(2, 3 * 2 * 3, 20)
    agrees(lambda x: f.fold(x, (5, 7), (2, 3), stride=1), blocks)
    agrees(nn.Fold((6, 6), 2, padding=1, stride=2), image(2, 4, 16))


@pytest.mark.parametrize("offset", [-2, 0, 1])
def test_diagonals(offset):
    agrees(lambda x: torch.diagonal(x, offset, 1, 3), image(2, 4, 3, 5))


def test_elements_by_their_distances_in_memory():
    agrees(lambda x: torch.as_strided(x, (3, 4), (5, 2), 1), image(4, 6))


def test_norms_of_every_order():
    for order in (0, 1, 2, 3.5, float("inf"), float("-inf")):
        agrees(lambda x, p=order: torch.linalg.vector_norm(x, p, dim=-1), image(3, 7))


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0, float("inf")])
def test_distances_of_rows(p):
    agrees(lambda a, b: torch.cdist(a, b, p, "donot_use_mm_for_euclid_dist"), image(2, 5, 4), image(2, 3, 4) + 1)


def test_counts_in_bins():
    agrees(lambda x: torch.histc(x, 5, -1.0, 1.0), torch.tensor([-1.0, -0.99, 0.0, 0.2, 0.99, 1.0, 1.5, -3.0]))


def test_norms_by_the_statistics_of_each_image():
    agrees(nn.InstanceNorm2d(4, affine=True), image(2, 4, 5, 6))
    agrees(nn.InstanceNorm1d(4), image(2, 4, 9))


def test_means_to_a_given_volume():
    agrees(nn.AdaptiveAvgPool3d((2, 3, 1)), image(2, 3, 4, 6, 5))


def test_elements_of_a_source_where_a_mask_is_true():
    mask = torch.arange(12).reshape(3, 4) % 3 == 0
    agrees(lambda x, where, source: x.masked_scatter(where, source), image(3, 4), mask, image(6))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_rows(mode):
    bags = nn.EmbeddingBag(20, 5, mode=mode)
    agrees(bags, torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 4, 4, 7]))


def test_rows_times_the_matrix_of_their_group():
    """What the experts of a mixture compute; a row of another group that is no number does not spoil a result."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    made = transformers.MixtralConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64, vocab_size=99,
        num_key_value_heads=2, num_local_experts=4, use_cache=False,
    )  # fmt: skip
    experts = transformers.MixtralModel(made).layers[0].mlp
    agrees(experts, image(2, 6, 32), within=1e-4)
