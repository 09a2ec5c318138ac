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
from ctypes import (
    Structure,
    addressof,
    c_char_p,
    c_int,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_void_p,
)
from typing import Any

from compiler.errors import UnavailableError
from profiler.counted import KINDS
from profiler.measure.cuda.cupti import ask, size_of

_WHAT = "counters"
_RANGES = 0
"""The kind of profiler that a schedule is for."""
_USER_RANGE, _USER_REPLAY = 2, 3
_MOST_PASSES = 16
_HEAD = [("size", c_size_t), ("private", c_void_p)]


class _Plain(Structure):
    _fields_ = _HEAD


class _Chip(Structure):
    _fields_ = [*_HEAD, ("device", c_size_t), ("name", c_char_p)]


class _Available(Structure):
    _fields_ = [*_HEAD, ("context", c_void_p), ("bytes", c_size_t), ("image", c_void_p)]


class _NewHost(Structure):
    _fields_ = [*_HEAD, ("kind", c_int), ("chip", c_char_p), ("available", c_void_p), ("host", c_void_p)]


class _Host(Structure):
    _fields_ = [*_HEAD, ("host", c_void_p)]


class _Properties(Structure):
    _fields_ = [
        *_HEAD, ("host", c_void_p), ("name", c_char_p), ("description", c_char_p), ("part", c_char_p),
        ("unit", c_char_p), ("kind", c_int),
    ]  # fmt: skip


class _Metrics(Structure):
    _fields_ = [*_HEAD, ("host", c_void_p), ("names", c_void_p), ("count", c_size_t)]


class _ImageSize(Structure):
    _fields_ = [*_HEAD, ("host", c_void_p), ("bytes", c_size_t)]


class _Image(Structure):
    _fields_ = [*_HEAD, ("host", c_void_p), ("bytes", c_size_t), ("image", c_void_p)]


class _Passes(Structure):
    _fields_ = [*_HEAD, ("bytes", c_size_t), ("image", c_void_p), ("count", c_size_t)]


class _Evaluate(Structure):
    _fields_ = [
        *_HEAD, ("host", c_void_p), ("data", c_void_p), ("bytes", c_size_t), ("range", c_size_t),
        ("names", c_void_p), ("count", c_size_t), ("values", c_void_p),
    ]  # fmt: skip


class _Enable(Structure):
    _fields_ = [*_HEAD, ("context", c_void_p), ("ranges", c_void_p)]


class _Ranges(Structure):
    _fields_ = [*_HEAD, ("ranges", c_void_p)]


class _Push(Structure):
    _fields_ = [*_HEAD, ("ranges", c_void_p), ("name", c_char_p)]


class _Stop(Structure):
    _fields_ = [
        *_HEAD, ("ranges", c_void_p), ("next", c_size_t), ("level", c_size_t), ("all", c_uint8),
    ]  # fmt: skip


class _Decode(Structure):
    _fields_ = [*_HEAD, ("ranges", c_void_p), ("dropped", c_size_t)]


class _DataSize(Structure):
    _fields_ = [
        *_HEAD, ("ranges", c_void_p), ("names", c_void_p), ("count", c_size_t), ("most", c_size_t),
        ("nodes", c_uint32), ("bytes", c_size_t),
    ]  # fmt: skip


class _Data(Structure):
    _fields_ = [*_HEAD, ("ranges", c_void_p), ("bytes", c_size_t), ("data", c_void_p)]


class _Configuration(Structure):
    _fields_ = [
        *_HEAD, ("ranges", c_void_p), ("config_bytes", c_size_t), ("config", c_void_p), ("data_bytes", c_size_t),
        ("data", c_void_p), ("range", c_int), ("replay", c_int), ("most", c_size_t), ("levels", c_uint16),
        ("least_level", c_uint16), ("pass", c_size_t), ("level", c_uint16),
    ]  # fmt: skip


class _Info(Structure):
    _fields_ = [*_HEAD, ("data", c_void_p), ("bytes", c_size_t), ("count", c_size_t)]


class _RangeInfo(Structure):
    _fields_ = [
        *_HEAD, ("data", c_void_p), ("bytes", c_size_t), ("range", c_size_t), ("between", c_char_p),
        ("name", c_char_p),
    ]  # fmt: skip


class Schedule:
    """Which metrics of a chip are counted in which pass. Counters that the chip does not have are left out."""

    def __init__(self, chip: str, available: bytes | None = None) -> None:
        self._available = ctypes.create_string_buffer(available, len(available)) if available else None
        made = _made(_NewHost, kind=_RANGES, chip=chip.encode(), available=_address(self._available))
        _call("cuptiProfilerHostInitialize", made)
        self._host = made.host
        try:
            self.metrics = self._known()
            self.names = (c_char_p * len(self.metrics))(*[name.encode() for name in self.metrics.values()])
            names = addressof(self.names)
            _call(
                "cuptiProfilerHostConfigAddMetrics",
                _made(_Metrics, host=self._host, names=names, count=len(self.metrics)),
            )
            size = _made(_ImageSize, host=self._host)
            _call("cuptiProfilerHostGetConfigImageSize", size)
            self.image = ctypes.create_string_buffer(size.bytes)
            image = _made(_Image, host=self._host, bytes=size.bytes, image=addressof(self.image))
            _call("cuptiProfilerHostGetConfigImage", image)
            passes = _made(_Passes, bytes=size.bytes, image=addressof(self.image))
            _call("cuptiProfilerHostGetNumOfPasses", passes)
            self.passes = int(passes.count)
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
            _call("cuptiProfilerHostGetMetricProperties", _made(_Properties, host=self._host, name=name.encode()))
        except UnavailableError:
            return False
        return True

    def values(self, data: ctypes.Array[ctypes.c_char], number: int) -> dict[str, float | None]:
        """The counters of a range, by field of a counted launch; what could not be counted is None."""
        values = (ctypes.c_double * len(self.metrics))()
        _call(
            "cuptiProfilerHostEvaluateToGpuValues",
            _made(
                _Evaluate, host=self._host, data=addressof(data), bytes=len(data), range=number,
                names=addressof(self.names), count=len(self.metrics), values=addressof(values),
            ),
        )  # fmt: skip
        return {
            field: None if not math.isfinite(value) else _share(value) if "pct" in name else value
            for (field, name), value in zip(self.metrics.items(), values, strict=True)
        }

    def close(self) -> None:
        """Let the library forget it."""
        if self._host:
            host, self._host = self._host, None
            _call("cuptiProfilerHostDeinitialize", _made(_Host, host=host))


class RangeCounters:
    """Counts over launches in one context; `close` gives the counters back to other users of them."""

    def __init__(self, context: int, device: int) -> None:
        self._ranges: int | None = None
        self._schedule: Schedule | None = None
        self._open = False
        _call("cuptiProfilerInitialize", _made(_Plain))
        self._open = True
        try:
            chip = _made(_Chip, device=device)
            _call("cuptiDeviceGetChipName", chip)
            self._schedule = Schedule(chip.name.decode(), _available(context))
            enabled = _made(_Enable, context=context)
            _call("cuptiRangeProfilerEnable", enabled)
            self._ranges = enabled.ranges
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
            _call("cuptiRangeProfilerStart", _made(_Ranges, ranges=self._ranges))
            for number, launch in enumerate(launches):
                _call("cuptiRangeProfilerPushRange", _made(_Push, ranges=self._ranges, name=str(number).encode()))
                launch()
                synchronize()
                _call("cuptiRangeProfilerPopRange", _made(_Ranges, ranges=self._ranges))
            stopped = _made(_Stop, ranges=self._ranges)
            _call("cuptiRangeProfilerStop", stopped)
            if stopped.all:
                break
        decoded = _made(_Decode, ranges=self._ranges)
        _call("cuptiRangeProfilerDecodeData", decoded)
        if decoded.dropped:
            raise UnavailableError(f"there are no counters: CUPTI dropped {decoded.dropped} launches")
        return self._read(schedule, data, len(launches))

    def _configured(self, schedule: Schedule, ranges: int) -> ctypes.Array[ctypes.c_char]:
        size = _made(
            _DataSize, ranges=self._ranges, names=addressof(schedule.names), count=len(schedule.metrics), most=ranges,
            nodes=ranges,
        )  # fmt: skip
        _call("cuptiRangeProfilerGetCounterDataSize", size)
        data = ctypes.create_string_buffer(size.bytes)
        _call(
            "cuptiRangeProfilerCounterDataImageInitialize",
            _made(_Data, ranges=self._ranges, bytes=size.bytes, data=addressof(data)),
        )
        _call(
            "cuptiRangeProfilerSetConfig",
            _made(
                _Configuration, ranges=self._ranges, config_bytes=len(schedule.image),
                config=addressof(schedule.image), data_bytes=size.bytes, data=addressof(data), range=_USER_RANGE,
                replay=_USER_REPLAY, most=ranges, levels=1, least_level=1, level=1,
            ),
        )  # fmt: skip
        return data

    def _read(
        self, schedule: Schedule, data: ctypes.Array[ctypes.c_char], launches: int
    ) -> list[dict[str, float | None]]:
        info = _made(_Info, data=addressof(data), bytes=len(data))
        _call("cuptiRangeProfilerGetCounterDataInfo", info)
        found: dict[int, dict[str, float | None]] = {}
        for number in range(info.count):
            named = _made(_RangeInfo, data=addressof(data), bytes=len(data), range=number, between=b"/")
            _call("cuptiRangeProfilerCounterDataGetRangeInfo", named)
            found[int(named.name)] = schedule.values(data, number)
        return [found.get(number, {}) for number in range(launches)]

    def close(self) -> None:
        """Give the counters back."""
        if self._ranges is not None:
            ranges, self._ranges = self._ranges, None
            _call("cuptiRangeProfilerDisable", _made(_Ranges, ranges=ranges))
        if self._schedule is not None:
            schedule, self._schedule = self._schedule, None
            schedule.close()
        if self._open:
            self._open = False
            _call("cuptiProfilerDeInitialize", _made(_Plain))


def _share(percent: float) -> float:
    """Between 0 and 1: what the parts of a ratio come to in two passes is not always the same."""
    return min(max(percent / 100, 0.0), 1.0)


def _available(context: int) -> bytes:
    """What counters the driver has to give in a context."""
    asked = _made(_Available, context=context)
    _call("cuptiProfilerGetCounterAvailability", asked)
    image = ctypes.create_string_buffer(asked.bytes)
    asked.image = addressof(image)
    _call("cuptiProfilerGetCounterAvailability", asked)
    return image.raw


def _address(buffer: ctypes.Array[ctypes.c_char] | None) -> int | None:
    return None if buffer is None else addressof(buffer)


def _made(structure: type[Structure], /, **fields: object) -> Any:
    made: Any = structure()
    made.size = size_of(structure)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def _call(name: str, argument: Structure) -> None:
    ask(name, argument, what=_WHAT)
