"""What this machine can run kernels on: the CPU, and CUDA devices where a driver and its bindings are present."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.errors import UnavailableError


@dataclass(frozen=True)
class CpuDevice:
    """The host's processor as the compiler sees it."""

    name: str
    arch: str
    llvm_cpu: str
    physical_cores: int
    logical_cores: int
    usable_cores: int
    """Cores this process may run on; what `--threads` defaults to."""
    simd_bits: int
    features: tuple[str, ...]
    memory_bytes: int


@dataclass(frozen=True)
class CudaDevice:
    """One CUDA device; `target` is the compile target that fits it."""

    index: int
    name: str
    target: str
    multiprocessors: int
    memory_bytes: int
    driver: str
    l2_bytes: int = 0


def cpu_device() -> CpuDevice:
    """The processor this program runs on."""
    import psutil

    from compiler.backend.runtime import default_threads
    from compiler.targets import get_target

    target = get_target("cpu")
    logical = psutil.cpu_count() or 1
    return CpuDevice(
        name=_cpu_name() or target.cpu,
        arch=target.arch,
        llvm_cpu=target.cpu,
        physical_cores=psutil.cpu_count(logical=False) or logical,
        logical_cores=logical,
        usable_cores=default_threads(),
        simd_bits=target.simd_bytes * 8,
        features=tuple(sorted(target.feature_set)),
        memory_bytes=psutil.virtual_memory().total,
    )


def _cpu_name() -> str:
    """The name the operating system gives the processor; empty where it gives none (AArch64 Linux)."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name"))
    return next(names, "")


def cuda_devices() -> list[CudaDevice]:
    """Every CUDA device the driver offers; UnavailableError says what is missing when there is no way to ask."""
    try:
        from cuda.bindings import driver  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        raise UnavailableError("the CUDA bindings are not installed (pip install 'kernelglass[cuda]')") from None
    try:
        (status,) = driver.cuInit(0)
    except RuntimeError:
        raise UnavailableError("there is no NVIDIA driver on this machine") from None
    if status == driver.CUresult.CUDA_ERROR_NO_DEVICE:
        raise UnavailableError("the NVIDIA driver finds no device")
    if status != driver.CUresult.CUDA_SUCCESS:
        raise UnavailableError(f"the NVIDIA driver does not start: {status.name}")
    version = _value(driver.cuDriverGetVersion())
    return [_cuda_device(driver, index, version) for index in range(_value(driver.cuDeviceGetCount()))]


def cuda_device(name: str) -> CudaDevice:
    """The device called `cuda:N` (plain `cuda` is the first); UnavailableError where there is none."""
    index = int(name.partition(":")[2] or 0)
    found = cuda_devices()
    if not found:
        raise UnavailableError("the NVIDIA driver finds no device")
    if not 0 <= index < len(found):
        raise UnavailableError(f"there is no device cuda:{index}; this machine has {len(found)}")
    return found[index]


def _cuda_device(driver: Any, index: int, version: int) -> CudaDevice:
    device = _value(driver.cuDeviceGet(index))
    kinds = driver.CUdevice_attribute
    major, minor, multiprocessors, cache = (
        _value(driver.cuDeviceGetAttribute(kind, device))
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            kinds.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            kinds.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE,
        )
    )
    return CudaDevice(
        index=index,
        name=_value(driver.cuDeviceGetName(256, device)).split(b"\0")[0].decode(),
        target=f"sm_{major}{minor}",
        multiprocessors=multiprocessors,
        memory_bytes=_value(driver.cuDeviceTotalMem(device)),
        driver=f"{version // 1000}.{version % 1000 // 10}",
        l2_bytes=cache,
    )


def _value(answer: tuple[Any, Any]) -> Any:
    """The value of a (status, value) pair of the bindings."""
    status, value = answer
    if status.value != 0:
        raise UnavailableError(f"the NVIDIA driver does not answer: {status.name}")
    return value
