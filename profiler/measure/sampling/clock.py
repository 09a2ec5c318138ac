"""Instruction pointers of this process's threads, taken by Linux's software clock (`perf_event_open`).

Every thread has an event and a ring of its own: an event that threads inherit cannot be mapped. Nothing is taken while
the rings are emptied, so nothing here has to be ordered against a writer.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import sys
from collections.abc import Sequence

import numpy as np

from compiler.errors import UnavailableError
from profiler.measure.counters import DISABLE, ENABLE, open_event, reason

_SOFTWARE, _CPU_CLOCK = 1, 0
_SAMPLE_IP = 1
_HEAD, _TAIL = 1024, 1032
_LOST, _SAMPLE = 2, 9
_PAGES = (32, 8, 2)
"""Sizes of a ring that are tried in turn: the system allows so much for all of a user's rings together."""
PERIOD = 251_000
"""Nanoseconds of a thread's time between two samples: prime in microseconds, so that calls of a round length do not
come to be looked at in the same places only."""


class SamplingClock:
    """Rings of all threads that this process has now. Threads that start later are not seen."""

    def __init__(self, period: int = PERIOD) -> None:
        self._rings: list[_Ring] = []
        self.lost = 0
        try:
            for thread in _threads():
                self._rings.append(_Ring(thread, period))
        except OSError as error:
            self.close()
            raise UnavailableError(f"there are no samples: {reason(error)}") from None

    def start(self) -> None:
        """Take samples from now on."""
        for ring in self._rings:
            ring.control(ENABLE)

    def stop(self) -> np.ndarray:
        """Take no more; the addresses that were found since the last time."""
        for ring in self._rings:
            ring.control(DISABLE)
        found: list[int] = []
        for ring in self._rings:
            addresses, lost = ring.drain()
            found += addresses
            self.lost += lost
        return np.array(found, np.uint64)

    def close(self) -> None:
        """Give the rings back."""
        for ring in self._rings:
            ring.close()
        self._rings = []


class _Ring:
    def __init__(self, thread: int, period: int) -> None:
        self._file = open_event(_SOFTWARE, _CPU_CLOCK, period=period, sampled=_SAMPLE_IP, thread=thread)
        try:
            self._map = _mapped(self._file)
        except OSError:
            os.close(self._file)
            raise
        self._start, self._size = mmap.PAGESIZE, len(self._map) - mmap.PAGESIZE

    def control(self, request: int) -> None:
        import fcntl

        fcntl.ioctl(self._file, request, 0)

    def drain(self) -> tuple[list[int], int]:
        """What the ring holds: addresses, and how many samples found no room in it."""
        (head,) = struct.unpack_from("Q", self._map, _HEAD)
        (tail,) = struct.unpack_from("Q", self._map, _TAIL)
        data = self._bytes(tail, head)
        found: list[int] = []
        lost, at = 0, 0
        while at + 8 <= len(data):
            kind, _, size = struct.unpack_from("IHH", data, at)
            if size < 8:
                break
            if kind == _SAMPLE:
                found.append(struct.unpack_from("Q", data, at + 8)[0])
            elif kind == _LOST:
                lost += struct.unpack_from("Q", data, at + 16)[0]
            at += size
        struct.pack_into("Q", self._map, _TAIL, head)
        return found, lost

    def _bytes(self, tail: int, head: int) -> bytes:
        begin, end = tail % self._size, head % self._size
        if head - tail == 0:
            return b""
        if begin < end:
            return self._map[self._start + begin : self._start + end]
        return self._map[self._start + begin : self._start + self._size] + self._map[self._start : self._start + end]

    def close(self) -> None:
        self._map.close()
        os.close(self._file)


def _mapped(file: int) -> mmap.mmap:
    """A page that tells where the samples are, and as many pages for them as the system allows."""
    refused = OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    for pages in _PAGES:
        try:
            return mmap.mmap(file, (1 + pages) * mmap.PAGESIZE)
        except OSError as error:
            refused = error
            if error.errno not in (errno.EPERM, errno.ENOMEM):
                break
    raise refused


def _threads() -> Sequence[int]:
    if not sys.platform.startswith("linux"):
        raise OSError(errno.ENOSYS, "no perf_event here")
    return sorted(map(int, os.listdir("/proc/self/task")))
