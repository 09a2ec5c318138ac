"""Which process something belongs to, in words that no other process of this or another boot shares."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_BEGAN = 19  # among the fields of /proc/PID/stat behind the name: ticks from the boot to the process's beginning


def process_mark() -> str:
    """This process: its machine, its number, and when it began."""
    return _mark_of(os.getpid())


@cache
def _mark_of(pid: int) -> str:
    import platform

    return json.dumps([platform.node(), pid, _beginning(pid)])


def is_alive(mark: str) -> bool:
    """Whether the process behind a mark still runs; another machine's is not ours to judge, and counts as running."""
    import platform

    import psutil

    try:
        host, pid, began = json.loads(mark)
        if host != platform.node():
            return True
        if isinstance(began, str):
            return _beginning(int(pid)) == began
        return abs(psutil.Process(pid).create_time() - began) < 0.1
    except (psutil.Error, ValueError, TypeError, OverflowError):
        return False


def _beginning(pid: int) -> str | float:
    """When a process began. On Linux as it is counted there, from the boot on: in seconds of the clock it would be
    another time whenever somebody sets the clock, and whoever runs would be taken for dead."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return f"{_BOOT.read_text().strip()} {fields[_BEGAN]}"
    except (OSError, IndexError):
        import psutil

        return round(psutil.Process(pid).create_time(), 2)
