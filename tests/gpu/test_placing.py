"""`place`: arrays of any framework on a device, used where they lie, on the stream of whoever calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import BufferType, Graph, TensorType, compile, ops
from compiler.errors import ExecutionError
from profiler import place

pytestmark = pytest.mark.gpu


@pytest.fixture
def torch() -> Any:
    found = pytest.importorskip("torch")
    if not found.cuda.is_available():
        pytest.skip("PyTorch has no CUDA device")
    return found


def scaled(dtype: str = "f32") -> Graph:
    graph = Graph("scaled", [TensorType(dtype, ("M", 64)), TensorType(dtype, (64,))])
    with graph:
        x, w = graph.inputs
        graph.output(ops.softmax(x * w), x * w)
    return graph


def test_numpy_in_numpy_out() -> None:
    gpu = place(compile(scaled()), "cuda:0")
    x, w = np.ones((3, 64), np.float32), np.ones(64, np.float32)
    soft, product = gpu(x, w)
    assert type(soft) is np.ndarray
    np.testing.assert_allclose(soft, 1 / 64, rtol=1e-5)
    np.testing.assert_array_equal(product, x)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_tensors_on_the_device_stay_there(torch: Any, dtype: str) -> None:
    kind = getattr(torch, dtype)
    gpu = place(compile(scaled({"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[dtype])), "cuda:0")
    for rows in (3, 3, 3, 1000, 1000, 3):
        x = torch.randn(rows, 64, device="cuda", dtype=kind)
        w = torch.randn(64, device="cuda", dtype=kind)
        soft, product = gpu(x, w)
        assert product.is_cuda and product.dtype is kind
        assert torch.equal(product, x * w)
        torch.testing.assert_close(soft, torch.softmax((x * w).float(), -1).to(kind), rtol=2e-2, atol=1e-3)


def test_calls_run_on_the_current_stream(torch: Any) -> None:
    gpu = place(compile(scaled()), "cuda:0")
    x, w = torch.randn(4096, 64, device="cuda"), torch.ones(64, device="cuda")
    streams = [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    results = []
    for turn in range(30):
        with torch.cuda.stream(streams[turn % 3]):
            y = x + turn  # the call must wait for this, and what comes after for the call
            results.append((turn, gpu(y, w)[1] - turn))
    torch.cuda.synchronize()
    for _, found in results:
        torch.testing.assert_close(found, x, rtol=1e-4, atol=1e-4)


def test_a_call_can_be_captured(torch: Any) -> None:
    gpu = place(compile(scaled()), "cuda:0")
    x, w = torch.randn(64, 64, device="cuda"), torch.ones(64, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        gpu(x, w)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        product = gpu(x, w)[1]
    x.copy_(torch.randn(64, 64, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(product, x)


def test_a_product_with_tensor_maps_follows_its_operands(torch: Any) -> None:
    graph = Graph("product", [TensorType("bf16", (512, 512)), TensorType("bf16", (512, 512))])
    with graph:
        graph.output(graph.inputs[0] @ graph.inputs[1])
    gpu = place(compile(graph), "cuda:0")
    kept = []
    for _ in range(4):
        a, b = (torch.randn(512, 512, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        kept += [a, b]  # so that each has an address of its own
        torch.testing.assert_close(gpu(a, b)[0], a @ b, rtol=2e-2, atol=0.5)


def test_host_tensors_and_numbers_may_be_among_them(torch: Any) -> None:
    graph = Graph("mixed", [TensorType("f32", (8,)), TensorType("f32", (8,)), TensorType("f32", ())])
    with graph:
        x, y, z = graph.inputs
        graph.output(x + y * z)
    gpu = place(compile(graph), "cuda:0")
    for _ in range(3):
        (found,) = gpu(torch.ones(8, device="cuda"), torch.ones(8), 2.0)
        assert found.is_cuda and found.tolist() == [3.0] * 8
    (found,) = gpu(torch.ones(8), np.ones(8, np.float32), np.float32(2))
    assert not found.is_cuda and found.tolist() == [3.0] * 8


def test_a_buffer_changes_where_it_lies(torch: Any) -> None:
    graph = Graph("count", [BufferType("f32", (8,))])
    with graph:
        ops.buffer_store(graph.inputs[0], ops.buffer_load(graph.inputs[0]) + 1)
        graph.output(ops.buffer_load(graph.inputs[0]))
    gpu = place(compile(graph), "cuda:0")
    counter = torch.zeros(8, device="cuda")
    for _ in range(3):
        gpu(counter)
    assert counter.tolist() == [3.0] * 8
    with pytest.raises(ExecutionError, match="expected dtype f32"):
        gpu(torch.zeros(8, device="cuda", dtype=torch.float64))


def test_jax_arrays_on_the_device_stay_there() -> None:
    jax = pytest.importorskip("jax")
    if not any(device.platform == "gpu" for device in jax.devices()):
        pytest.skip("JAX has no CUDA device")
    gpu = place(compile(scaled("bf16")), "cuda:0")
    for rows in (3, 3, 100):
        x = jax.numpy.ones((rows, 64), jax.numpy.bfloat16) * 3
        w = jax.numpy.ones(64, jax.numpy.bfloat16)
        product = gpu(x, w)[1]
        assert isinstance(product, jax.Array) and product.dtype == jax.numpy.bfloat16
        assert (product == x).all()


@pytest.mark.parametrize("shift", [0, 1])
def test_results_over_inputs_are_as_if_they_were_not(torch: Any, shift: int) -> None:
    graph = Graph("shifted", [TensorType("f32", (1 << 20,))])
    with graph:
        (x,) = graph.inputs
        graph.output(ops.flip(x, 0) * 2)
    gpu = place(compile(graph), "cuda:0")
    buffer = torch.arange((1 << 20) + shift, dtype=torch.float32, device="cuda")
    inputs, result = buffer[: 1 << 20], buffer[shift:]
    (expected,) = gpu(inputs.clone())
    gpu.execute_into([result], [inputs])
    assert torch.equal(result, expected)


@pytest.mark.parametrize("shape", [(5, 3, 4), (1, 7, 1), (6,), (1,), (), (2, 1, 3)])
def test_results_lie_as_new_tensors_do(torch: Any, shape: tuple[int, ...]) -> None:
    with Graph("doubled", [TensorType("f32", shape)]) as graph:
        graph.output(graph.inputs[0] * 2)
    gpu = place(compile(graph), "cuda:0")
    x = torch.randn(shape, device="cuda")
    results = [gpu(x)[0] for _ in range(3)]
    for result in results:
        assert result.shape == x.shape and result.stride() == torch.empty(shape).stride()
        assert torch.equal(result, x * 2)
    assert len({result.data_ptr() for result in results}) == 3
