"""The filter of tables: words that a row must hold, and comparisons such as `time > 5` or `stage = llvm`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

_COMPARISON = re.compile(r"([A-Za-z_]\w*)\s*(<=|>=|!=|=|<|>|~)\s*(\"[^\"]*\"|\S+)")
_OPERATORS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}


def compile_filter(text: str, columns: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], bool]:
    """A predicate over records; ValueError says what cannot be understood."""
    tests: list[Callable[[Any], bool]] = []
    rest = text
    for match in _COMPARISON.finditer(text):
        tests.append(_comparison(*match.groups(), columns))  # type: ignore[arg-type]
        rest = rest.replace(match.group(0), " ")
    for word in rest.lower().split():
        tests.append(lambda record, word=word: any(word in str(value(record)).lower() for value in columns.values()))
    return lambda record: all(test(record) for test in tests)


def _comparison(
    name: str, sign: str, wanted: str, columns: Mapping[str, Callable[[Any], Any]]
) -> Callable[[Any], bool]:
    key = next((key for key in columns if key == name.lower() or key.startswith(name.lower())), None)
    if key is None:
        raise ValueError(f"no column {name!r}; there are {', '.join(columns)}")
    value, wanted = columns[key], wanted.strip('"')
    if sign in ("=", "!=", "~"):

        def same(record: Any) -> bool:
            return (
                wanted.lower() in str(value(record)).lower()
                if sign == "~"
                else str(value(record)).lower() == wanted.lower()
            )

        return (lambda record: not same(record)) if sign == "!=" else same
    try:
        number = float(wanted)
    except ValueError:
        raise ValueError(f"{name} {sign} needs a number, not {wanted!r}") from None

    def compare(record: Any) -> bool:
        found = value(record)
        return isinstance(found, (int, float)) and _OPERATORS[sign](found, number)

    return compare
