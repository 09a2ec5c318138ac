"""CudaModel in this process: sizes, memory, times, replay, transfers, arrays that stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import BufferType, Graph, TensorType, ops, reference
from compiler.errors import ExecutionError, UnavailableError
from compiler.options import CompileOptions
from compiler.pipeline import compile_graph

pytestmark = pytest.mark.gpu


def _compiled(graph: Graph, target: str) -> Any:
    return compile_graph(graph, CompileOptions(target=target, cache=False))


@pytest.fixture(scope="module")
def mlp(device: Any) -> Any:
    from profiler.measure.cuda.model import CudaModel

    types = [TensorType("f32", ("M", 64)), TensorType("f32", (64, 48)), TensorType("f32", (48,))]
    with Graph("mlp", inputs=types) as graph:
        x, w, b = graph.inputs
        graph.output(ops.softmax(ops.relu(x @ w + b), axis=-1))
    model = CudaModel(_compiled(graph, device.target), device)
    yield model
    model.close()


def _arrays(rows: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((rows, 64), (64, 48), (48,))]


def test_one_compiled_model_serves_every_size(mlp: Any) -> None:
    for rows in (1, 7, 128, 1000, 0, 7):
        arrays = _arrays(rows, rows)
        (result,) = mlp.execute(*arrays)
        (wanted,) = reference(mlp.model.graph, *arrays)
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-6)


def test_wrong_arguments_are_refused(mlp: Any) -> None:
    x, w, b = _arrays(4)
    with pytest.raises(ExecutionError, match="shape"):
        mlp.execute(x, w.T.copy(), b)
    with pytest.raises(ExecutionError, match="dtype"):
        mlp.execute(x.astype(np.float64), w, b)
    with pytest.raises(ExecutionError):
        mlp.execute([object()] * 4, w, b)


def test_lists_are_taken_as_arrays_are(mlp: Any) -> None:
    x, w, b = _arrays(4)
    (result,), (wanted,) = mlp.execute(x.tolist(), w, b), mlp.execute(x, w, b)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(wanted))


def test_replay_gives_what_launches_give(mlp: Any) -> None:
    with mlp.upload(_arrays(333)) as resident:
        resident.poison()
        resident.launch()
        (first,) = resident.download()
        resident.poison()
        resident.capture()
        resident.replay()
        (second,) = resident.download()
        np.testing.assert_array_equal(first, second)
        fresh = _arrays(333, seed=5)
        resident.upload(fresh)
        resident.replay()
        np.testing.assert_allclose(resident.download()[0], reference(mlp.model.graph, *fresh)[0], rtol=1e-4, atol=1e-6)


def test_a_trace_has_a_time_for_each_kernel(mlp: Any) -> None:
    with mlp.upload(_arrays(512)) as resident:
        times = resident.trace()
        assert [each.kernel for each in times] == [call.kernel.name for call in mlp.model.fusion.calls]
        assert all(0 < each.milliseconds < 100 for each in times)
        assert 0 < resident.time(5) < 100
        assert 0 < resident.time(5, replay=True) < 100


def test_memory_is_counted_and_given_back(mlp: Any, device: Any) -> None:
    mlp.execute(*_arrays(2))
    before = device.memory()
    resident = mlp.upload(_arrays(4096))
    during = device.memory()
    needed = 4 * (4096 * 64 + 64 * 48 + 48 + 4096 * 48)
    assert during.in_use - before.in_use >= needed
    assert during.peak >= during.in_use
    assert during.requested - before.requested >= needed
    assert 0 < during.free < during.total
    assert "x0" in dict(during.buffers)
    resident.close()
    after = device.memory()
    assert after.in_use == before.in_use
    assert after.events[-1].bytes < 0


def test_large_transfers_are_staged_and_their_bandwidth_is_kept(device: Any) -> None:
    from profiler.measure.cuda.model import CudaModel

    with Graph("copy", inputs=[TensorType("f32", ("M",))]) as graph:
        graph.output(graph.inputs[0] + 1)
    model = CudaModel(_compiled(graph, device.target), device)
    x = np.random.default_rng(0).random(30_000_001, dtype=np.float32)
    (result,) = model.execute(x)
    np.testing.assert_array_equal(result, x + 1)
    down, up = [t for t in reversed(device.transfers.done) if t.bytes == x.nbytes][:2]
    assert {down.direction, up.direction} == {"to device", "to host"}
    assert up.bandwidth > 1e8 and down.bandwidth > 1e8
    model.close()


def test_mutable_buffers_change_in_place(device: Any) -> None:
    from profiler.measure.cuda.model import CudaModel

    with Graph("count", inputs=[BufferType("f32", ("M",)), TensorType("f32", ("M",))]) as graph:
        total, x = graph.inputs
        ops.buffer_store(total, ops.buffer_load(total) + x)
        graph.output(ops.buffer_load(total) * 2)
    model = CudaModel(_compiled(graph, device.target), device)
    total, x = np.ones(100, np.float32), np.arange(100, dtype=np.float32)
    for step in (1, 2):
        (doubled,) = model.execute(total, x)
        np.testing.assert_array_equal(total, 1 + step * x)
        np.testing.assert_array_equal(doubled, 2 * total)
    model.close()


def test_arrays_on_the_device_are_used_in_place(mlp: Any) -> None:
    arrays = _arrays(64)
    with mlp.upload(arrays) as first:
        first.launch()
        first.synchronize()
        (made,) = first.outputs()
        held = [
            type(made)(first.pointers[number], array.shape, "f32")
            for number, array in zip(first.program.inputs, arrays)
        ]
        with mlp.upload(held) as second:
            assert [second.pointers[n] for n in second.program.inputs] == [d.pointer for d in held]
            second.poison()
            second.launch()
            np.testing.assert_array_equal(second.download()[0], first.download()[0])


def test_a_model_for_another_chip_is_refused(device: Any) -> None:
    from profiler.measure.cuda.model import CudaModel

    with Graph("g", inputs=[TensorType("f32", (4,))]) as graph:
        graph.output(graph.inputs[0] * 2)
    other = "sm_100a" if device.capability != 100 else "sm_90a"
    with pytest.raises(UnavailableError, match=f"compiled for {other}.*sm_{device.capability}"):
        CudaModel(_compiled(graph, other), device)
    with pytest.raises(UnavailableError, match="compiled for cpu"):
        CudaModel(compile_graph(graph, CompileOptions(cache=False)), device)


def test_a_device_that_is_not_there_is_named(device: Any) -> None:
    from profiler.measure.cuda.device import open_device

    with pytest.raises(UnavailableError, match="there is no device cuda:99"):
        open_device(99)


def test_the_command_line_runs_and_checks_on_the_device(device: Any, capsys: pytest.CaptureFixture[str]) -> None:
    from app.cli.main import main

    status = main(["run", "sample:mlp", "--device", "cuda:0", "--check", "--json"])
    assert status == 0, capsys.readouterr().err


def test_conditions_where_nvml_is_installed(device: Any) -> None:
    pytest.importorskip("pynvml")
    from profiler.measure.cuda.nvml import conditions

    try:
        reading = conditions(device.pci_bus_id)
    except UnavailableError as missing:
        pytest.skip(str(missing))
    assert device.name in reading.name or reading.name in device.name
    assert reading.sm_clock_mhz and reading.temperature_celsius


def test_a_product_whose_rows_begin_anywhere_sees_nothing_behind_a_row(device: Any) -> None:
    """The elements behind a row are the next one's: infinite ones there are none of its business."""
    from compiler.graph.dtypes import numpy_dtype
    from profiler.measure.cuda.model import CudaModel

    with Graph("ragged", inputs=[TensorType("bf16", (300, 515)), TensorType("bf16", (515, 333))]) as graph:
        x, w = graph.inputs
        graph.output(x @ w)
    rng = np.random.default_rng(3)
    left, right = (rng.standard_normal(shape).astype(numpy_dtype("bf16")) for shape in ((300, 515), (515, 333)))
    left[100] = np.inf
    model = CudaModel(_compiled(graph, device.target), device)
    (result,) = model.execute(left, right)
    model.close()
    others = [i for i in range(300) if i != 100]
    wanted = left.astype(np.float32) @ right.astype(np.float32)
    np.testing.assert_allclose(result[others].astype(np.float32), wanted[others], rtol=2e-2, atol=0.5)
