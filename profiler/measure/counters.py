"""What else happened meanwhile: page faults, context switches, memory, and hardware counters where allowed."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys
from time import perf_counter

from profiler.measure.tree_memory import highest_resident
from profiler.records import Counter

_SYSCALL = {"x86_64": 298, "aarch64": 241}
_HARDWARE = 0  # a kind of event; the numbers are PERF_COUNT_HW_*
EVENTS = {"cycles": 0, "instructions": 1, "cache references": 2, "cache misses": 3, "branch misses": 5}
_ATTR_SIZE = 112
_DISABLED, _INHERIT, _EXCLUDE_KERNEL, _EXCLUDE_HV = 1 << 0, 1 << 1, 1 << 5, 1 << 6
ENABLE, DISABLE = 0x2400, 0x2401
_TIMES = 1 | 2  # also read how long the event was enabled and running: counters may have to share the hardware


class HardwareCounters:
    """perf_event counters of this process and the threads it starts from now on; `missing` says why there are none."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self.missing: dict[str, str] = {}
        for name, config in EVENTS.items():
            try:
                self._files[name] = open_event(_HARDWARE, config, told=_TIMES, flags=_INHERIT)
            except OSError as error:
                self.missing[name] = reason(error)

    def start(self) -> None:
        """Count from now on."""
        import fcntl

        for file in self._files.values():
            fcntl.ioctl(file, ENABLE, 0)

    def stop(self) -> list[Counter]:
        """Stop counting; one counter an event, with a note in place of a value where there is none."""
        found = [Counter(name, None, "events", note) for name, note in self.missing.items()]
        if self._files:
            import fcntl

            for name, file in self._files.items():
                fcntl.ioctl(file, DISABLE, 0)
                value, enabled, running = struct.unpack("qqq", os.read(file, 24))
                note = "" if running == enabled else f"counted {running / max(enabled, 1):.0%} of the time, scaled up"
                scaled = value * enabled / running if running else 0.0
                found.append(Counter(name, scaled, "events", note if running else "never got a hardware counter"))
                os.close(file)
        self._files = {}
        return found


def open_event(
    kind: int, config: int, *, period: int = 0, sampled: int = 0, told: int = 0, flags: int = 0, thread: int = 0
) -> int:
    """A perf_event of a thread (0: this one), off, of what is not the system's own; OSError where there is none.

    `sampled` is what each sample says, `told` what reading it says beside the count.
    """
    number = _SYSCALL.get(platform.machine())
    if not sys.platform.startswith("linux") or number is None:
        raise OSError(errno.ENOSYS, "no perf_event here")
    attributes = bytearray(_ATTR_SIZE)
    struct.pack_into("IIQQQQ", attributes, 0, kind, _ATTR_SIZE, config, period, sampled, told)
    struct.pack_into("Q", attributes, 40, _DISABLED | _EXCLUDE_KERNEL | _EXCLUDE_HV | flags)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = (ctypes.c_char * _ATTR_SIZE).from_buffer(attributes)
    file = libc.syscall(number, buffer, thread, -1, -1, 0)
    if file < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return file


def reason(error: OSError) -> str:
    """Why the system gives no counter, in words."""
    if error.errno in (errno.EACCES, errno.EPERM):
        return "the system does not allow perf_event (see /proc/sys/kernel/perf_event_paranoid)"
    if error.errno in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this processor, or the virtual machine around it, does not offer this counter"
    if error.errno == errno.ENOSYS:
        return "this system has no perf_event"
    return f"perf_event: {error.strerror}"


class Usage:
    """The process's own account, from its making to `stop`; `share` is then the processors it had on average."""

    def __init__(self) -> None:
        self._before = _usage()
        self._begun = perf_counter()
        self.share = 1.0

    def stop(self) -> list[Counter]:
        """Differences since the start; the resident memory is the highest ever."""
        if not self._before:
            return [Counter("page faults", None, "faults", "this system keeps no account of them")]
        after = _usage()
        change = {name: after[name] - before for name, before in self._before.items()}
        self.share = (change["user"] + change["system"]) / max(perf_counter() - self._begun, 1e-9)
        return [
            Counter("minor page faults", change["minor"], "faults"),
            Counter("major page faults", change["major"], "faults"),
            Counter("voluntary context switches", change["voluntary"], "switches"),
            Counter("involuntary context switches", change["involuntary"], "switches"),
            Counter("user time", change["user"], "s"),
            Counter("system time", change["system"], "s"),
            Counter("resident memory, highest", after["resident"], "B"),
        ]


def _usage() -> dict[str, float]:
    try:
        import resource
    except ImportError:
        return {}
    found = resource.getrusage(resource.RUSAGE_SELF)
    scale = 1 if sys.platform == "darwin" else 1024
    return {
        "minor": found.ru_minflt, "major": found.ru_majflt, "voluntary": found.ru_nvcsw, "involuntary": found.ru_nivcsw,
        "user": found.ru_utime, "system": found.ru_stime, "resident": highest_resident() or found.ru_maxrss * scale,
    }  # fmt: skip


def waited_nanoseconds() -> int | None:
    """How long this process's threads have been kept waiting for a processor so far; None where nobody tells.

    That is time on the run queue, while another program ran, and what the host of a virtual machine took for others.
    """
    total = 0
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/schedstat", "rb") as file:
                total += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return total + _stolen_nanoseconds()


def _stolen_nanoseconds() -> int:
    """Time that the host gave to others, over all processors."""
    try:
        with open("/proc/stat", "rb") as file:
            stolen = int(file.readline().split()[8])
        return stolen * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError, ValueError):
        return 0
