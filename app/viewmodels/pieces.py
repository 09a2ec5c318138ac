"""Large records in pieces: reading one large message would hold the interpreter, and the window with it, for long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

_MOST = 40  # entries of one piece: a few milliseconds of reading, also where each is a kernel with its source

Piece = tuple[str, tuple[Any, ...]]
"""A field of a record and some of its entries."""


def cut(record: Any) -> tuple[list[Piece], Any]:
    """A record's long fields in pieces, and the record without them; anything else as it is."""
    if not is_dataclass(record) or isinstance(record, type):
        return [], record
    values = {entry.name: getattr(record, entry.name) for entry in fields(record)}
    long = {name: value for name, value in values.items() if isinstance(value, tuple) and len(value) > _MOST}
    pieces = [(name, value[at : at + _MOST]) for name, value in long.items() for at in range(0, len(value), _MOST)]
    return pieces, replace(record, **dict.fromkeys(long, ())) if long else record


def join(pieces: Iterable[Piece], record: Any) -> Any:
    """The record whole again."""
    whole: dict[str, list[Any]] = {}
    for name, entries in pieces:
        whole.setdefault(name, []).extend(entries)
    return replace(record, **{name: tuple(entries) for name, entries in whole.items()}) if whole else record
