"""A model's `config.json`: an object of JSON whose numbers are checked as they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from compiler.errors import ParseError
from compiler.importers.files import read_file

_MOST_JSON = 64 << 20
_MOST = 1 << 24
_FAR = 1e100  # no number of a model is that large, and what is computed with it would not be one
_LONGEST = 80  # characters of an entry that are quoted


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that is an object."""
    try:
        return msgspec.json.decode(read_file(path, _MOST_JSON), type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError(f"{path} does not read: {error}") from None


def quoted(value: object) -> str:
    """What an entry holds, for a message of one line: a file may hold anything, and any amount of it."""
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return "a number of many digits"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


class Numbers:
    """Numbers of a configuration by name; what is missing or absurd is told."""

    def __init__(self, found: Mapping[str, Any], name: str) -> None:
        self._found, self._name = found, name

    def number(self, key: str, default: float | None = None) -> float:
        """A number above zero."""
        value = self._found.get(key)
        value = default if value is None else value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _FAR:
            raise ParseError(f"{self._name}: {key} must be a number above zero, not {quoted(value)}")
        return float(value)

    def size(self, key: str, default: int | None = None) -> int:
        """A whole number above zero, of what a model can have."""
        value = self.number(key, default)
        if value != int(value) or value > _MOST:
            raise ParseError(f"{self._name}: {key} must be a whole number up to {_MOST}, not {quoted(value)}")
        return int(value)

    def token(self, key: str, vocabulary: int) -> int | None:
        """The number of a token, where there is such an entry."""
        value = self._found.get(key)
        if value is not None and (value,) != self.tokens(key, vocabulary):
            raise ParseError(f"{self._name}: {key} must be a token, 0 to {vocabulary - 1}, not {quoted(value)}")
        return value

    def tokens(self, key: str, vocabulary: int) -> tuple[int, ...]:
        """The numbers of tokens: one, several in a list, or none. Those that the model does not have never come."""
        value = self._found.get(key)
        listed = value if isinstance(value, list) else [] if value is None else [value]
        if any(isinstance(each, bool) or not isinstance(each, int) for each in listed):
            raise ParseError(f"{self._name}: {key} must be the number of a token, or several, not {quoted(value)}")
        return tuple(each for each in listed if 0 <= each < vocabulary)

    def flag(self, key: str) -> bool:
        """Yes or no; no where nothing is said."""
        value = self._found.get(key)
        if value is not None and not isinstance(value, bool):
            raise ParseError(f"{self._name}: {key} must be true or false, not {quoted(value)}")
        return bool(value)

    def part(self, key: str) -> Mapping[str, Any] | None:
        """An entry that is an object of its own, where there is one."""
        value = self._found.get(key)
        if value is not None and not isinstance(value, Mapping):
            raise ParseError(f"{self._name}: {key} must be an object, not {quoted(value)}")
        return value or None
