"""What may be asked of a compilation, and the stages it goes through. Everything else has these lists from here.

Nothing is imported but errors: commands and views that only offer the choices load no compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from compiler.errors import CompilerError

FLOWS = ("all-kernel", "per-kernel")
DEBUG_LEVELS = ("none", "line-tables")
OPT_LEVELS = (0, 1, 2, 3)


ChoiceValue = bool | int | str | tuple[bool | int | str, ...]
"""What a kernel may leave to choose: a number, a word, or several of them."""


@dataclass(frozen=True)
class Tuned:
    """Choices that measured best for a problem, which is what a kernel computes and for which target (`problem_of`)."""

    problem: str
    choices: tuple[tuple[str, ChoiceValue], ...]


@dataclass(frozen=True)
class CompileOptions:
    """Everything that decides what a compilation produces."""

    target: str = "cpu"
    flow: str = "all-kernel"
    opt_level: int = 3
    debug: str = "none"
    jobs: int | None = None
    cache: bool = True
    fuse: bool = True
    recognise: bool = True  # ops written out one by one become the structured op that they amount to
    force_cut: frozenset[tuple[str, str]] = frozenset()  # edges: (producer node, consumer node)
    force_fuse: frozenset[tuple[str, str]] = frozenset()
    sources: tuple[tuple[str, str], ...] = ()  # kernel name -> edited source that takes its place
    tuned: tuple[Tuned, ...] = ()  # for kernels that leave something to choose: those of other problems are not used
    record_passes: bool = False  # kernels are compiled, not looked up, so that the times of all passes are known
    snapshots: bool = False  # also keeps the IR after each pass that changed it; takes several times as long

    @property
    def recompiles(self) -> bool:
        """Whether kernels are compiled even where a cache has them, as what is wanted is how they are."""
        return self.record_passes or self.snapshots

    def check(self) -> None:
        """Raise for a value that is not among the known ones."""
        if self.flow not in FLOWS:
            raise CompilerError(f"unknown flow {self.flow!r}; the flows are {' '.join(FLOWS)}")
        if self.debug not in DEBUG_LEVELS:
            raise CompilerError(f"unknown debug level {self.debug!r}; the levels are {' '.join(DEBUG_LEVELS)}")
        if isinstance(self.opt_level, bool) or self.opt_level not in OPT_LEVELS:
            levels = " ".join(map(str, OPT_LEVELS))
            raise CompilerError(f"unknown optimisation level {self.opt_level!r}; the levels are {levels}")
        if self.jobs is not None and (isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 1):
            raise CompilerError(f"jobs is a number of at least 1, not {self.jobs!r}")


@dataclass(frozen=True)
class Stage:
    """One stage on the way from graph to machine code: a text to look at, a step that takes time, or both."""

    name: str
    title: str = ""
    """What its text is called; "" where it has none."""
    text: Literal["model", "kernel", "source", ""] = ""
    """Whose text it is: IR of the whole model, IR of each kernel, a kernel's source; "" where it has none."""
    language: str = "mlir"
    work: str = ""
    """What is done there, for a stage that the funnel times; "" for one that is only looked at."""
    within: str = ""
    """The stage that its time is part of already."""
    special: bool = False
    """Only targets that name it in their `Emission.stages` have it."""
    same_as: str = ""
    """The stage whose text goes by this name on those targets."""


LLVM_PASS = "llvm-pass"
"""The stage of LLVM's own passes."""

STAGES = (
    Stage("mo", "Graph (mo)", "model", work="graph passes"),
    Stage("mogg", "Fused (mogg)", "model", work="fusion"),
    Stage("mgp", "Program (mgp)", "model"),
    Stage("source", "Source", "source", "python"),
    Stage("kgen", "kgen", "kernel", work="elaboration"),
    Stage("kernel", "Kernel IR", "kernel", work="kernel passes"),
    Stage("llvm", "LLVM", "kernel", "llvm", work="LLVM emission"),
    Stage("llvm-opt", "LLVM opt", "kernel", "llvm"),
    Stage(LLVM_PASS, within="machine"),
    Stage("asm", "Assembly", "kernel", "asm"),
    Stage("ptx", "PTX", "kernel", "ptx", special=True, same_as="asm"),
    Stage("sass", "SASS", "kernel", "sass", special=True),
    Stage("machine", work="LLVM optimise + emit"),
    Stage("link", work="link"),
    Stage("cache", work="reading the cache"),
)
STAGE_TABLE = {stage.name: stage for stage in STAGES}
STAGE_NAMES = tuple(STAGE_TABLE)
MODEL_STAGES = tuple(stage.name for stage in STAGES if stage.text == "model")
KERNEL_STAGES = tuple(stage.name for stage in STAGES if stage.text == "kernel")
COMMON_STAGES = tuple(name for name in KERNEL_STAGES if not STAGE_TABLE[name].special)
"""The kernels' stages that every target has."""
IR_STAGES = (*MODEL_STAGES, *KERNEL_STAGES)
"""What `ir` knows of models and kernels."""
EMITTED = (*IR_STAGES, "object", "source")
"""What can be had of a compiled model as a file."""
TIMED_STAGES = tuple(stage.name for stage in STAGES if stage.work)
"""The steps of the funnel, in order."""


def ir_stage(name: str) -> Stage:
    """The stage of IR called `name`; raises for a name that is none."""
    if name not in IR_STAGES:
        raise CompilerError(f"unknown stage {name!r}; the stages are {' '.join(IR_STAGES)}")
    return STAGE_TABLE[name]
