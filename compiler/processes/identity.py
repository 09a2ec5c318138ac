"""Which process something belongs to, in words that no other process of this or another boot shares."""

from __future__ import annotations

import json
import os
from functools import cache


def process_mark() -> str:
    """This process: its machine, its number, and when it began."""
    return _mark_of(os.getpid())


@cache
def _mark_of(pid: int) -> str:
    import platform

    import psutil

    own = psutil.Process(pid)
    return json.dumps([platform.node(), own.pid, round(own.create_time(), 2)])


def is_alive(mark: str) -> bool:
    """Whether the process behind a mark still runs; another machine's is not ours to judge, and counts as running."""
    import platform

    import psutil

    try:
        host, pid, created = json.loads(mark)
        if host != platform.node():
            return True
        return abs(psutil.Process(pid).create_time() - created) < 0.1
    except (psutil.Error, ValueError, TypeError, OverflowError):
        return False
