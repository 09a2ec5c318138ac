"""An X server of its own with a window manager, for as long as it is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

NEEDED = ("Xvfb", "openbox", "xdotool", "import")


def missing() -> list[str]:
    """The programs that are not here."""
    return [name for name in NEEDED if shutil.which(name) is None]


@contextmanager
def screen(width: int, height: int) -> Iterator[str]:
    """The display's name; both programs are ended afterwards."""
    told, writes = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writes), "-screen", "0", f"{width}x{height}x24", "-nolisten", "tcp"],
        pass_fds=[writes], stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(writes)
    manager = None
    try:
        with os.fdopen(told) as answer:
            display = f":{answer.readline().strip()}"
        manager = subprocess.Popen(
            ["openbox"], env={**os.environ, "DISPLAY": display}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(1.0)
        yield display
    finally:
        for process in (manager, server):
            if process is not None:
                process.terminate()
                process.wait(10)
