"""A file that says what must come of it: a RUN line with words for whoever runs it, and CHECK lines for its output."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts


def check(path: Path, comment: str, run: Callable[[str, list[str]], str]) -> None:
    """Run a file as its first line says and hold the output against its CHECK lines."""
    source = path.read_text()
    mark, first = f"{comment} RUN: ", source.splitlines()[0]
    assert first.startswith(mark), "the first line says what to run"
    output = run(source, first.removeprefix(mark).split())
    options = Options(str(path))
    said = StringIO()
    with path.open() as checks, redirect_stdout(said), redirect_stderr(said):
        parser = Parser(options, checks, *pattern_for_opts(options))
        status = Matcher(options, FInput("output", output), parser).run()
    assert status == 0, f"{said.getvalue()}\n{output}"
