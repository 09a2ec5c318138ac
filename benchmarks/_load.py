"""How busy other programs keep the machine, beside the benchmark's own processes."""

from __future__ import annotations

import time

import psutil


class Load:
    """How many cores other programs kept busy since this was made."""

    def __init__(self) -> None:
        self._begun, self._all, self._ours = time.perf_counter(), _busy_seconds(), _own_seconds()

    def others(self) -> float:
        """Cores, on average."""
        took = max(time.perf_counter() - self._begun, 1e-3)
        return max((_busy_seconds() - self._all) - (_own_seconds() - self._ours), 0.0) / took


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0)


def _own_seconds() -> float:
    """Of this process, of children that ended, and of those that live."""
    own = psutil.Process()
    total = sum(own.cpu_times()[:4])
    for child in own.children(recursive=True):
        try:
            total += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return total
