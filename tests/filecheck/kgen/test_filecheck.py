"""Runs every kernel source of this folder: its RUN line names the stage, its CHECK lines what the text of it must say.

Stages: `kgen` (as elaborated, dead operations taken out), `kgen:all` (with them), `kernel` (bound to the CPU) and
`kernel:TARGET`; with `locations`, each operation shows its place.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.language.elaborate import Elaborator
from compiler.language.kernel import KernelSource
from compiler.language.library import Library
from compiler.passes.kernel.dce import dce
from compiler.pipeline import language_target
from compiler.targets import get_target
from tests.compiler.language.drive import lower, text
from tests.filecheck.checking import check

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
    check(path, "#", shown)
