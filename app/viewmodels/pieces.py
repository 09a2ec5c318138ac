"""Large records in pieces: reading one large message would hold the interpreter, and the window with it, for long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

_MOST = 500  # entries of one piece: a few milliseconds of reading


@dataclass(frozen=True)
class Piece:
    """Some entries of a field of the record that job `job` will end with."""

    job: int
    field: str
    entries: tuple[Any, ...]


def cut(job: int, record: Any) -> tuple[list[Piece], Any]:
    """A record's long fields in pieces, and the record without them; anything else as it is."""
    if not is_dataclass(record) or isinstance(record, type):
        return [], record
    pieces: list[Piece] = []
    emptied: dict[str, tuple[Any, ...]] = {}
    for entry in fields(record):
        value = getattr(record, entry.name)
        if isinstance(value, tuple) and len(value) > _MOST:
            emptied[entry.name] = ()
            pieces += [Piece(job, entry.name, part) for part in _parts(value)]
    return pieces, replace(record, **emptied) if emptied else record


def join(pieces: list[Piece], record: Any) -> Any:
    """The record whole again."""
    whole: dict[str, list[Any]] = {}
    for piece in pieces:
        whole.setdefault(piece.field, []).extend(piece.entries)
    return replace(record, **{name: tuple(entries) for name, entries in whole.items()}) if whole else record


def _parts(value: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return (value[at : at + _MOST] for at in range(0, len(value), _MOST))
