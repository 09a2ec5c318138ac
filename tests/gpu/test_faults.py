"""Kernels that go wrong are reported, their process is ended, and the device works for the next one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.errors import CompilerError
from profiler.measure.cuda.messages import FAULT, FINISHED, REFUSED, TIMEOUT, CudaRequest
from profiler.measure.cuda.program import DeviceProgram, Slot, Step
from profiler.measure.cuda.worker import CudaWorker

pytestmark = pytest.mark.gpu
_HEAD = ".version 8.0\n.target {target}\n.address_size 64\n"
_BODIES = {
    "good": "ld.param.u64 %a, [o]; mov.u32 %r, 7; st.global.u32 [%a], %r; ret;",
    "fault": "mov.u64 %a, 16; mov.u32 %r, 7; st.global.u32 [%a], %r; ret;",
    "endless": "ld.param.u64 %a, [o];\nL: ld.volatile.global.u32 %r, [%a]; setp.ne.u32 %p, %r, 12345; @%p bra L; ret;",
    "wrong": "mov.u33 %a, 16; ret;",
}


def _request(device: Any, *names: str) -> CudaRequest:
    ptx = _HEAD.format(target=f"sm_{device.capability}") + "".join(
        f".visible .entry {name}(.param .u64 o)\n{{\n.reg .b64 %a; .reg .b32 %r; .reg .pred %p;\n{_BODIES[name]}\n}}\n"
        for name in dict.fromkeys(names)
    )
    steps = tuple(Step(name, (1, 1, 1), 1, (0,), ()) for name in names)
    program = DeviceProgram(
        "f", f"sm_{device.capability}", (Slot("o", "output", "i32", (1,)),), steps, (), (0,), 0, (ptx.encode(),), ()
    )
    return CudaRequest(program, (), poison=True)


def _works(worker: CudaWorker, device: Any) -> bool:
    response = worker.run(_request(device, "good"))
    return response.status == FINISHED and np.array_equal(response.outputs[0], [7])


def test_a_fault_names_its_kernel_and_the_next_launch_works(device: Any) -> None:
    with CudaWorker() as worker:
        assert _works(worker, device)
        first = worker.pid
        response = worker.run(_request(device, "good", "fault", "good"))
        assert (response.failure, response.kernel) == (FAULT, "fault")
        assert response.error_name == "CUDA_ERROR_ILLEGAL_ADDRESS"
        assert worker.pid is None
        assert _works(worker, device)
        assert worker.pid != first


def test_a_kernel_that_never_ends_is_stopped_and_the_next_launch_works(device: Any) -> None:
    with CudaWorker() as worker:
        assert _works(worker, device)
        response = worker.run(_request(device, "good", "endless"), time_limit=3.0)
        assert (response.failure, response.kernel) == (TIMEOUT, "endless")
        assert "3 s" in response.error
        assert _works(worker, device)


def test_ptx_the_driver_refuses_shows_the_drivers_own_log(device: Any) -> None:
    from profiler.measure.cuda.module import load

    with CudaWorker() as worker:
        response = worker.run(_request(device, "wrong"))
        assert response.failure == REFUSED
        assert "u33" in response.error and "u33" in response.log
        assert _works(worker, device)
    request = _request(device, "wrong")
    with pytest.raises(CompilerError, match="u33") as raised:
        load(device, request.program.ptx, ["wrong"])
    assert "\n" not in str(raised.value)
