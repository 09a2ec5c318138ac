"""The filter of tables: words that a row must hold, and comparisons such as `time > 5`, `peak < 2MiB`, `flow = x`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISON = re.compile(r"([A-Za-z_][\w-]*)\s*(<=|>=|!=|=|<|>|~)\s*(\"[^\"]*\"|[^\s\"]+)")
_OPERATORS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([^\d\s.]*)")
_TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "\u00b5s": 1e-6, "ns": 1e-9}
_SIZES = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40}
_COUNTS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_FAMILIES = (_TIMES, _SIZES)
Column = Callable[[Any], Any]


def column_name(title: str) -> str:
    """A title as it is written in a filter: `Peak memory` is peak_memory, `-O` is o."""
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def compile_filter(
    text: str, columns: Mapping[str, Column], units: Mapping[str, str] | None = None
) -> Callable[[Any], bool]:
    """A predicate over records; ValueError says what cannot be understood. `units` are those of the columns' values."""
    tests: list[Callable[[Any], bool]] = []
    rest = text
    for match in _COMPARISON.finditer(text):
        tests.append(_comparison(match[1], match[2], match[3], columns, units or {}))
        rest = rest.replace(match.group(0), " ", 1)
    for word in rest.lower().split():
        if word in ("<", ">", "<=", ">=", "=", "!=", "~"):
            raise ValueError(f"{word} compares a column with a value, as in time > 5")
        tests.append(lambda record, word=word: any(word in str(value(record)).lower() for value in columns.values()))
    return lambda record: all(test(record) for test in tests)


def _comparison(
    name: str, sign: str, wanted: str, columns: Mapping[str, Column], units: Mapping[str, str]
) -> Callable[[Any], bool]:
    asked = name.lower()
    key = asked if asked in columns else next((key for key in columns if key.startswith(asked)), None)
    if key is None:
        raise ValueError(f"no column {name!r}; there are {', '.join(columns)}")
    value, wanted = columns[key], wanted.strip('"')
    if sign in ("=", "!=", "~"):
        return _likeness(value, sign, wanted, units.get(key, ""))
    number = _number(wanted, units.get(key, ""))
    if number is None:
        raise ValueError(f"{name} {sign} needs a number, not {wanted!r}")

    def compare(record: Any) -> bool:
        found = value(record)
        return isinstance(found, (int, float)) and _OPERATORS[sign](found, number)

    return compare


def _likeness(value: Column, sign: str, wanted: str, unit: str) -> Callable[[Any], bool]:
    number = _number(wanted, unit)

    def same(record: Any) -> bool:
        found = value(record)
        if sign == "~":
            return wanted.lower() in str(found).lower()
        if number is not None and isinstance(found, (int, float)) and not isinstance(found, bool):
            return found == number
        return str(found).lower() == wanted.lower()

    return (lambda record: not same(record)) if sign == "!=" else same


def _number(text: str, unit: str) -> float | None:
    """A number in the column's own unit: `5` as it is, `5ms` or `2MiB` converted; None where it is no such thing."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    number, suffix = float(match[1]), match[2].lower()
    if suffix in ("", unit.lower()):
        return number
    for family in _FAMILIES:
        if suffix in family and unit.lower() in family:
            return number * family[suffix] / family[unit.lower()]
    if not unit and suffix in _COUNTS:
        return number * _COUNTS[suffix]
    return None
