"""The memory of a process and all that it started, counted from zero: pages that processes share are shared out.

That is what the system would get back if the tree ended now, as far as nobody else uses it (the proportional set size).
The system's own high-water marks do not say it: that of a new process begins with what its parent held when it was
started, and each tells of one process only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_EVERY_SECONDS = 0.004


def process_bytes(pid: int) -> int:
    """What a process holds now, shared pages by their share; where the system does not tell, all of them in full."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/smaps_rollup").exists():
            return 0  # it has ended
    except (OSError, ValueError):
        return 0
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).memory_info().rss
    return 0


def tree_of(pid: int) -> list[int]:
    """A process and what it started, and what those did."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        with suppress(OSError, ValueError):
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, task.joinpath("children").read_text().split())
    return found


def tree_bytes(pid: int) -> int:
    """What a process and all that it started hold now."""
    return sum(map(process_bytes, tree_of(pid)))


def highest_resident() -> int | None:
    """The most this process itself ever had in memory, counted from its beginning; None where nobody tells."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None


@dataclass
class Peak:
    """The most a tree of processes held while it was watched."""

    bytes: int = 0


@contextmanager
def watched(pid: int) -> Iterator[Peak]:
    """Look at a tree of processes again and again, from a thread, until what is done inside is over."""
    peak, over = Peak(), threading.Event()

    def look() -> None:
        while not over.wait(_EVERY_SECONDS):
            peak.bytes = max(peak.bytes, tree_bytes(pid))

    thread = threading.Thread(target=look, name="kernelglass-memory", daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
