"""Spans of time dealt out to rows, so that what ran at once is drawn side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

Moment = TypeVar("Moment", int, float)


def lanes(spans: Sequence[tuple[Moment, Moment, Any]]) -> list[list[tuple[Moment, Moment, Any]]]:
    """Spans (begin, end, whatever) in as few rows as hold them without two in a row at once; rows in order of time."""
    rows: list[list[tuple[Moment, Moment, Any]]] = []
    for span in sorted(spans, key=lambda item: item[:2]):
        free = next((row for row in rows if row[-1][1] <= span[0]), None)
        if free is None:
            rows.append([span])
        else:
            free.append(span)
    return rows
