"""What is asked of the notebook of runs besides listing them: tables of flows, and what is written on runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ListFlowsRequest:
    """The newest tables of flows in the database."""

    limit: int = 300


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
    """Write on runs (`note`, `tag`, `untag`, `pin`, `unpin`), or forget them, compilations or tables of flows."""

    numbers: tuple[int, ...]
    what: str
    text: str = ""


@dataclass(frozen=True)
class FlowTableRow:
    """A stored table of flows in the list."""

    number: int
    created: str
    source: str
    target: str
    cells: int
    repeats: int
