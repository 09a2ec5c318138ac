"""Runs every kernel source of this folder: its RUN line names the stage, its CHECK lines what the text of it must say.

Stages: `kgen` (as elaborated, dead operations taken out), `kgen:all` (with them), `kernel` (bound to the CPU) and
`kernel:TARGET`; with `locations`, each operation shows its place.
"""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser, pattern_for_opts

from compiler.language.elaborate import Elaborator, KernelSource
from compiler.language.library import Library
from compiler.passes.kernel.dce import dce
from compiler.pipeline import language_target
from compiler.targets import get_target
from tests.compiler.language.drive import lower, text

FILES = sorted(Path(__file__).parent.glob("*.kernel"))


def shown(source: str, words: list[str]) -> str:
    """The text of a stage; a line that ends in `# nodes 1 2` comes from those graph nodes."""
    stage, _, option = words[0].partition(":")
    target = option if stage == "kernel" and option else "cpu"
    slots = tuple(tuple(int(n) for n in line.partition("# nodes ")[2].split()) for line in source.splitlines())
    elaborator = Elaborator(Library([]), language_target(get_target(target)))
    elaborator.add(KernelSource("kernel", source, slots if any(slots) else (), "kernel.py"))
    module = elaborator.module()
    module.verify()
    if stage == "kernel":
        module = lower(module, target=target)
        module.verify()
    elif option != "all":
        dce(module)
    return text(module, locations="locations" in words)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_filecheck(path):
    source = path.read_text()
    first = source.splitlines()[0]
    assert first.startswith("# RUN: "), "the first line names the stage"
    output = shown(source, first.removeprefix("# RUN: ").split())
    options = Options(str(path))
    said = StringIO()
    with path.open() as checks, redirect_stdout(said), redirect_stderr(said):
        parser = Parser(options, checks, *pattern_for_opts(options))
        status = Matcher(options, FInput("output", output), parser).run()
    assert status == 0, f"{said.getvalue()}\n{output}"
