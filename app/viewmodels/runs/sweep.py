"""A sweep as its view shows it: cells by two axes, the best of a figure, points of a plot, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from app.viewmodels.frame.formats import duration, seconds, size, time_scale

DONE, FAILED, MISSING = "done", "failed", "missing"
_UNKNOWN = "\u2013"  # a figure that this cell has not: what was only compiled has no time


@dataclass(frozen=True)
class SweepsRequest:
    """The sweeps that the database has."""


@dataclass(frozen=True)
class SweepRequest:
    """The cells of a sweep: those the database has, and with the file of the sweep also those that are missing."""

    name: str = ""
    file: str = ""


@dataclass(frozen=True)
class SweepCell:
    """One cell: what was asked for, how it ended and when, and its figures as far as it has them."""

    source: str
    target: str = ""
    device: str = ""
    flow: str = ""
    level: int = 3
    sizes: str = ""
    library: str = ""
    status: str = MISSING
    error: str = ""
    run: int = 0
    compilation: int = 0
    median: float | None = None
    compile: float | None = None
    kernels: int | None = None
    peak: int | None = None
    ended: str = ""
    key: str = ""  # what the sweep knows it by, which changes with the program and the source

    @property
    def asked(self) -> tuple[Any, ...]:
        """What identifies it among the cells of its sweep."""
        return self.source, self.device, self.target, self.flow, self.level, self.sizes, self.library


@dataclass(frozen=True)
class SweepTold:
    """What is known of a sweep. `whole` is whether the cells that are missing are among them."""

    name: str
    cells: tuple[SweepCell, ...] = ()
    whole: bool = False
    running: int = 0  # cells that are being done


@dataclass(frozen=True)
class Figure:
    """What cells are compared by; less is better."""

    name: str
    title: str
    show: Any

    def of(self, cell: SweepCell) -> float | None:
        """What a cell has of it."""
        return getattr(cell, self.name)


FIGURES = (
    Figure("median", "Median of a call", seconds), Figure("compile", "Compile time", seconds),
    Figure("kernels", "Kernels", lambda value: f"{value:.0f}"), Figure("peak", "Peak memory", size),
)  # fmt: skip
FIGURE_TABLE = {figure.name: figure for figure in FIGURES}
AXES = {
    "source": ("Source", lambda c: c.source.removeprefix("sample:").rsplit("/", 1)[-1]),
    "where": ("On or for", lambda c: f"on {c.device}" if c.device else f"for {c.target}"),
    "flow": ("Flow", lambda c: c.flow),
    "level": ("Level", lambda c: f"-O{c.level}"),
    "sizes": ("Sizes", lambda c: c.sizes),
    "library": ("Library", lambda c: c.library.rsplit("/", 1)[-1]),
}
"""What cells differ by: the title of an axis, and a cell's place on it in words."""


def newest_of_each(cells: Sequence[SweepCell]) -> tuple[SweepCell, ...]:
    """Of cells that ask for the same, done at different times, the last; a failure until it is done after all."""
    by_key = {cell.key: cell for cell in cells}.values()
    done = {cell.asked: cell for cell in by_key if cell.status == DONE}
    return tuple(
        cell for cell in by_key
        if (last := done.get(cell.asked)) is None or last is cell or (cell.status != DONE and cell.ended > last.ended)
    )  # fmt: skip


def place_on(axis: str, cell: SweepCell) -> str:
    """A cell's place on an axis, in words."""
    return AXES[axis][1](cell) or "\u2013"


def axes_of(cells: Sequence[SweepCell]) -> list[str]:
    """The axes along which these cells differ, those with the most places first; the usual two where none does. Last
    come those that follow from the others, as sizes do where every source has its own."""
    counts = {axis: len({place_on(axis, cell) for cell in cells}) for axis in AXES}
    differ = [axis for axis in AXES if counts[axis] > 1]
    apart, follow = list(differ), list[str]()
    for axis in reversed(differ):
        others = [other for other in apart if other != axis]
        if others and _together(cells, others) == _together(cells, apart):
            apart.remove(axis)
            follow.append(axis)
    found = sorted(apart, key=lambda axis: -counts[axis])
    return found + [axis for axis in ("source", "where") if axis not in found + follow] + follow


def _together(cells: Sequence[SweepCell], axes: Sequence[str]) -> int:
    """How many places there are on several axes together."""
    return len({tuple(place_on(axis, cell) for axis in axes) for cell in cells})


@dataclass(frozen=True)
class Matrix:
    """Cells by two axes: at each place those that are there, the best of the figure first."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    places: dict[tuple[str, str], tuple[SweepCell, ...]]


def matrix(cells: Sequence[SweepCell], across: str, down: str, figure: Figure) -> Matrix:
    """Cells by two axes, in the order in which their places come up."""
    places: dict[tuple[str, str], list[SweepCell]] = {}
    for cell in cells:
        places.setdefault((place_on(down, cell), place_on(across, cell)), []).append(cell)
    rows = tuple(dict.fromkeys(row for row, _ in places))
    columns = tuple(sorted(dict.fromkeys(column for _, column in places), key=_natural))
    in_order = {at: tuple(sorted(found, key=lambda c: _rank(c, figure))) for at, found in places.items()}
    return Matrix(rows, columns, in_order)


def _rank(cell: SweepCell, figure: Figure) -> tuple[bool, float]:
    value = figure.of(cell)
    return value is None, value or 0.0


def _natural(text: str) -> tuple[Any, ...]:
    """Numbers in names in the order of their size."""
    digits = "".join(c if c.isdigit() else " " for c in text).split()
    return (tuple(map(int, digits)), text)


@dataclass(frozen=True)
class PlottedLine:
    """Cells with one place on an axis: a point for each, and the best at each place across, to join."""

    name: str
    points: tuple[tuple[float, float, SweepCell], ...]
    best: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Plotted:
    """What a plot shows: lines, the names below where those are places, its ranges, and words for its axes."""

    lines: tuple[PlottedLine, ...]
    ticks: tuple[str, ...]
    across: tuple[float, float]
    top: float
    below: str
    beside: str
    words: str


def plotted(cells: Sequence[SweepCell], across: str, figure: Figure) -> Plotted:
    """A figure along an axis or along another figure, with a line for each place on the axis that tells most apart."""
    by = FIGURE_TABLE.get(across)
    known = [cell for cell in cells if figure.of(cell) is not None and (by is None or by.of(cell) is not None)]
    apart = next((axis for axis in axes_of(known) if axis != across), "source")
    ticks = () if by else matrix(known, across, apart, figure).columns
    up, unit = _scale(figure, known)
    aside, below = _scale(by, known) if by else (1.0, "")
    lines = []
    for name in dict.fromkeys(place_on(apart, cell) for cell in known):
        of_line = [cell for cell in known if place_on(apart, cell) == name]
        points = [
            ((by.of(cell) or 0.0) * aside if by else float(ticks.index(place_on(across, cell))),
             (figure.of(cell) or 0.0) * up, cell)
            for cell in of_line
        ]  # fmt: skip
        least: dict[float, float] = {}
        for x, y, _ in points:
            least[x] = min(y, least.get(x, y))
        lines.append(PlottedLine(name, tuple(points), () if by else tuple(sorted(least.items()))))
    widest = max((x for line in lines for x, _, _ in line.points), default=1.0)
    top = max((y for line in lines for _, y, _ in line.points), default=0.0) * 1.1 or 1.0
    title = by.title if by else AXES[across][0]
    return Plotted(
        tuple(lines), ticks, (0.0, widest * 1.1 or 1.0) if by else (-0.5, max(len(ticks) - 0.5, 0.5)), top,
        title + (f", {below}" if below else ""), figure.title + (f", {unit}" if unit else ""),
        f"{figure.title} by {title}, a line for each {AXES[apart][0]}",
    )  # fmt: skip


def _scale(figure: Figure, cells: Sequence[SweepCell]) -> tuple[float, str]:
    most = max((figure.of(cell) or 0.0 for cell in cells), default=0.0)
    if figure.name == "peak":
        return 2.0**-20, "MiB"
    return time_scale(most) if figure.name in ("median", "compile") and most else (1.0, "")


def best(cells: Sequence[SweepCell], figure: Figure) -> SweepCell | None:
    """The cell with the least of a figure."""
    known = [cell for cell in cells if figure.of(cell) is not None]
    return min(known, key=lambda cell: figure.of(cell) or 0.0) if known else None


def words_of(cell: SweepCell) -> str:
    """A cell in a line."""
    return "  ".join(filter(None, (AXES[axis][1](cell) for axis in AXES)))


def shown(cell: SweepCell, figure: Figure) -> str:
    """What a place of the matrix says of a cell."""
    value = figure.of(cell)
    return figure.show(value) if value is not None else cell.status if cell.status != DONE else _UNKNOWN


def progress(told: SweepTold, now: datetime | None = None) -> str:
    """How far a sweep is: what is done, running, failed and missing, and about when it ends where it goes on."""
    cells = told.cells
    counts = {status: sum(cell.status == status for cell in cells) for status in (DONE, FAILED, MISSING)}
    parts = [f"{counts[DONE]} of {len(cells)} done" if told.whole else f"{counts[DONE]} done"]
    parts += [f"{told.running} running"] if told.running else []
    parts += [f"{counts[FAILED]} failed"] if counts[FAILED] else []
    ends = _ends(cells, counts[MISSING], now or datetime.now(UTC))
    return ", ".join(parts) + (f"; ends in about {duration(ends)}" if ends is not None else "")


def _ends(cells: Sequence[SweepCell], missing: int, now: datetime) -> float | None:
    """Seconds until what is missing is done, by the pace of the last cells; None where none came lately."""
    moments = sorted(moment for cell in cells if (moment := _moment(cell.ended)) is not None)[-12:]
    if not missing or len(moments) < 3:
        return None
    pace = (moments[-1] - moments[0]).total_seconds() / (len(moments) - 1)
    if now - moments[-1] > timedelta(seconds=max(30.0, 5 * pace)):  # it does not go on
        return None
    return max(missing * pace - (now - moments[-1]).total_seconds(), 1.0)


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
