"""Clocks, power and temperature of an NVIDIA device, through NVML (nvidia-ml-py) where that is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from compiler.errors import UnavailableError


@dataclass(frozen=True)
class Conditions:
    """A reading; None where the device does not tell."""

    name: str
    sm_clock_mhz: int | None
    max_sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    power_watts: float | None
    power_limit_watts: float | None
    temperature_celsius: int | None
    utilisation_percent: int | None
    throttle_reasons: int | None


def conditions(bus: str) -> Conditions:
    """How the device at an address on the PCI bus is doing now. UnavailableError says what is missing."""
    try:
        import pynvml as nvml
    except ImportError:
        raise UnavailableError("NVML needs nvidia-ml-py (pip install nvidia-ml-py)") from None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise UnavailableError(f"NVML does not start: {error}") from None
    try:
        return _read(nvml, nvml.nvmlDeviceGetHandleByPciBusId(bus.encode()))
    except nvml.NVMLError as error:
        raise UnavailableError(f"NVML does not know device {bus}: {error}") from None
    finally:
        nvml.nvmlShutdown()


def _read(nvml: Any, handle: Any) -> Conditions:
    def ask(function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(handle, *arguments)
        except nvml.NVMLError:  # a counter this device or this user does not have
            return None

    name = ask(nvml.nvmlDeviceGetName)
    power, limit = ask(nvml.nvmlDeviceGetPowerUsage), ask(nvml.nvmlDeviceGetEnforcedPowerLimit)
    rates = ask(nvml.nvmlDeviceGetUtilizationRates)
    return Conditions(
        name=name.decode() if isinstance(name, bytes) else name or "",
        sm_clock_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
        max_sm_clock_mhz=ask(nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_SM),
        memory_clock_mhz=ask(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
        power_watts=None if power is None else power / 1000,
        power_limit_watts=None if limit is None else limit / 1000,
        temperature_celsius=ask(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
        utilisation_percent=None if rates is None else rates.gpu,
        throttle_reasons=ask(nvml.nvmlDeviceGetCurrentClocksThrottleReasons),
    )
