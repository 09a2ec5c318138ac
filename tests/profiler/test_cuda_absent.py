"""The CUDA side on a machine without a GPU: plain words for what is missing, and everything that needs no driver."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from functools import cache

import numpy as np
import pytest

from compiler import Graph, TensorType, compile, ops
from compiler.errors import ExecutionError, UnavailableError
from compiler.graph.dims import symbol
from compiler.graph.dtypes import numpy_dtype
from compiler.language.kernel import Launch
from compiler.processes.frames import Channel, named
from compiler.targets.nvptx import best_target, runs_on
from profiler.measure.cuda import messages
from profiler.measure.cuda.device import open_device
from profiler.measure.cuda.memory import MemoryPool
from profiler.measure.cuda.program import DEFAULT_LAUNCH, DeviceProgram, Packed, Slot, Step, _grid, program_of
from profiler.measure.cuda.worker import CudaWorker


def _missing() -> str:
    try:
        open_device(0)
    except UnavailableError as error:
        return str(error)
    pytest.skip("this machine has a CUDA device")


@cache
def _model():
    with Graph("g", inputs=[TensorType("f32", ("M", 64)), TensorType("f32", (64, 32))]) as graph:
        x, w = graph.inputs
        graph.output(ops.softmax(x @ w, axis=-1), ops.sum(x * np.arange(64, dtype=np.float32), axis=0))
    return compile(graph, target="sm_90a", cache=False)


def test_opening_a_device_says_in_one_line_what_is_missing() -> None:
    words = _missing()
    assert "\n" not in words
    assert any(part in words for part in ("driver", "device", "bindings"))


def test_a_cuda_model_without_a_device_is_unavailable() -> None:
    from profiler.measure.cuda.model import CudaModel

    _missing()
    with pytest.raises(UnavailableError):
        CudaModel(_model())


def test_the_command_line_exits_with_4(capsys: pytest.CaptureFixture[str]) -> None:
    from app.cli.main import main

    words = _missing()
    assert main(["run", "sample:mlp", "--device", "cuda:0"]) == 4
    assert capsys.readouterr().err.strip() == f"kernelglass: {words}"


@pytest.mark.parametrize(
    ("target", "capability", "runs"),
    [("sm_90a", 90, True), ("sm_90a", 100, False), ("sm_80", 90, True), ("sm_90", 80, False), ("gfx942", 90, False)],
)
def test_which_code_runs_where(target: str, capability: int, runs: bool) -> None:
    assert runs_on(target, f"sm_{capability}") is runs


def test_the_best_target_of_a_chip() -> None:
    assert best_target("sm_90") == "sm_90a"
    assert best_target("sm_80") == "sm_80"
    assert best_target("sm_88") == "sm_87"
    with pytest.raises(UnavailableError, match="older"):
        best_target("sm_50")


def test_a_program_binds_sizes_grids_and_memory() -> None:
    model = _model()
    program = program_of(model, {"M": 100})
    assert program.target == "sm_90a"
    assert [program.slots[k].shape for k in program.outputs] == [(100, 32), (64,)]
    assert [program.slots[k].shape for k in program.inputs] == [(100, 64), (64, 32)]
    assert program.arena >= max(
        (slot.offset + slot.bytes for slot in program.slots if slot.kind == "temporary"), default=0
    )
    assert len(program.ptx) == len(program.kernels)
    for step in program.steps:
        record = model.record(step.kernel)
        assert len(step.slots) == len(record.arguments) + len(record.workspaces)
        assert len(step.dims) == len(record.symbols)
    other = program_of(model, {"M": 7}, program.ptx)
    assert [slot.name for slot in other.slots] == [slot.name for slot in program.slots]


def test_constants_travel_with_the_program() -> None:
    table = np.random.default_rng(0).standard_normal((5, 300)).astype(np.float32)
    with Graph("c", inputs=[TensorType("i64", ("N",))]) as graph:
        graph.output(ops.gather(ops.constant(table), graph.inputs[0], axis=0))
    program = program_of(compile(graph, target="sm_90a", cache=False), {"N": 3})
    assert [data.tobytes() for _, data in program.constants] == [table.tobytes()]


def test_sizes_the_graph_cannot_take_are_refused() -> None:
    with Graph("m", inputs=[TensorType("f32", ("M",))]) as graph:
        graph.output(ops.max(graph.inputs[0]))
    with pytest.raises(ExecutionError, match="M = 0"):
        program_of(compile(graph, target="sm_90a", cache=False), {"M": 0})


def test_grids_follow_the_stated_launch_or_the_default() -> None:
    assert _grid(None, {}, "k") == ((DEFAULT_LAUNCH[0], 1, 1), DEFAULT_LAUNCH[1])
    assert _grid(Launch((symbol("M"), 2), 64), {"M": 12}, "k") == ((12, 2, 1), 64)
    with pytest.raises(ExecutionError, match="70000"):
        _grid(Launch((1, 70000), 64), {}, "k")
    with pytest.raises(ExecutionError, match="2048 threads"):
        _grid(Launch((1,), 2048), {}, "k")


def test_packed_parameters_are_what_the_driver_reads() -> None:
    packed = Packed([0x7F0000000000, 512], [100, -1])
    addresses = (ctypes.c_void_p * 4).from_address(packed.address)
    read = [ctypes.c_int64.from_address(address).value for address in addresses]
    assert read == [0x7F0000000000, 512, 100, -1]


def test_the_pool_counts_what_is_asked_in_use_and_at_its_peak() -> None:
    released: list[int] = []
    addresses = iter(range(1 << 20, 1 << 30, 1 << 20))
    pool = MemoryPool(lambda size: next(addresses), released.append)
    first, second = pool.allocate(1000, "x"), pool.allocate(3000, "y")
    pool.free(first)
    again = pool.allocate(900, "z")
    assert again.pointer == first.pointer
    empty = pool.allocate(0, "none")
    assert empty.pointer not in (again.pointer, second.pointer)
    report = pool.report(5, 10)
    assert (report.requested, report.in_use, report.peak, report.allocations) == (4900, 3900, 4000, 4)
    assert dict(report.buffers) == {"y": 3000, "z": 900, "none": 0}
    assert [(event.label, event.bytes, event.in_use) for event in report.events] == [
        ("x", 1000, 1000), ("y", 3000, 4000), ("x", -1000, 3000), ("z", 900, 3900), ("none", 0, 3900),
    ]  # fmt: skip
    assert (report.free, report.total) == (5, 10)
    pool.free(second)
    pool.free(second)
    pool.trim()
    assert released == [second.pointer]
    assert pool.report().held == 1024 + 512


def test_a_full_device_is_asked_again_after_giving_back_what_is_spare() -> None:
    room = [2048]

    def reserve(size: int) -> int:
        if size > room[0]:
            raise ExecutionError("full")
        room[0] -= size
        return 1 << 20 | room[0]

    def release(_: int) -> None:
        room[0] += 1024

    pool = MemoryPool(reserve, release)
    pool.free(pool.allocate(1024, "x"))
    assert pool.allocate(2048, "y").reserved == 2048
    with pytest.raises(ExecutionError, match="full"):
        pool.allocate(512, "z")


def _request() -> messages.CudaRequest:
    program = program_of(_model(), {"M": 3})
    rng = np.random.default_rng(1)
    arrays = tuple(
        rng.standard_normal(program.slots[k].shape).astype(np.float32) for k in program.inputs if k is not None
    )
    return messages.CudaRequest(
        program, arrays, repeats=2, replays=3, poison=True, budget=0.5, width=0.25, rotate=True, careful=4
    )


def test_requests_and_answers_survive_the_wire() -> None:
    request = _request()
    half = np.array([[1.5, -0.0]], numpy_dtype("bf16"))
    response = messages.CudaResponse(
        messages.FINISHED,
        (half, np.zeros((0, 3), np.int64)),
        {4: np.array(2.5, np.float32)},
        ((0.5, 0.25),),
        0.125,
        True,
        blocks=(3, 4),
        reached=False,
        sets=5,
        calls=6,
    )
    known = named(messages.CudaRequest, messages.CudaResponse)
    here, there = (Channel(end, known) for end in socket.socketpair())
    here.send(request)
    here.send(response)
    here.close()
    back, answer = there.receive().value, there.receive().value
    for name in ("name", "target", "slots", "steps", "inputs", "outputs", "arena", "ptx"):
        assert getattr(back.program, name) == getattr(request.program, name), name
    held = [[(number, array.tobytes()) for number, array in p.constants] for p in (back.program, request.program)]
    assert held[0] == held[1]
    for mine, theirs in zip(back.arrays, request.arrays, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (back.repeats, back.replays, back.poison) == (2, 3, True)
    assert (back.budget, back.width, back.rotate, back.careful) == (0.5, 0.25, True, 4)
    assert answer.outputs[0].tobytes() == half.tobytes() and answer.outputs[0].dtype == half.dtype
    assert answer.outputs[1].shape == (0, 3)
    assert answer.mutable[4].shape == ()
    assert (answer.traces, answer.replay_ms, answer.replay_equal) == (((0.5, 0.25),), 0.125, True)
    assert (answer.blocks, answer.reached, answer.sets, answer.calls) == ((3, 4), False, 5, 6)
    with pytest.raises(EOFError):
        there.receive()
    there.close()


def test_the_worker_reports_what_is_missing() -> None:
    words = _missing()
    with CudaWorker() as worker:
        response = worker.run(_request())
    assert (response.status, response.failure) == (messages.FAILED, messages.UNAVAILABLE)
    assert response.error == words


def test_the_folder_one_works_in_does_not_hide_the_worker(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = _missing()
    (tmp_path / "profiler").mkdir()
    (tmp_path / "profiler" / "__init__.py").write_text("raise SystemExit('not mine')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    with CudaWorker() as worker:
        assert worker.run(_request()).error == words


def test_a_worker_that_does_not_answer_is_ended_and_the_next_request_works() -> None:
    _missing()
    with CudaWorker() as worker:
        worker.run(_request())
        first = worker.pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        response = worker.run(_request(), time_limit=0.5)
        assert response.failure == messages.TIMEOUT
        assert "0.5 s" in response.error
        assert worker.run(_request()).failure == messages.UNAVAILABLE
        assert worker.pid != first


def test_a_worker_that_dies_is_reported_with_its_signal() -> None:
    _missing()
    empty = DeviceProgram(
        "g", "sm_90a", (Slot("x", "input", "f32", (1,)),), (Step("k", (1, 1, 1), 1, (0,), ()),), (0,), (), 0, (), ()
    )
    with CudaWorker() as worker:
        worker.run(_request())
        assert worker.pid is not None
        child = worker._child
        assert child is not None
        os.kill(worker.pid, signal.SIGSTOP)
        os.kill(worker.pid, signal.SIGKILL)
        child.process.poll = lambda: None  # as if it died a moment after the request was sent
        response = worker.run(messages.CudaRequest(empty, (np.zeros(1, np.float32),)))
        assert response.failure == messages.DIED
        assert response.error_name == "SIGKILL"


def test_nvml_without_a_driver_is_unavailable() -> None:
    from profiler.measure.cuda.nvml import conditions

    _missing()
    with pytest.raises(UnavailableError, match="NVML"):
        conditions("")
