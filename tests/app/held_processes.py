"""Processes of the window that are stopped, as Ctrl+Z would, for as long as a test looks at what waits for them."""

from __future__ import annotations

import os
import signal
import struct
from typing import Any

from compiler.processes.nursery import Born


def hold(qtbot: Any, worker: Any) -> int:
    """Stop the process of a worker of the window; the number of its group, to let it go on."""
    qtbot.waitUntil(lambda: worker._process is not None, timeout=10_000)
    process = worker._process
    if isinstance(process, Born):
        qtbot.waitUntil(lambda: process._hear(0.0) or bool(process._heard), timeout=60_000)  # its number comes first
        number = struct.unpack_from("<i", process._heard)[0]
    else:
        number = process.pid
    os.killpg(number, signal.SIGSTOP)
    return number


def let_go(number: int) -> None:
    """Have it go on."""
    os.killpg(number, signal.SIGCONT)
