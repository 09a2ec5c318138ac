"""The CUDA driver through cuda-python: devices and their contexts, streams and events, every call checked by name.

`open_device` is the way in; what is missing on this machine is an UnavailableError of one line. Memory is in
`cuda_memory`, code in `cuda_module`, running models in `cuda_model`, doing so in another process in `cuda_worker`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from compiler.errors import CompilerError, ExecutionError, UnavailableError
from compiler.targets import nvptx
from profiler.devices import CudaDevice, cuda_devices
from profiler.launch.cuda_memory import MemoryPool, MemoryReport, Transfers

# After one of these nothing works in this process's context any more.
_STICKY = frozenset(
    {
        "CUDA_ERROR_ILLEGAL_ADDRESS",
        "CUDA_ERROR_ILLEGAL_INSTRUCTION",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
        "CUDA_ERROR_INVALID_ADDRESS_SPACE",
        "CUDA_ERROR_INVALID_PC",
        "CUDA_ERROR_HARDWARE_STACK_ERROR",
        "CUDA_ERROR_LAUNCH_FAILED",
        "CUDA_ERROR_LAUNCH_TIMEOUT",
        "CUDA_ERROR_ASSERT",
        "CUDA_ERROR_ECC_UNCORRECTABLE",
        "CUDA_ERROR_CONTEXT_IS_DESTROYED",
    }
)


class CudaError(CompilerError):
    """A driver call that failed: `call` and the driver's own `name` for what happened."""

    def __init__(self, call: str, name: str, meaning: str = "") -> None:
        super().__init__(f"{call}: {name}{f' ({meaning})' if meaning else ''}")
        self.call = call
        self.name = name

    @property
    def sticky(self) -> bool:
        """Whether the process must end before the device can be used again."""
        return self.name in _STICKY


@cache
def driver() -> Any:
    """The driver's bindings, once `cuda_devices` has found them to work."""
    from cuda.bindings import driver as bindings

    return bindings


def call(function: Callable[..., tuple[Any, ...]], *arguments: Any) -> Any:
    """Call the driver; an error status is a CudaError, otherwise the value (or tuple of values) comes back."""
    status, *values = function(*arguments)
    if status.value:
        text = driver().cuGetErrorString(status)[1]
        raise CudaError(function.__name__, status.name, text.decode() if text else "")
    return values[0] if len(values) == 1 else tuple(values)


@dataclass(frozen=True)
class Launchable:
    """One launch with everything packed: the arguments of cuLaunchKernel."""

    kernel: str
    arguments: tuple[Any, ...]


class Device:
    """One CUDA device with its primary context, which this process shares with other users of CUDA in it."""

    def __init__(self, record: CudaDevice) -> None:
        api = driver()
        self.record = record
        self.index = record.index
        self.name = record.name
        self.capability = int(record.target.removeprefix("sm_"))
        self._handle = call(api.cuDeviceGet, record.index)
        self._context = call(api.cuDevicePrimaryCtxRetain, self._handle)
        self._thread = threading.local()
        self.activate()
        self.pool = MemoryPool(self._reserve, self._release)
        self.transfers = Transfers(self)

    def __repr__(self) -> str:
        return f"Device(cuda:{self.index}, {self.name!r}, {self.target})"

    @property
    def target(self) -> str:
        """The compile target that uses all of this chip, such as sm_90a."""
        return best_target(self.capability)

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
        call(driver().cuCtxSetCurrent, self._context)
        self._thread.ready = True

    def require(self, target: str) -> None:
        """Raise unless code for `target` runs on this chip."""
        if not runs_on(target, self.capability):
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


def milliseconds(start: Any, end: Any) -> float:
    """Time between two events that have happened."""
    return call(driver().cuEventElapsedTime, start, end)


def best_target(capability: int) -> str:
    """The target that unlocks all of a chip: with the `a` where there is one."""
    own = f"sm_{capability}a"
    if own in nvptx.NAMES:
        return own
    known = [name for name in nvptx.NAMES if not name.endswith("a") and nvptx.compute_capability(name) <= capability]
    if not known:
        raise UnavailableError(f"sm_{capability} is older than every chip this compiler knows")
    return max(known, key=nvptx.compute_capability)


def runs_on(target: str, capability: int) -> bool:
    """Whether PTX for `target` loads on a chip: `a` variants on their own chip alone, others on later ones too."""
    if not target.startswith("sm_"):
        return False
    wanted = nvptx.compute_capability(target)
    return capability == wanted if target.endswith("a") else capability >= wanted


@cache
def open_device(index: int = 0) -> Device:
    """The device `cuda:index`, opened once a process; UnavailableError says in one line what is missing."""
    devices = cuda_devices()
    if not devices:
        raise UnavailableError("the NVIDIA driver finds no device")
    if not 0 <= index < len(devices):
        raise UnavailableError(f"there is no device cuda:{index}; this machine has {len(devices)}")
    try:
        return Device(devices[index])
    except CudaError as error:
        raise UnavailableError(f"cuda:{index} does not open: {error}") from None
