"""How much machine code knows the exact line it was made of: for each sample and target the share of executable lines
of PTX and assembly with a line of the kernel library, and how many of those are of the generated kernel first, linked
to the line of the library that called it.

    python benchmarks/lines.py [SAMPLE...]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from app.sources import load_source, samples
from compiler import load_library
from compiler.errors import UnavailableError
from compiler.options import CompileOptions
from compiler.places import is_instruction
from compiler.reading import read_graph

TARGETS = ("cpu", "x86-64-v3", "sm_80", "sm_90a")
LARGE = ("llama-32", "many-kernels")  # the same kernels many times over


@dataclass(frozen=True)
class Share:
    """Executable lines of a sample for a target: all, with a line of the library, and of those by way of a caller."""

    sample: str
    target: str
    lines: int
    library: int
    called: int

    @property
    def exact(self) -> float:
        """The share that knows its line of the library."""
        return self.library / max(self.lines, 1)


def share_of(sample: str, target: str) -> Share:
    """Count the lines of every kernel of a sample."""
    source = load_source(f"sample:{sample}")
    options = CompileOptions(target, debug="line-tables")
    model = read_graph(source.graph, options, load_library(*source.library_paths))
    lines = library = called = 0
    for kernel in model.kernels:
        stage = kernel.stage("asm")
        for line, place, known in zip(stage.text.splitlines(), stage.places, stage.library, strict=True):
            if is_instruction(line, model.target.emission.assembly):
                lines += 1
                library += bool(known[1])
                called += bool(known[1]) and place != known
    return Share(sample, target, lines, library, called)


def main(wanted: list[str]) -> None:
    """Print the shares."""
    print(f"{'sample':22}{'target':11}{'lines':>7}{'library':>9}{'called':>9}")
    for sample in wanted or [known.name for known in samples() if known.name not in LARGE]:
        for target in TARGETS:
            try:
                found = share_of(sample, target)
            except UnavailableError as error:  # its weights are a package that may not be there
                print(f"{sample:22}{error}", flush=True)
                break
            all_lines = max(found.lines, 1)
            print(
                f"{sample:22}{target:11}{found.lines:7}{found.exact:9.1%}{found.called / all_lines:9.1%}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
