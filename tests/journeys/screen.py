"""An X server of its own with a window manager, for as long as it is needed, and pictures of what was on it."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NEEDED = ("Xvfb", "openbox", "xdotool")
RAW = ".xwd"  # what the server keeps, until it is developed


def missing() -> list[str]:
    """The programs that are not here."""
    return [name for name in NEEDED if shutil.which(name) is None]


@contextmanager
def screen(width: int, height: int) -> Iterator[tuple[str, Path]]:
    """The display's name, and the file that holds what is on it at any time; both programs are ended afterwards."""
    told, writes = os.pipe()
    kept = tempfile.TemporaryDirectory(prefix="kernelglass-screen-")
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writes), "-screen", "0", f"{width}x{height}x24", "-fbdir", kept.name,
         "-nolisten", "tcp"], pass_fds=[writes], stderr=subprocess.DEVNULL,
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
        yield display, Path(kept.name, "Xvfb_screen0")
    finally:
        for process in (manager, server):
            if process is not None:
                process.terminate()
                process.wait(10)
        kept.cleanup()


def develop(folder: Path) -> None:
    """Make pictures of the copies of a screen that are in a folder."""
    from PySide6.QtGui import QImage

    for path in folder.glob(f"*{RAW}"):
        held = path.read_bytes()
        head = struct.unpack(">25I", held[:100])  # as X11/XWDFile.h has it
        begin, width, height, line, colours = head[0] + 12 * head[19], head[4], head[5], head[12], head[19]
        assert (head[1], head[3], head[7], head[11], colours) == (7, 24, 0, 32, 256), f"another format: {head}"
        QImage(held[begin:], width, height, line, QImage.Format.Format_RGB32).save(str(path.with_suffix(".png")))
        path.unlink()
