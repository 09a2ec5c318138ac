"""What a compilation did: one record a pass, with its time and what it did to the size of the IR."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from xdsl.ir import Block, Operation


@dataclass(frozen=True)
class PassRecord:
    """One pass over the whole model (`kernel` empty) or one kernel; sizes are -1 where they were not counted."""

    name: str
    stage: str
    kernel: str
    start: float
    seconds: float
    ops_before: int
    ops_after: int
    bytes_after: int


@dataclass
class Span:
    """A pass while it runs; it fills in the sizes it knows."""

    ops_before: int = -1
    ops_after: int = -1
    bytes_after: int = -1


@dataclass
class Trace:
    """The passes of one compilation in the order they ended; times count from its start."""

    begun: float = field(default_factory=perf_counter)
    passes: list[PassRecord] = field(default_factory=list)

    @contextmanager
    def span(self, name: str, stage: str, kernel: str = "") -> Iterator[Span]:
        """Time a pass and keep its record, also when it fails."""
        span = Span()
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
                name, stage, kernel, start - self.begun, seconds, sizes.ops_before, sizes.ops_after, sizes.bytes_after
            )
        )

    def seconds_by_stage(self) -> dict[str, float]:
        """Total seconds of each stage, in order of first appearance."""
        totals: dict[str, float] = {}
        for record in self.passes:
            totals[record.stage] = totals.get(record.stage, 0.0) + record.seconds
        return totals


def count_operations(root: Operation) -> int:
    """How many operations there are below `root`."""
    total = 0
    for region in root.regions:
        for block in region.blocks:
            total += _count(block)
    return total


def _count(block: Block) -> int:
    total = 0
    operation = block.first_op
    while operation is not None:
        total += 1
        for region in operation.regions:
            for inner in region.blocks:
                total += _count(inner)
        operation = operation.next_op
    return total
