"""How much machine code knows the exact line it was made of: for each sample and target the share of executable lines
of PTX and assembly with a line of kernel source, and how many of those lines are of the kernel library.

    python benchmarks/lines.py [SAMPLE...]
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from app.sources import load_source, samples
from compiler import load_library
from compiler.options import CompileOptions
from compiler.places import is_instruction
from compiler.reading import read_graph

TARGETS = ("cpu", "x86-64-v3", "sm_80", "sm_90a")
LARGE = ("llama-32", "many-kernels")  # the same kernels many times over


@dataclass(frozen=True)
class Share:
    """Executable lines of a sample for a target: all, with a line of the library, with one of the generated kernel."""

    sample: str
    target: str
    lines: int
    library: int
    generated: int

    @property
    def exact(self) -> float:
        """The share that knows its line."""
        return (self.library + self.generated) / max(self.lines, 1)


def share_of(sample: str, target: str) -> Share:
    """Count the lines of every kernel of a sample."""
    source = load_source(f"sample:{sample}")
    options = CompileOptions(target, debug="line-tables")
    model = read_graph(source.graph, options, load_library(*source.library_paths))
    lines = library = generated = 0
    for kernel in model.kernels:
        stage = kernel.stage("asm")
        own = f"{kernel.name}.py"
        for line, (file, number) in zip(stage.text.splitlines(), stage.places, strict=True):
            if is_instruction(line, model.target.emission.assembly):
                lines += 1
                library += bool(number) and file != own
                generated += bool(number) and file == own
    return Share(sample, target, lines, library, generated)


def main(wanted: list[str]) -> None:
    """Print the shares."""
    print(f"{'sample':22}{'target':11}{'lines':>7}{'exact':>8}{'library':>9}{'generated':>11}")
    for sample in wanted or [known.name for known in samples() if known.name not in LARGE]:
        for target in TARGETS:
            found = share_of(sample, target)
            all_lines = max(found.lines, 1)
            print(
                f"{sample:22}{target:11}{found.lines:7}{found.exact:8.1%}"
                f"{found.library / all_lines:9.1%}{found.generated / all_lines:11.1%}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
