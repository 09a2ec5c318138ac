"""A text of any size as bytes with an index of its lines, the graph nodes of each line, and searching."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from app.viewmodels.compilation import LineText, Nodes
from app.viewmodels.frame.patterns import Pattern

_CHUNK = 4 << 20  # bytes looked at in one go: short enough that other threads get their turn
TAB, INDENT = 8, 4  # columns from one tab stop to the next, and those a tab at the beginning of a line takes
_ADDRESS = re.compile(rb"^ {8}(/\*[0-9a-f]{4,}\*/) {1,12}(?= )")  # how nvdisasm begins an instruction


@dataclass(frozen=True)
class TextDocument:
    """An indexed text. `starts` has one entry a line plus the end; `line_sets` maps lines to entries of `sets`.

    `kernel` is whose text it is, where that is another kernel than was asked for.
    """

    data: bytes | memoryview
    starts: np.ndarray
    sets: tuple[Nodes, ...] = ((),)
    line_sets: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    longest: int = 0
    files: tuple[str, ...] = ("",)
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    library: np.ndarray = field(default_factory=lambda: np.zeros((0, 2), np.int32))
    kernel: str = ""

    @property
    def lines(self) -> int:
        """How many lines there are."""
        return len(self.starts) - 1

    def line_bytes(self, line: int, limit: int | None = None) -> bytes:
        """The bytes of a line without its end; at most `limit` of them."""
        start, stop = int(self.starts[line]), int(self.starts[line + 1])
        if limit is not None:
            stop = min(stop, start + limit)
        return bytes(self.data[start:stop]).rstrip(b"\r\n")

    def line(self, line: int, limit: int | None = None) -> str:
        """A line as it is displayed: tabs expanded, bytes that are no UTF-8 replaced."""
        return displayed(self.line_bytes(line, limit))

    def nodes(self, line: int) -> Nodes:
        """The graph nodes of a line."""
        return self.sets[self.line_sets[line]] if line < len(self.line_sets) else ()

    def place(self, line: int) -> tuple[str, int]:
        """The file and line of source that a line was made of; an empty name where nobody knows."""
        return self._at(self.places, line)

    def library_place(self, line: int) -> tuple[str, int]:
        """The same in the kernel library: of a line of a generated kernel, the line that called it."""
        return self._at(self.library if len(self.library) else self.places, line)

    def _at(self, places: np.ndarray, line: int) -> tuple[str, int]:
        if line >= len(places):
            return "", 0
        file, at = places[line].tolist()
        return self.files[file], at

    def lines_at(self, file: str, line: int) -> np.ndarray:
        """A bool for each line: whether it was made of this line of source."""
        return self._lines_at(self.places, file, line)

    def lines_for(self, file: str, line: int) -> np.ndarray:
        """A bool for each line: whether it was made for this line of the kernel library, or by what that calls."""
        return self._lines_at(self.library if len(self.library) else self.places, file, line)

    def _lines_at(self, places: np.ndarray, file: str, line: int) -> np.ndarray:
        result = np.zeros(self.lines, bool)
        known = min(len(places), self.lines)
        if file in self.files:
            at = places[:known]
            result[:known] = (at[:, 0] == self.files.index(file)) & (at[:, 1] == line)
        return result

    def lines_of(self, nodes: frozenset[str]) -> np.ndarray:
        """A bool for each line: whether it came from exactly these nodes."""
        return self.of_sets([bool(entry) and nodes == frozenset(entry) for entry in self.sets])

    def lit_lines(self, nodes: frozenset[str]) -> np.ndarray:
        """A bool for each line: whether it came from any of these nodes."""
        return self.of_sets([not nodes.isdisjoint(entry) for entry in self.sets])

    def of_sets(self, chosen: list[bool]) -> np.ndarray:
        """A bool for each line: whether its set of nodes is chosen."""
        result = np.zeros(self.lines, bool)
        known = min(len(self.line_sets), self.lines)
        if any(chosen):
            result[:known] = np.array(chosen, bool)[self.line_sets[:known]]
        return result

    @cached_property
    def heads(self) -> np.ndarray:
        """The first byte of each line."""
        raw, most = np.frombuffer(self.data, np.uint8), _CHUNK // 16
        parts = [raw[self.starts[begin : min(begin + most, self.lines)]] for begin in range(0, self.lines, most)]
        return np.concatenate(parts) if parts else np.zeros(0, np.uint8)

    @cached_property
    def coverage(self) -> float:
        """The share of non-blank lines that know their nodes."""
        return self._coverage(None)

    def coverage_without(self, noise: np.ndarray | None) -> float:
        """The same, leaving out lines that stand for no instruction."""
        return self.coverage if noise is None else self._coverage(noise)

    def _coverage(self, noise: np.ndarray | None) -> float:
        full = np.diff(self.starts) > 1
        if noise is not None:
            full &= ~noise
        known = np.zeros(self.lines, bool)
        count = min(len(self.line_sets), self.lines)
        known[:count] = self.line_sets[:count] > 0
        total = np.count_nonzero(full)
        return np.count_nonzero(known & full) / total if total else 0.0

    def text(self, first: int, last: int) -> str:
        """Lines `first` to `last`, both included, as they are in the file."""
        return bytes(self.data[int(self.starts[first]) : int(self.starts[last + 1])]).decode("utf-8", "replace")

    def search(self, pattern: Pattern, limit: int = 100_000) -> Iterator[np.ndarray]:
        """Matches as arrays of (line, start byte in line, end byte in line), a chunk of the text at a time.

        Chunks end at line ends, so that a match never crosses one; a generator, so that a caller can stop.
        """
        found, line = 0, 0
        while line < self.lines and found < limit:
            stop = int(np.searchsorted(self.starts, int(self.starts[line]) + _CHUNK // 4, "right"))
            stop = min(max(stop, line + 1), self.lines)
            begin, end = int(self.starts[line]), int(self.starts[stop])
            chunk = bytes(self.data[begin:end])
            spans = list(islice(pattern.spans(chunk), limit - found))
            if spans:
                array = np.array(spans, np.int64) + begin
                lines = np.searchsorted(self.starts, array[:, 0], "right") - 1
                offset = self.starts[lines]
                found += len(spans)
                yield np.column_stack((lines, array[:, 0] - offset, array[:, 1] - offset))
            line = stop


def displayed(line: bytes) -> str:
    """A line, or the beginning of one, as it is displayed. Columns are scarce: indents of machine code are narrowed."""
    if line.startswith(b"        /*"):
        line = _ADDRESS.sub(rb"  \1", line)
    text = line.decode("utf-8", "replace")
    if "\t" not in text:
        return text
    rest = text.lstrip("\t")
    return " " * (INDENT * (len(text) - len(rest))) + rest.expandtabs(TAB)


def widest(document: TextDocument, lines: np.ndarray | None = None) -> int:
    """How many columns the longest line takes at most, of all or of those given."""
    if not document.lines:
        return 0
    wide = np.diff(document.starts)
    raw = np.frombuffer(document.data, np.uint8)
    tabs = np.flatnonzero(raw == 9)
    if len(tabs):
        wide = wide + np.diff(np.searchsorted(tabs, document.starts)) * (TAB - 1)
    return int((wide if lines is None else wide[lines]).max(initial=0))


def index_text(text: LineText, cancelled: Callable[[], bool] = lambda: False) -> TextDocument:
    """Find the line ends. Safe to run in a thread: the work is NumPy's, in chunks."""
    data = text.text
    raw = np.frombuffer(data, np.uint8)
    ends: list[np.ndarray] = []
    for begin in range(0, len(raw), _CHUNK):
        if cancelled():
            break
        ends.append(np.flatnonzero(raw[begin : begin + _CHUNK] == 10) + (begin + 1))
    inner = np.concatenate(ends) if ends else np.zeros(0, np.int64)
    if len(raw) and (not len(inner) or inner[-1] != len(raw)):
        inner = np.append(inner, len(raw))
    starts = np.concatenate((np.zeros(1, np.int64), inner.astype(np.int64)))
    longest = int(np.diff(starts).max()) if len(starts) > 1 else 0
    sets = np.frombuffer(text.line_sets, np.int32)
    places = np.frombuffer(text.line_places, np.int32).reshape(-1, 2)
    library = np.frombuffer(text.line_library, np.int32).reshape(-1, 2)
    document = TextDocument(data, starts, text.sets, sets, longest, text.files, places, library, text.kernel)
    _ = document.coverage, document.heads  # look at every line: here, rather than where the window would wait for it
    return document


def line_text(
    text: str, nodes: tuple[Nodes, ...], places: Sequence[tuple[str, int]] = (), library: Sequence[tuple[str, int]] = ()
) -> LineText:
    """Pack a text, the nodes of its lines, their places in sources and those in the kernel library."""
    table: dict[Nodes, int] = {(): 0}
    ids = np.fromiter((table.setdefault(entry, len(table)) for entry in nodes), np.int32, len(nodes))
    files: dict[str, int] = {"": 0}
    at, calls = packed_places(places, files), packed_places(library, files)
    return LineText(text.encode("utf-8"), tuple(table), ids.tobytes(), tuple(files), at, calls)


def packed_places(places: Sequence[tuple[str, int]], files: dict[str, int]) -> bytes:
    """Places as `LineText` has them; their files are added to `files`."""
    pairs = [(files.setdefault(file, len(files)) if line else 0, line) for file, line in places]
    return np.array(pairs, np.int32).tobytes()


EMPTY = index_text(LineText(b""))
