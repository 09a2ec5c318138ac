"""What a GPU's own counters say of each launch: bytes that went to and from its memory, and how busy its parts were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class CountedLaunch:
    """The counters of one launch of a run, by its position there; None where the chip does not have one.

    Shares are between 0 and 1, of what the part can do while any multiprocessor works.
    """

    position: int
    kernel: str
    dram_read: float | None = None
    dram_written: float | None = None
    l2_hits: float | None = None
    occupancy: float | None = None
    tensor: float | None = None
    fma: float | None = None
    bank_conflicts: float | None = None

    @property
    def dram_bytes(self) -> float | None:
        """What went to and from the card's memory."""
        if self.dram_read is None or self.dram_written is None:
            return None
        return self.dram_read + self.dram_written


@dataclass(frozen=True)
class CounterKind:
    """A counter: the field it is in, what people call it, what it is of, and what CUPTI calls it on any chip."""

    field: str
    words: str
    unit: str
    metrics: tuple[str, ...]


BYTES, SHARE, COUNT = "B", "%", "count"
_BUSY = "avg.pct_of_peak_sustained_active"

KINDS = (
    CounterKind("dram_read", "DRAM read", BYTES, ("dram__bytes_read.sum", "dram__bytes_op_read.sum")),
    CounterKind("dram_written", "DRAM written", BYTES, ("dram__bytes_write.sum", "dram__bytes_op_write.sum")),
    CounterKind("l2_hits", "L2 hits", SHARE, ("lts__t_sector_hit_rate.pct",)),
    CounterKind("occupancy", "occupancy", SHARE, (f"sm__warps_active.{_BUSY}",)),
    CounterKind("tensor", "tensor pipe", SHARE, (f"sm__pipe_tensor_cycles_active.{_BUSY}",)),
    CounterKind("fma", "FMA pipe", SHARE, (f"sm__pipe_fma_cycles_active.{_BUSY}",)),
    CounterKind(
        "bank_conflicts", "bank conflicts", COUNT,
        ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",),
    ),
)  # fmt: skip
"""In the order in which they are shown. All of them take two passes on every chip since Volta."""


def counted_at(found: Iterable[CountedLaunch]) -> Callable[[int], CountedLaunch | None]:
    """Finds the counters of the launch at a position."""
    return {launch.position: launch for launch in found}.get


def total(found: Sequence[CountedLaunch], kernel: str | None = None) -> CountedLaunch | None:
    """The launches of a kernel, or all, as one: bytes and conflicts added up, shares as the mean of the launches."""
    chosen = [launch for launch in found if kernel is None or launch.kernel == kernel]
    if not chosen:
        return None
    values: dict[str, float | None] = {}
    for kind in KINDS:
        known = [value for launch in chosen if (value := getattr(launch, kind.field)) is not None]
        values[kind.field] = (sum(known) / (len(known) if kind.unit == SHARE else 1)) if known else None
    return CountedLaunch(chosen[0].position, kernel or "", **values)
