"""What the terminal can do: whether there is one, its colours, its width."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Any

_COLOURS = {"bad": "31", "good": "32", "note": "33", "faint": "2"}


def is_terminal(stream: Any) -> bool:
    """Whether a person sees this stream as it is written; a dumb terminal cannot take a line back."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return False


def coloured(words: str, kind: str, stream: Any) -> str:
    """Words in one of our colours, where the stream is a terminal and NO_COLOR (no-color.org) is not set."""
    if os.environ.get("NO_COLOR") or not is_terminal(stream):
        return words
    return f"\x1b[{_COLOURS[kind]}m{words}\x1b[0m"


def columns() -> int:
    """How many letters a line has."""
    return shutil.get_terminal_size().columns


def leave_stdout() -> None:
    """The reader has left (`| head`): point stdout elsewhere, so that whatever is still to be done is done in quiet."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
