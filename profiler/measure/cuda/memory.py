"""Device memory that is counted, and transfers through pinned memory whose bandwidth is kept.

The pool keeps what is given back for the next request of about that size, as asking the driver is slow and waits for
the device.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, perf_counter_ns
from typing import Any

import numpy as np

from compiler.errors import ExecutionError
from profiler.measure.cuda.driver import call, driver

UNIT = 512  # what the driver aligns to; a vector access never crosses a buffer's begin
_KEPT_EVENTS = 4096
_CHUNK = 32 << 20
_DIRECT = 256 << 10  # below this a plain copy is as fast as staging
TO_DEVICE, TO_HOST = "to device", "to host"


@dataclass(frozen=True)
class Allocation:
    """A buffer on the device; `reserved` is what it takes with rounding."""

    label: str
    pointer: int
    bytes: int
    reserved: int


@dataclass(frozen=True)
class MemoryEvent:
    """A buffer that was taken (bytes > 0) or given back (bytes < 0), and what was in use after that."""

    nanoseconds: int
    label: str
    bytes: int
    in_use: int


@dataclass(frozen=True)
class MemoryReport:
    """The counters: `requested` over all time, `in_use` and `peak` of live buffers, `held` from the driver."""

    requested: int
    in_use: int
    peak: int
    held: int
    allocations: int
    buffers: tuple[tuple[str, int], ...]
    events: tuple[MemoryEvent, ...]
    free: int
    total: int


class MemoryPool:
    """A counted pool over `reserve(bytes) -> address` and `release(address)`."""

    def __init__(self, reserve: Callable[[int], int], release: Callable[[int], None]) -> None:
        self._reserve = reserve
        self._release = release
        self._lock = threading.RLock()
        self._spare: dict[int, list[int]] = {}
        self._live: dict[int, Allocation] = {}
        self._events: deque[MemoryEvent] = deque(maxlen=_KEPT_EVENTS)
        self.requested = self.in_use = self.peak = self.held = self.count = 0

    def allocate(self, size: int, label: str) -> Allocation:
        """Memory for a buffer; never of no size at all, so that every buffer has an address of its own."""
        reserved = max(-(-size // UNIT), 1) * UNIT
        with self._lock:
            pointer, reserved = self._reuse(reserved) or (self._fresh(reserved), reserved)
            made = Allocation(label, pointer, size, reserved)
            self._live[pointer] = made
            self.requested += size
            self.count += 1
            self._count(label, size)
            return made

    def free(self, allocation: Allocation) -> None:
        """Give a buffer back to the pool."""
        with self._lock:
            if self._live.pop(allocation.pointer, None) is None:
                return
            self._spare.setdefault(allocation.reserved, []).append(allocation.pointer)
            self._count(allocation.label, -allocation.bytes)

    def trim(self) -> None:
        """Give everything that is not in use back to the driver."""
        with self._lock:
            for size, pointers in self._spare.items():
                for pointer in pointers:
                    self._release(pointer)
                    self.held -= size
            self._spare = {}

    def report(self, free: int = 0, total: int = 0) -> MemoryReport:
        """The counters as they stand."""
        with self._lock:
            buffers = tuple((live.label, live.bytes) for live in self._live.values())
            return MemoryReport(
                self.requested, self.in_use, self.peak, self.held, self.count, buffers, tuple(self._events), free, total
            )

    def _reuse(self, reserved: int) -> tuple[int, int] | None:
        fitting = [
            size for size, spare in self._spare.items() if spare and reserved <= size <= reserved + reserved // 4
        ]
        if not fitting:
            return None
        size = min(fitting)
        return self._spare[size].pop(), size

    def _fresh(self, reserved: int) -> int:
        try:
            pointer = self._reserve(reserved)
        except ExecutionError:
            self.trim()
            pointer = self._reserve(reserved)
        self.held += reserved
        return pointer

    def _count(self, label: str, change: int) -> None:
        self.in_use += change
        self.peak = max(self.peak, self.in_use)
        self._events.append(MemoryEvent(perf_counter_ns(), label, change, self.in_use))


@dataclass(frozen=True)
class Transfer:
    """One copy between host and device."""

    direction: str
    label: str
    bytes: int
    seconds: float

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds if self.seconds else 0.0


class Transfers:
    """Copies arrays through two pinned chunks, one being filled while the other travels; keeps a record of each.

    `event` makes an event of the device's.
    """

    def __init__(self, event: Callable[[], Any]) -> None:
        self._event = event
        self._lock = threading.Lock()
        self._chunks: list[np.ndarray] = []
        self._events: list[Any] = []
        self.done: deque[Transfer] = deque(maxlen=_KEPT_EVENTS)

    def to_device(self, pointer: int, array: np.ndarray, label: str, stream: Any) -> None:
        """Copy an array to the device and wait until it is there."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        with self._lock:
            start = perf_counter()
            self._to_device(pointer, data, stream)
            self.done.append(Transfer(TO_DEVICE, label, data.nbytes, perf_counter() - start))

    def to_host(self, array: np.ndarray, pointer: int, label: str, stream: Any) -> None:
        """Fill a contiguous array from the device."""
        data = array.reshape(-1).view(np.uint8)
        with self._lock:
            start = perf_counter()
            self._to_host(data, pointer, stream)
            self.done.append(Transfer(TO_HOST, label, data.nbytes, perf_counter() - start))

    def _to_device(self, pointer: int, data: np.ndarray, stream: Any) -> None:
        api = driver()
        if data.nbytes <= _DIRECT:
            if data.nbytes:
                call(api.cuMemcpyHtoDAsync, pointer, data.ctypes.data, data.nbytes, stream)
                call(api.cuStreamSynchronize, stream)
            return
        self._pin()
        for number, start in enumerate(range(0, data.nbytes, _CHUNK)):
            chunk, event = self._chunks[number % 2], self._events[number % 2]
            if number > 1:
                call(api.cuEventSynchronize, event)
            piece = data[start : start + _CHUNK]
            chunk[: piece.nbytes] = piece
            call(api.cuMemcpyHtoDAsync, pointer + start, chunk.ctypes.data, piece.nbytes, stream)
            call(api.cuEventRecord, event, stream)
        call(api.cuStreamSynchronize, stream)

    def _to_host(self, data: np.ndarray, pointer: int, stream: Any) -> None:
        api = driver()
        if data.nbytes <= _DIRECT:
            if data.nbytes:
                call(api.cuMemcpyDtoHAsync, data.ctypes.data, pointer, data.nbytes, stream)
            call(api.cuStreamSynchronize, stream)
            return
        self._pin()
        starts = range(0, data.nbytes, _CHUNK)
        for number, start in enumerate((*starts, None)):
            if start is not None:
                size = min(_CHUNK, data.nbytes - start)
                call(api.cuMemcpyDtoHAsync, self._chunks[number % 2].ctypes.data, pointer + start, size, stream)
                call(api.cuEventRecord, self._events[number % 2], stream)
            if number:
                before = starts[number - 1]
                call(api.cuEventSynchronize, self._events[(number - 1) % 2])
                piece = data[before : before + _CHUNK]
                piece[:] = self._chunks[(number - 1) % 2][: piece.nbytes]

    def _pin(self) -> None:
        """Take the two chunks on the first transfer that needs them."""
        while len(self._chunks) < 2:
            address = int(call(driver().cuMemHostAlloc, _CHUNK, 0))
            self._chunks.append(np.ctypeslib.as_array((ctypes.c_uint8 * _CHUNK).from_address(address)))
            self._events.append(self._event())
