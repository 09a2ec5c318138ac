"""What a compilation did: one record a pass, with its time and what it did to the size of the IR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from compiler.targets.target import Target

Watch = Callable[[str, str, str], None]


@dataclass(frozen=True)
class PassRecord:
    """One pass over the whole model (`kernel` empty) or one kernel; sizes are -1 where they were not counted.

    Operations are the stage's own: MLIR operations or LLVM's instructions. Bytes are those of its text, or of code.
    """

    name: str
    stage: str
    kernel: str
    start: float
    seconds: float
    ops_before: int = -1
    ops_after: int = -1
    bytes_after: int = -1
    bytes_before: int = -1
    changed: bool | None = None
    """Whether it changed the IR; None where nobody looked."""
    worker: int = 0
    """The process that did it, 0 being this one."""


@dataclass(frozen=True)
class Snapshot:
    """The IR after one pass that changed it.

    The first snapshot of each stage is what its passes start from: it took no time and its sizes before and after are
    equal. Operations are MLIR operations in the stage `kernel`, instructions in `llvm`.
    """

    stage: str
    """`kernel` (MLIR, the compiler's own passes), `llvm` (LLVM IR, LLVM's passes), or `mo` (the graph's passes)."""
    name: str
    """The pass: `mem2reg`, `InstCombinePass`; of a stage's first snapshot what made it: `elaborate`, `emit-llvm`."""
    scope: str
    """What the pass ran on: a function's name, `loop %header in function NAME`, or `module`."""
    seconds: float
    """What this run of the pass took; LLVM tells it in steps of 0.1 ms."""
    ops_before: int
    ops_after: int
    bytes_before: int
    bytes_after: int
    text: str
    """The whole module after the pass; snapshots with equal texts share one string."""
    provenance: tuple[int, ...] = ()
    """The provenance id of each line of an MLIR text; of LLVM IR its own debug locations tell."""


@dataclass
class Span:
    """A pass while it runs; it fills in the sizes it knows and the module it leaves."""

    ops_before: int = -1
    ops_after: int = -1
    bytes_after: int = -1
    bytes_before: int = -1
    changed: bool | None = None
    module: Operation | None = None


class Sink(Protocol):
    """Whoever keeps the IR that passes leave."""

    @property
    def taken(self) -> Mapping[str, Sequence[Snapshot]]:
        """What was kept, by module."""
        ...

    def started(self, kernel: str, module: Operation, stage: str) -> None:
        """The module that the passes of a stage begin with."""
        ...

    def ended(self, name: str, stage: str, kernel: str, seconds: float, span: Span) -> None:
        """A pass that left `span.module`; its sizes, and whether it changed anything, may be filled in."""
        ...

    def compiled(self, modules: Sequence[tuple[str, str]], target: Target, opt_level: int) -> list[PassRecord]:
        """Modules (name, LLVM IR) that LLVM has compiled; a record for each run of each of LLVM's passes."""
        ...


@dataclass
class Trace:
    """The passes of one compilation in the order they ended; times count from its start.

    `watch` is told (stage, pass, kernel) as each pass begins: what a progress bar shows. `sink` gets the IR itself.
    """

    begun: float = field(default_factory=perf_counter)
    passes: list[PassRecord] = field(default_factory=list)
    watch: Watch | None = None
    sink: Sink | None = None

    @property
    def snapshots(self) -> Mapping[str, Sequence[Snapshot]]:
        """The IR after passes that changed it, by module ("" is that of all kernels), where it is kept."""
        return {} if self.sink is None else self.sink.taken

    @property
    def printed(self) -> dict[str, int]:
        """Bytes of what elaboration made, by module, where the IR is kept."""
        return {
            module: shot.bytes_after
            for module, taken in self.snapshots.items() for shot in taken if shot.name == "elaborate"
        }  # fmt: skip

    def tell(self, stage: str, name: str, kernel: str = "") -> None:
        """Say what begins now, to whoever watches."""
        if self.watch is not None:
            self.watch(stage, name, kernel)

    @contextmanager
    def span(self, name: str, stage: str, kernel: str = "") -> Iterator[Span]:
        """Time a pass and keep its record, also when it fails."""
        span = Span()
        self.tell(stage, name, kernel)
        start = perf_counter()
        try:
            yield span
        finally:
            seconds = perf_counter() - start
            self.add(name, stage, kernel, start, seconds, span)

    def add(self, name: str, stage: str, kernel: str, start: float, seconds: float, span: Span | None = None) -> None:
        """Keep a record of a pass that was timed elsewhere."""
        sizes = span or Span()
        if self.sink is not None and sizes.module is not None:
            self.sink.ended(name, stage, kernel, seconds, sizes)
        self.passes.append(
            PassRecord(
                name, stage, kernel, start - self.begun, seconds, sizes.ops_before, sizes.ops_after, sizes.bytes_after,
                sizes.bytes_before, sizes.changed,
            )
        )  # fmt: skip

    def start(self, kernel: str, module: Operation, stage: str = "kernel") -> None:
        """The module that the passes of a stage begin with."""
        if self.sink is not None:
            self.sink.started(kernel, module, stage)

    def llvm_compiled(self, modules: Sequence[tuple[str, str]], target: Target, opt_level: int) -> None:
        """Modules (name, LLVM IR) that LLVM has compiled."""
        if self.sink is not None and modules:
            self.passes += self.sink.compiled(modules, target, opt_level)
