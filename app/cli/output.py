"""What commands print: words for a person, one JSON document, or text or bytes to stdout or a file.

Everything printed for a person goes through `say` and `complain`: names come from files, graphs and databases, and what
would be an order to the terminal is shown as an escape.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from app.cli.terminal import coloured, leave_stdout
from app.files import write_whole
from compiler.errors import CompilerError
from compiler.printable import printable, printable_lines


def say(words: str, err: bool = False) -> None:
    """Print lines for a person, on stderr where stdout is for results."""
    _echo(printable_lines(words), err)


def complain(words: object, kind: str = "") -> None:
    """One line on stderr that begins with the program's name: an error, or a `note`, which is no failure."""
    head = coloured("kernelglass:", "bad" if not kind else "note", sys.stderr)
    line = printable(" ".join(str(words).split()))
    print(f"{head} {kind + ': ' if kind else ''}{line}", file=sys.stderr)


def note_refused_cache() -> None:
    """Say why nothing is cached, where the cache's folder is one that is not used."""
    from compiler.cache import default_cache

    if words := default_cache().refusal:
        complain(f"nothing is cached: {words}", "note")


def print_json(document: Any) -> None:
    """Print one JSON document on stdout; NaN and infinities become null, which every reader takes."""
    _echo(json.dumps(_plain(document), indent=2, allow_nan=False).replace("\x7f", "\\u007f"))


def _echo(text: str, err: bool = False) -> None:
    try:
        click.echo(text, err=err)
    except BrokenPipeError:
        if not err:
            leave_stdout()


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    item = getattr(value, "item", None)
    if callable(item):  # a NumPy scalar, told without importing NumPy
        value = item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def write_out(content: str | bytes, path: Path | None) -> None:
    """Write to `path`, or to stdout where there is none; bytes never go to a terminal."""
    data = content if isinstance(content, bytes) else content.encode() + (b"" if content.endswith("\n") else b"\n")
    if path is None:
        if isinstance(content, bytes) and sys.stdout.isatty():
            raise CompilerError("this output is binary: give -o FILE, or pipe it somewhere")
        if sys.stdout is None:  # it was closed: nobody wants it
            return
        sys.stdout.flush()
        if isinstance(content, str) and sys.stdout.isatty():  # a pipe and a file get the text as it is
            data = printable_lines(data.decode()).encode()
        sys.stdout.buffer.write(data)
        return
    write_whole(path, data)
