"""What is asked of the notebook of runs besides listing them: tables of flows, and what is written on runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ListFlowsRequest:
    """The newest tables of flows in the database."""


@dataclass(frozen=True)
class KeepFlowsRequest:
    """Put a table of flows into the database; its number."""

    document: dict[str, Any]


@dataclass(frozen=True)
class OpenFlowsRequest:
    """The document of a stored table of flows."""

    number: int


@dataclass(frozen=True)
class EditRunsRequest:
    """Write on runs (`note`, `tag`, `untag`, `pin`, `unpin`), or forget them, compilations or tables of flows.

    `trial` forgets nothing: it fails where that would fail, and tells the database. `database` is the file that is
    meant, where it may no longer be the one that is open.
    """

    numbers: tuple[int, ...]
    what: str
    text: str = ""
    trial: bool = False
    database: str = ""


@dataclass(frozen=True)
class KernelNotesRequest:
    """The notes on the kernels of a source, by kernel."""

    source: str


@dataclass(frozen=True)
class NoteKernelRequest:
    """Write a note on a kernel of a source, or take it away; the notes there are then."""

    source: str
    kernel: str
    text: str


@dataclass(frozen=True)
class FlowTableRow:
    """A stored table of flows in the list."""

    number: int
    created: str
    source: str
    target: str
    cells: int
    repeats: int
