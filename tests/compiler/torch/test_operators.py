"""Kernels and graphs as PyTorch operators: eager, traced, with gradients, and what goes wrong with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from compiler import ops  # noqa: E402
from compiler.errors import CompilerError, GraphError  # noqa: E402
from compiler.torch import CustomOpLibrary, graph_op  # noqa: E402
from compiler.torch.sizes import generalised  # noqa: E402

SOURCE = """
from kernels.language import *


@elementwise("kg_square")
def kg_square(x):
    return x * x


@elementwise("kg_square_gradient")
def kg_square_gradient(grad, x):
    return grad * x * 2


@elementwise("kg_scale")
def kg_scale(x, *, factor):
    return x * factor


@pointwise("kg_gray")
def kg_gray(at, image: FusedInput):
    if at.width > 1:
        return at.lanes(lambda one: kg_gray(one, image))
    return image[at[0], at[1], 0] * 0.21 + image[at[0], at[1], 1] * 0.71 + image[at[0], at[1], 2] * 0.07


@kernel("kg_total")
def kg_total(out: FusedOutput, x: FusedInput):
    for row in range(*split(out.shape[0])):
        total = x.dtype(0)
        for column in range(x.shape[1]):
            total = total + x[row, column]
        out[row] = total
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("library")
    (folder / "ours.py").write_text(SOURCE)
    return CustomOpLibrary(folder)


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_a_result_that_lies_over_an_input_is_as_if_it_did_not(library: Any, shift: int) -> None:
    buffer = torch.arange(100_000, dtype=torch.float32)
    result = torch.empty(100_000 - shift)
    library.kg_square(result, buffer[: 100_000 - shift].clone())  # from now on such calls take the short way
    expected = result.clone()
    library.kg_square(buffer[shift:], buffer[: 100_000 - shift])
    assert torch.equal(buffer[shift:], expected)


def test_each_kernel_is_an_operator_that_writes_where_it_is_told(library: Any) -> None:
    assert {"kg_square", "kg_scale", "kg_total"} <= set(library.names) <= set(dir(library))
    for shape in ((5,), (5,), (3, 4), (2, 3), (7, 9), (0,)):
        x = torch.randn(shape)
        out = torch.empty(shape)
        library.kg_square(out, x)
        assert torch.equal(out, x * x)


def test_results_may_have_gaps_and_inputs_other_dtypes(library: Any) -> None:
    x = torch.arange(6.0)
    out = torch.zeros(12)
    library.kg_square(out[::2], x)
    assert out[::2].tolist() == (x * x).tolist() and not out[1::2].any()
    whole = torch.arange(4, dtype=torch.int64)
    squares = torch.empty(4, dtype=torch.int64)
    library.kg_square(squares, whole)
    assert squares.tolist() == [0, 1, 4, 9]


def test_a_result_over_its_input_is_right(library: Any) -> None:
    x = torch.arange(5.0)
    library.kg_square(torch.empty(5), x)
    library.kg_square(x, x)
    assert x.tolist() == [0, 1, 4, 9, 16]


def test_parameters_are_compile_time(library: Any) -> None:
    x, out = torch.arange(3.0), torch.empty(3)
    library.kg_scale(out, x, factor=3.0)
    assert out.tolist() == [0, 3, 6]
    library.kg_scale.specialised(factor=4.0)(out, x)
    assert out.tolist() == [0, 4, 8]
    with pytest.raises(CompilerError, match="factor"):
        library.kg_scale(out, x)


def test_a_whole_kernel_reduces(library: Any) -> None:
    for rows in (3, 4, 5):
        x, out = torch.randn(rows, 6), torch.empty(rows)
        library.kg_total(out, x)
        torch.testing.assert_close(out, x.sum(1))


def test_operators_are_traced_whole(library: Any) -> None:
    def grayed(image: Any) -> Any:
        out = torch.empty(image.shape[:2])
        library.kg_gray(out, image + 0)
        return out * 2

    image = torch.rand(4, 5, 3)
    expected = 2 * (image * torch.tensor([0.21, 0.71, 0.07])).sum(-1)
    torch.testing.assert_close(grayed(image), expected)
    traced = torch.compile(grayed, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(image), expected)


def test_fake_tensors_and_modes_see_the_operator(library: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode

    library.kg_square(torch.empty(4), torch.ones(4))  # so that the quick way would be there
    with FakeTensorMode():
        library.kg_square(torch.empty(4), torch.ones(4))
    seen = []

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watching():
        library.kg_square(torch.empty(4), torch.ones(4))
    assert any("kg_square" in name for name in seen)


def test_a_registered_kernel_computes_the_gradient(library: Any) -> None:
    library.kg_square.register_backward(library.kg_square_gradient)
    x = torch.randn(5, requires_grad=True)
    out = torch.empty(5)
    library.kg_square(out, x)
    (out * 3).sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach())


def test_writing_to_what_a_gradient_needs_is_noticed(library: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    held = torch.ones(4)
    product = x * held
    library.kg_square(torch.empty(4), torch.ones(4))
    library.kg_square(held, torch.full((4,), 2.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_an_unknown_name_says_what_there_is(library: Any) -> None:
    with pytest.raises(AttributeError, match="kg_square"):
        library.kg_sqare  # noqa: B018


@graph_op
def gated(x: Any, y: Any) -> Any:
    """What a gate does."""
    return ops.gelu(x) * y


def test_a_graph_is_an_operator() -> None:
    for shape in ((3, 4), (3, 4), (6, 4), (7, 4)):
        x, y = torch.randn(shape), torch.randn(shape)
        torch.testing.assert_close(gated(x, y), torch.nn.functional.gelu(x) * y)
    assert gated.__doc__ == "What a gate does."


def test_a_graph_operator_is_traced_whole() -> None:
    x = torch.randn(3, 4)
    traced = torch.compile(lambda x: gated(x, x) + 1, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(x), torch.nn.functional.gelu(x) * x + 1)


def test_a_graph_operator_may_have_several_results_and_gradients() -> None:
    @graph_op
    def both(x: Any, y: Any) -> Any:
        return x * y, x + y

    @both.backward
    def _(product: Any, total: Any, x: Any, y: Any) -> Any:
        return product * y + total, product * x + total

    x, y = (torch.randn(4, requires_grad=True) for _ in range(2))
    product, total = both(x, y)
    (product * 2 + total).sum().backward()
    torch.testing.assert_close(x.grad, 2 * y.detach() + 1)
    torch.testing.assert_close(y.grad, 2 * x.detach() + 1)
    traced = torch.compile(lambda x, y: both(x, y)[0], fullgraph=True, backend="aot_eager")
    (gradient,) = torch.autograd.grad(traced(x, y).sum(), x)
    torch.testing.assert_close(gradient, y.detach())


def test_what_is_no_graph_op_is_told_in_a_line() -> None:
    with pytest.raises(GraphError, match="by position"):
        graph_op(lambda *values: values[0])
    with pytest.raises(GraphError, match="returns a value"):
        graph_op(lambda x: 3)(torch.ones(2))


def test_sizes_that_differ_become_symbols_and_equal_ones_the_same() -> None:
    assert generalised([((3, 4), (3,))]) == ((3, 4), (3,))
    assert generalised([((3, 4), (3,)), ((5, 4), (5,))]) == (("S0", 4), ("S0",))
    assert generalised([((3, 3),), ((5, 6),)]) == (("S0", "S1"),)


def test_without_pytorch_the_missing_extra_is_named(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys; sys.modules['torch'] = None\nfrom compiler.torch import graph_op"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'kernelglass[torch]'" in found.stderr


LENT = """
import os, sys, torch
from compiler import ops
from compiler.backend.runtime import thread_pool
from compiler.torch import graph_op

torch.set_num_threads(2)

@graph_op
def several(x, w):
    return ops.softmax(ops.relu(x @ w), axis=0)

x, w = torch.randn(500, 400), torch.randn(400, 300)
expected = torch.softmax(torch.relu(x @ w), 0)
for _ in range(3):
    assert torch.allclose(several(x, w), expected, atol=1e-5)
print("ours", thread_pool().threads, flush=True)
child = os.fork()
if child == 0:
    alike = (several(x, w).numpy() == several(x, w).numpy()).all()  # PyTorch itself would wait for its threads
    os._exit(0 if alike else 1)
print("child", os.waitpid(child, 0)[1])
"""


def test_large_calls_run_on_the_threads_of_pytorch_and_in_a_forked_child_on_ours() -> None:
    """PyTorch's threads wait awake after each of its operations; ours beside them took several times as long."""
    done = subprocess.run([sys.executable, "-c", LENT], capture_output=True, text=True, timeout=100)
    assert done.stdout.split() == ["ours", "1", "child", "0"], done.stdout + done.stderr
