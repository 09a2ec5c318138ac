"""What may be asked of a compilation. Nothing is imported but errors: who only offers the choices loads no compiler."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.errors import CompilerError

FLOWS = ("all-kernel", "per-kernel")
DEBUG = ("none", "line-tables")


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
    force_cut: frozenset[tuple[str, str]] = frozenset()
    force_fuse: frozenset[tuple[str, str]] = frozenset()
    sources: tuple[tuple[str, str], ...] = ()  # kernel name -> edited source that takes its place
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
        if self.debug not in DEBUG:
            raise CompilerError(f"unknown debug level {self.debug!r}; the levels are {' '.join(DEBUG)}")
        if isinstance(self.opt_level, bool) or self.opt_level not in (0, 1, 2, 3):
            raise CompilerError(f"unknown optimisation level {self.opt_level!r}; the levels are 0 1 2 3")
        if self.jobs is not None and (isinstance(self.jobs, bool) or not isinstance(self.jobs, int) or self.jobs < 1):
            raise CompilerError(f"jobs is a number of at least 1, not {self.jobs!r}")
