"""What a compilation did: one record a pass, with its time and what it did to the size of the IR."""
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from compiler.snapshots import Snapshot
    from compiler.targets.target import Target

LLVM_PASS = "llvm-pass"
"""The stage of LLVM's own passes, whose time is part of the stage `machine`."""

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
    ops_before: int
    ops_after: int
    bytes_after: int
    bytes_before: int = -1
    changed: bool | None = None
    """Whether it changed the IR; None where nobody looked."""


@dataclass
class Span:
    """A pass while it runs; it fills in the sizes it knows and the module it leaves."""

    ops_before: int = -1
    ops_after: int = -1
    bytes_after: int = -1
    bytes_before: int = -1
    changed: bool | None = None
    module: Operation | None = None


@dataclass
class Trace:
    """The passes of one compilation in the order they ended; times count from its start.

    `watch` is told (stage, pass, kernel) as each pass begins: what a progress bar shows.
    """

    begun: float = field(default_factory=perf_counter)
    passes: list[PassRecord] = field(default_factory=list)
    watch: Watch | None = None
    snapshots: dict[str, list[Snapshot]] = field(default_factory=dict)
    """The IR after passes that changed it, by module ("" is that of all kernels); where a compilation keeps them."""

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
        self.passes.append(
            PassRecord(
                name, stage, kernel, start - self.begun, seconds, sizes.ops_before, sizes.ops_after, sizes.bytes_after,
                sizes.bytes_before, sizes.changed,
            )
        )  # fmt: skip

    def start(self, kernel: str, module: Operation, stage: str = "kernel") -> None:
        """The module that the passes of a stage begin with; for a trace that keeps texts."""

    def watch_llvm(self, modules: Sequence[tuple[str, str]], target: Target, opt_level: int) -> None:
        """Modules (name, LLVM IR) that LLVM has compiled; for a trace that keeps texts."""

    def seconds_by_stage(self) -> dict[str, float]:
        """Total seconds of each stage, in order of first appearance; LLVM's own passes are part of `machine`."""
        totals: dict[str, float] = {}
        for record in self.passes:
            if record.stage == LLVM_PASS:
                continue
            totals[record.stage] = totals.get(record.stage, 0.0) + record.seconds
        return totals


def count_operations(root: Operation) -> int:
    """How many operations there are below `root`."""
    total = 0
    for region in root.regions:
        block = region._first_block
        while block is not None:
            operation = block._first_op
            while operation is not None:
                total += 1
                if operation.regions:
                    total += count_operations(operation)
                operation = operation._next_op
            block = block._next_block
    return total
