"""CUDA devices through cuda-python: contexts, streams, events, memory.

`open_device` is the way in; what is missing on this machine is an UnavailableError of one line. Driver calls are in
`driver`, memory in `memory`, code in `module`, running models in `model`, and doing that in another process in
`worker`.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from compiler.errors import ExecutionError, UnavailableError
from compiler.targets import nvptx
from profiler.measure.cuda.driver import CudaError, call, driver
from profiler.measure.cuda.memory import MemoryPool, MemoryReport, Transfers
from profiler.measure.devices import CudaDevice, cuda_device


class Device:
    """One CUDA device with its primary context, which this process shares with other users of CUDA in it."""

    def __init__(self, record: CudaDevice) -> None:
        api = driver()
        self.record = record
        self.index = record.index
        self.name = record.name
        self.capability = nvptx.compute_capability(record.target)
        self._handle = call(api.cuDeviceGet, record.index)
        self.context = call(api.cuDevicePrimaryCtxRetain, self._handle)
        """The primary context, which other users of CUDA in this process have too."""
        self._thread = threading.local()
        self.activate()
        self.pool = MemoryPool(self._reserve, self._release)
        self.transfers = Transfers(self.event)

    def __repr__(self) -> str:
        return f"Device(cuda:{self.index}, {self.name!r}, {self.target})"

    @property
    def target(self) -> str:
        """The compile target that uses all of this chip, such as sm_90a."""
        return nvptx.best_target(self.record.target)

    @property
    def pci_bus_id(self) -> str:
        """Its address on the bus, by which NVML knows it."""
        return call(driver().cuDeviceGetPCIBusId, 32, self._handle).split(b"\0")[0].decode()

    def attribute(self, name: str) -> int:
        """A device attribute by the driver's name without its prefix, such as L2_CACHE_SIZE."""
        kind = getattr(driver().CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return call(driver().cuDeviceGetAttribute, kind, self._handle)

    def activate(self) -> None:
        """Make this device's context the calling thread's."""
        if getattr(self._thread, "ready", False):
            return
        call(driver().cuCtxSetCurrent, self.context)
        self._thread.ready = True

    def require(self, target: str) -> None:
        """Raise unless code for `target` runs on this chip."""
        if not nvptx.runs_on(target, self.record.target):
            raise UnavailableError(
                f"the model is compiled for {target}, and cuda:{self.index} ({self.name}) is sm_{self.capability}"
            )

    def synchronize(self) -> None:
        """Wait for everything on the device."""
        call(driver().cuCtxSynchronize)

    def stream(self) -> Any:
        """A new stream that does not wait for the default one."""
        return call(driver().cuStreamCreate, driver().CUstream_flags.CU_STREAM_NON_BLOCKING.value)

    def event(self) -> Any:
        """A new event that keeps times."""
        return call(driver().cuEventCreate, driver().CUevent_flags.CU_EVENT_DEFAULT.value)

    def memory_info(self) -> tuple[int, int]:
        """Bytes free and in total, as the driver counts them."""
        return call(driver().cuMemGetInfo)

    def memory(self) -> MemoryReport:
        """The pool's counters with the driver's."""
        return self.pool.report(*self.memory_info())

    def _reserve(self, size: int) -> int:
        self.activate()
        try:
            return int(call(driver().cuMemAlloc, size))
        except CudaError as error:
            if error.name != "CUDA_ERROR_OUT_OF_MEMORY":
                raise
            free, total = self.memory_info()
            raise ExecutionError(
                f"cuda:{self.index} has no {size} bytes left: {free} of {total} bytes are free"
            ) from None

    def _release(self, pointer: int) -> None:
        self.activate()
        call(driver().cuMemFree, pointer)


@cache
def open_device(index: int = 0) -> Device:
    """The device `cuda:index`, opened once a process; UnavailableError says in one line what is missing."""
    record = cuda_device(f"cuda:{index}")
    try:
        return Device(record)
    except CudaError as error:
        raise UnavailableError(f"cuda:{index} does not open: {error}") from None
