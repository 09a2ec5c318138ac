"""Where a GPU's warps are: CUPTI's samples of program counters with the reason each warp waited, through its library.

There is no other way to these samples than its structures (`profiler/measure/cuda/cupti.py`). Start and stop are given
by hand, and a buffer must be configured before anything is read.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from ctypes import POINTER, Structure, addressof, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

from profiler.measure.cuda.cupti import ask, made, structure

_PERIOD, _STALLS, _MODE, _CONTROL, _BUFFER = 1, 2, 5, 6, 8
"""Attributes of a configuration: the period, the reasons, how samples are collected, who starts, where they go."""
_CONTINUOUS, _BY_HAND = 1, 1
_PERIOD_LOG2 = 14
"""A sample of each multiprocessor every 2 to the power of so many of its cycles."""
_MOST = 20_000
_AGAIN = "_not_issued"
"""Samples of cycles without any instruction are counted a second time under a reason of this ending."""
_FULL = 8
"""The device's own buffer ran over before it was read: what came after is lost."""


class _Stall(Structure):
    _fields_ = [("reason", c_uint32), ("samples", c_uint32)]


class _Counter(Structure):
    _fields_ = [
        ("size", c_size_t), ("crc", c_uint64), ("offset", c_uint64), ("function", c_uint32), ("pad", c_uint32),
        ("name", c_char_p), ("count", c_size_t), ("stalls", POINTER(_Stall)), ("correlation", c_uint32),
    ]  # fmt: skip


class _Data(Structure):
    _fields_ = [
        ("size", c_size_t), ("most", c_size_t), ("samples", c_uint64), ("dropped", c_uint64), ("count", c_size_t),
        ("left", c_size_t), ("range", c_uint64), ("counters", POINTER(_Counter)), ("other", c_uint64),
        ("full", c_uint8),
    ]  # fmt: skip


class _Attribute(Structure):
    _fields_ = [("kind", c_int), ("status", c_int), ("value", c_uint64 * 3)]


_STRUCTURES = {
    "cuptiPCSamplingEnable": structure(context=c_void_p),
    "cuptiPCSamplingDisable": structure(context=c_void_p),
    "cuptiPCSamplingStart": structure(context=c_void_p),
    "cuptiPCSamplingStop": structure(context=c_void_p),
    "cuptiPCSamplingGetData": structure(context=c_void_p, data=c_void_p),
    "cuptiPCSamplingSetConfigurationAttribute": structure(context=c_void_p, count=c_size_t, attributes=c_void_p),
    "cuptiPCSamplingGetNumStallReasons": structure(context=c_void_p, number=c_void_p),
    "cuptiPCSamplingGetStallReasons": structure(context=c_void_p, count=c_size_t, indices=c_void_p, names=c_void_p),
}
"""What each function of the library is called with."""
Sampled = tuple[str, int, tuple[tuple[str, int], ...]]
"""A function, an offset in its machine code, and samples by what the warps waited for."""


class PcSampler:
    """Samples of one context, from `start` to `stop`, as often as one likes; short turns do not fill the device's
    own buffer."""

    def __init__(self, context: int) -> None:
        self._context = context
        self._enabled = False
        self._call("cuptiPCSamplingEnable")
        self._enabled = True
        try:
            self._reasons = self._stall_reasons()
            self._spare, self._kept = _buffer(len(self._reasons))
            self._own, self._kept_too = _buffer(len(self._reasons))
            self._configure()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Take samples from now on."""
        self._call("cuptiPCSamplingStart")

    def stop(self) -> tuple[list[Sampled], int]:
        """Take no more, when all work is done: what was found, and how many samples were dropped."""
        self._call("cuptiPCSamplingStop")
        own = self._own
        found: list[Sampled] = []
        dropped = 0
        while True:
            own.count = 0
            full = self._call("cuptiPCSamplingGetData", tolerated=_FULL, data=addressof(own))
            found += self._rows(own)
            dropped += int(own.dropped) + bool(full)
            if full or not own.left:
                break
        found += self._rows(self._spare)
        self._spare.count = 0
        return found, dropped

    def close(self) -> None:
        """Let the context go."""
        if self._enabled:
            self._enabled = False
            self._call("cuptiPCSamplingDisable")

    def _call(self, function: str, *, tolerated: int = 0, **fields: object) -> int:
        argument = made(_STRUCTURES[function], context=self._context, **fields)
        return ask(function, argument, what="samples", tolerated=tolerated)

    def _configure(self) -> None:
        indices = (c_uint32 * len(self._reasons))(*self._reasons)
        values = (
            (_PERIOD, [_PERIOD_LOG2]), (_STALLS, [len(self._reasons), addressof(indices)]), (_MODE, [_CONTINUOUS]),
            (_CONTROL, [_BY_HAND]), (_BUFFER, [addressof(self._spare)]),
        )  # fmt: skip
        attributes = (_Attribute * len(values))()
        for attribute, (kind, words) in zip(attributes, values, strict=True):
            attribute.kind = kind
            for at, word in enumerate(words):
                attribute.value[at] = word
        where = addressof(attributes)
        self._call("cuptiPCSamplingSetConfigurationAttribute", count=len(values), attributes=where)

    def _stall_reasons(self) -> dict[int, str]:
        number = c_size_t(0)
        self._call("cuptiPCSamplingGetNumStallReasons", number=addressof(number))
        count = number.value
        indices = (c_uint32 * count)()
        texts = [ctypes.create_string_buffer(128) for _ in range(count)]
        pointers = (c_void_p * count)(*[addressof(text) for text in texts])
        places = {"indices": addressof(indices), "names": addressof(pointers)}
        self._call("cuptiPCSamplingGetStallReasons", count=count, **places)
        return {int(indices[at]): _plain(texts[at].value.decode(errors="replace")) for at in range(count)}

    def _rows(self, data: Any) -> Iterator[Sampled]:
        for at in range(min(int(data.count), _MOST)):
            counter = data.counters[at]
            stalls: dict[str, int] = {}
            for k in range(int(counter.count)):
                stall = counter.stalls[k]
                name = self._reasons.get(int(stall.reason), "unknown")
                if stall.samples and not name.endswith(_AGAIN):
                    stalls[name] = stalls.get(name, 0) + int(stall.samples)
            if stalls:
                name = counter.name.decode(errors="replace") if counter.name else ""
                yield name, int(counter.offset), tuple(sorted(stalls.items(), key=lambda item: -item[1]))


def _buffer(reasons: int) -> tuple[Any, Any]:
    """A buffer for samples, and what has to live as long."""
    counters = (_Counter * _MOST)()
    stalls = (_Stall * (reasons * _MOST))()
    step = ctypes.sizeof(_Stall) * reasons
    for at in range(_MOST):
        counters[at].size = ctypes.sizeof(_Counter)
        counters[at].stalls = ctypes.cast(addressof(stalls) + at * step, POINTER(_Stall))
    data = _Data(ctypes.sizeof(_Data), _MOST, 0, 0, 0, 0, 0, ctypes.cast(counters, POINTER(_Counter)), 0, 0)
    return data, (counters, stalls)


def _plain(reason: str) -> str:
    """A reason without CUPTI's words around it: `long_scoreboard`."""
    return reason.removeprefix("smsp__pcsamp_warps_issue_stalled_")
