"""A GPU's hardware counters over single launches: CUPTI's range profiler, through its library.

What is counted at once has to be scheduled over passes, which needs no device but its chip's name (`Schedule`); then
each launch is a range of its own, and all of them are made again for each pass (`RangeCounters`). Launching again is
ours to do, so that nothing has to save and restore the card's memory, and a launch finds the caches as the one before
left them.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from ctypes import addressof, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_void_p
from typing import Any

from compiler.errors import UnavailableError
from profiler.counted import KINDS
from profiler.measure.cuda.cupti import ask, made, structure

_RANGES = 0
"""The kind of profiler that a schedule is for."""
_USER_RANGE, _USER_REPLAY = 2, 3
_MOST_PASSES = 16
_STRUCTURES = {
    "cuptiProfilerInitialize": structure(),
    "cuptiProfilerDeInitialize": structure(),
    "cuptiDeviceGetChipName": structure(device=c_size_t, name=c_char_p),
    "cuptiProfilerGetCounterAvailability": structure(context=c_void_p, bytes=c_size_t, image=c_void_p),
    "cuptiProfilerHostInitialize": structure(kind=c_int, chip=c_char_p, available=c_void_p, host=c_void_p),
    "cuptiProfilerHostDeinitialize": structure(host=c_void_p),
    "cuptiProfilerHostGetMetricProperties": structure(
        host=c_void_p, name=c_char_p, description=c_char_p, part=c_char_p, unit=c_char_p, kind=c_int
    ),
    "cuptiProfilerHostConfigAddMetrics": structure(host=c_void_p, names=c_void_p, count=c_size_t),
    "cuptiProfilerHostGetConfigImageSize": structure(host=c_void_p, bytes=c_size_t),
    "cuptiProfilerHostGetConfigImage": structure(host=c_void_p, bytes=c_size_t, image=c_void_p),
    "cuptiProfilerHostGetNumOfPasses": structure(bytes=c_size_t, image=c_void_p, count=c_size_t),
    "cuptiProfilerHostEvaluateToGpuValues": structure(
        host=c_void_p, data=c_void_p, bytes=c_size_t, range=c_size_t, names=c_void_p, count=c_size_t, values=c_void_p
    ),
    "cuptiRangeProfilerEnable": structure(context=c_void_p, ranges=c_void_p),
    "cuptiRangeProfilerDisable": structure(ranges=c_void_p),
    "cuptiRangeProfilerStart": structure(ranges=c_void_p),
    "cuptiRangeProfilerPushRange": structure(ranges=c_void_p, name=c_char_p),
    "cuptiRangeProfilerPopRange": structure(ranges=c_void_p),
    "cuptiRangeProfilerStop": structure(ranges=c_void_p, next=c_size_t, level=c_size_t, all=c_uint8),
    "cuptiRangeProfilerDecodeData": structure(ranges=c_void_p, dropped=c_size_t),
    "cuptiRangeProfilerGetCounterDataSize": structure(
        ranges=c_void_p, names=c_void_p, count=c_size_t, most=c_size_t, nodes=c_uint32, bytes=c_size_t
    ),
    "cuptiRangeProfilerCounterDataImageInitialize": structure(ranges=c_void_p, bytes=c_size_t, data=c_void_p),
    "cuptiRangeProfilerSetConfig": structure(
        ranges=c_void_p, config_bytes=c_size_t, config=c_void_p, data_bytes=c_size_t, data=c_void_p, range=c_int,
        replay=c_int, most=c_size_t, levels=c_uint16, least_level=c_uint16, number=c_size_t, level=c_uint16,
    ),
    "cuptiRangeProfilerGetCounterDataInfo": structure(data=c_void_p, bytes=c_size_t, count=c_size_t),
    "cuptiRangeProfilerCounterDataGetRangeInfo": structure(
        data=c_void_p, bytes=c_size_t, range=c_size_t, between=c_char_p, name=c_char_p
    ),
}  # fmt: skip
"""What each function of the library is called with."""


class Schedule:
    """Which metrics of a chip are counted in which pass. Counters that the chip does not have are left out."""

    def __init__(self, chip: str, available: bytes | None = None) -> None:
        self._available = ctypes.create_string_buffer(available, len(available)) if available else None
        available_at = None if self._available is None else addressof(self._available)
        begun = _call("cuptiProfilerHostInitialize", kind=_RANGES, chip=chip.encode(), available=available_at)
        self._host = begun.host
        try:
            self.metrics = self._known()
            self.names = (c_char_p * len(self.metrics))(*[name.encode() for name in self.metrics.values()])
            names = addressof(self.names)
            _call("cuptiProfilerHostConfigAddMetrics", host=self._host, names=names, count=len(self.metrics))
            size = _call("cuptiProfilerHostGetConfigImageSize", host=self._host).bytes
            self.image = ctypes.create_string_buffer(size)
            image = addressof(self.image)
            _call("cuptiProfilerHostGetConfigImage", host=self._host, bytes=size, image=image)
            self.passes = int(_call("cuptiProfilerHostGetNumOfPasses", bytes=size, image=image).count)
        except BaseException:
            self.close()
            raise

    def _known(self) -> dict[str, str]:
        """By field of a counted launch: the first of its metrics that this chip has."""
        found: dict[str, str] = {}
        for kind in KINDS:
            for name in kind.metrics:
                if self._has(name):
                    found[kind.field] = name
                    break
        if not found:
            raise UnavailableError("there are no counters: this libcupti knows none of this chip")
        return found

    def _has(self, name: str) -> bool:
        try:
            _call("cuptiProfilerHostGetMetricProperties", host=self._host, name=name.encode())
        except UnavailableError:
            return False
        return True

    def values(self, data: ctypes.Array[ctypes.c_char], number: int) -> dict[str, float | None]:
        """The counters of a range, by field of a counted launch; what could not be counted is None."""
        values = (ctypes.c_double * len(self.metrics))()
        _call(
            "cuptiProfilerHostEvaluateToGpuValues", host=self._host, data=addressof(data), bytes=len(data),
            range=number, names=addressof(self.names), count=len(self.metrics), values=addressof(values),
        )  # fmt: skip
        return {
            field: None if not math.isfinite(value) else _share(value) if "pct" in name else value
            for (field, name), value in zip(self.metrics.items(), values, strict=True)
        }

    def close(self) -> None:
        """Let the library forget it."""
        if self._host:
            host, self._host = self._host, None
            _call("cuptiProfilerHostDeinitialize", host=host)


class RangeCounters:
    """Counts over launches in one context; `close` gives the counters back to other users of them."""

    def __init__(self, context: int, device: int) -> None:
        self._ranges: int | None = None
        self._schedule: Schedule | None = None
        self._open = False
        _call("cuptiProfilerInitialize")
        self._open = True
        try:
            chip = _call("cuptiDeviceGetChipName", device=device)
            self._schedule = Schedule(chip.name.decode(), _available(context))
            self._ranges = _call("cuptiRangeProfilerEnable", context=context).ranges
        except BaseException:
            self.close()
            raise

    def count(
        self, launches: Sequence[Callable[[], None]], *, synchronize: Callable[[], None], before: Callable[[], None]
    ) -> list[dict[str, float | None]]:
        """Make the launches as often as there are passes, each after `before`; the counters of each, in order."""
        schedule = self._schedule
        assert schedule is not None
        data = self._configured(schedule, len(launches))
        for _ in range(_MOST_PASSES):
            before()
            _call("cuptiRangeProfilerStart", ranges=self._ranges)
            for number, launch in enumerate(launches):
                _call("cuptiRangeProfilerPushRange", ranges=self._ranges, name=str(number).encode())
                launch()
                synchronize()
                _call("cuptiRangeProfilerPopRange", ranges=self._ranges)
            if _call("cuptiRangeProfilerStop", ranges=self._ranges).all:
                break
        if dropped := _call("cuptiRangeProfilerDecodeData", ranges=self._ranges).dropped:
            raise UnavailableError(f"there are no counters: CUPTI dropped {dropped} launches")
        return self._read(schedule, data, len(launches))

    def _configured(self, schedule: Schedule, ranges: int) -> ctypes.Array[ctypes.c_char]:
        size = _call(
            "cuptiRangeProfilerGetCounterDataSize", ranges=self._ranges, names=addressof(schedule.names),
            count=len(schedule.metrics), most=ranges, nodes=ranges,
        ).bytes  # fmt: skip
        data = ctypes.create_string_buffer(size)
        image = addressof(data)
        _call("cuptiRangeProfilerCounterDataImageInitialize", ranges=self._ranges, bytes=size, data=image)
        _call(
            "cuptiRangeProfilerSetConfig", ranges=self._ranges, config_bytes=len(schedule.image),
            config=addressof(schedule.image), data_bytes=size, data=image, range=_USER_RANGE, replay=_USER_REPLAY,
            most=ranges, levels=1, least_level=1, level=1,
        )  # fmt: skip
        return data

    def _read(
        self, schedule: Schedule, data: ctypes.Array[ctypes.c_char], launches: int
    ) -> list[dict[str, float | None]]:
        image = {"data": addressof(data), "bytes": len(data)}
        found: dict[int, dict[str, float | None]] = {}
        for number in range(_call("cuptiRangeProfilerGetCounterDataInfo", **image).count):
            named = _call("cuptiRangeProfilerCounterDataGetRangeInfo", **image, range=number, between=b"/")
            found[int(named.name)] = schedule.values(data, number)
        return [found.get(number, {}) for number in range(launches)]

    def close(self) -> None:
        """Give the counters back."""
        if self._ranges is not None:
            ranges, self._ranges = self._ranges, None
            _call("cuptiRangeProfilerDisable", ranges=ranges)
        if self._schedule is not None:
            schedule, self._schedule = self._schedule, None
            schedule.close()
        if self._open:
            self._open = False
            _call("cuptiProfilerDeInitialize")


def _share(percent: float) -> float:
    """Between 0 and 1: what the parts of a ratio come to in two passes is not always the same."""
    return min(max(percent / 100, 0.0), 1.0)


def _available(context: int) -> bytes:
    """What counters the driver has to give in a context."""
    size = _call("cuptiProfilerGetCounterAvailability", context=context).bytes
    image = ctypes.create_string_buffer(size)
    _call("cuptiProfilerGetCounterAvailability", context=context, bytes=size, image=addressof(image))
    return image.raw


def _call(function: str, /, **fields: object) -> Any:
    """Call a function of the library; what it was called with, as it left that."""
    argument = made(_STRUCTURES[function], **fields)
    ask(function, argument, what="counters")
    return argument
