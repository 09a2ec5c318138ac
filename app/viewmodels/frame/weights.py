"""What a constant of the graph holds, in figures: made in the process that has it, shown in the inspector."""

from __future__ import annotations

from dataclasses import dataclass

BINS = 48


@dataclass(frozen=True)
class WeightsRequest:
    """The statistics of one constant of the compilation that a worker holds."""

    node: str


@dataclass(frozen=True)
class Weights:
    """Statistics of `read` of the `elements` there are; those of the numbers are without NaN and infinities.

    The histogram has one more edge than counts; both are empty where no element is a number.
    """

    node: str
    elements: int
    read: int
    low: float = 0.0
    high: float = 0.0
    mean: float = 0.0
    deviation: float = 0.0
    zeros: int = 0
    nans: int = 0
    infinities: int = 0
    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    note: str = ""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Name and value of each line that is shown."""
        read = f"{self.read:,}, all of them"
        if self.read < self.elements:
            read = f"{self.read:,} of {self.elements:,}, spread evenly: the figures are of this sample"
        found = [("elements", read)]
        if self.counts:
            found += [
                ("minimum", f"{self.low:.6g}"), ("maximum", f"{self.high:.6g}"), ("mean", f"{self.mean:.6g}"),
                ("deviation", f"{self.deviation:.6g}"),
            ]  # fmt: skip
        share = 100 * self.zeros / self.read if self.read else 0.0
        found += [("zeros", f"{share:.3g}% ({self.zeros:,})"), ("NaN", f"{self.nans:,}")]
        if self.infinities:
            found.append(("infinite", f"{self.infinities:,}"))
        return (*found, ("stored as", self.note)) if self.note else tuple(found)

    @property
    def words(self) -> str:
        """The histogram for those who do not see it."""
        if not self.counts:
            return "no numbers"
        most = max(range(len(self.counts)), key=self.counts.__getitem__)
        return (
            f"{len(self.counts)} bars from {self.low:.4g} to {self.high:.4g}, "
            f"the highest at {self.edges[most]:.4g} with {self.counts[most]:,} elements"
        )
